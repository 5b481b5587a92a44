"""Recall quality over conversations: the share of evidence found, without any language model."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import fmean
from typing import Any
from uuid import UUID

from bench.database import new_owner
from bench.locomo import Conversation, Question, Turn
from memory.ids import new_id
from memory.models import owner_scope
from memory.recall.profiles import RecallProfile, shipped
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.recall import RecallRequest, prepare_query, search
from memory.services.turns import TurnDraft, ingest_turns

DEPTH = 20
CUTS = (5, 10, 20)


@dataclass(frozen=True, slots=True)
class Answered:
    """What one question's evidence scored."""

    category: int
    found: dict[int, float]
    hit: float
    reciprocal: float
    session_found: float


@dataclass(slots=True)
class Corpus:
    """One conversation as memories: which turn of the data each memory is."""

    actor: Actor
    dia_of: dict[UUID, str] = field(default_factory=dict)
    session_of: dict[str, str] = field(default_factory=dict)


def measure(
    conversations: Sequence[Conversation], *, profile: str, arm: str | None, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Ingest every conversation for an owner of its own, ask its questions and average.

    Args:
        conversations: the data.
        profile: name of the shipped profile.
        arm: ask this arm alone; None asks the whole profile.
        tell: told of progress.
    """
    chosen = _profile(profile, arm)
    answered: list[Answered] = []
    ingested, seconds = 0, 0.0
    for conversation in conversations:
        begun = time.perf_counter()
        corpus = ingest(conversation)
        seconds += time.perf_counter() - begun
        ingested += len(conversation.turns)
        answered += [ask(corpus, question, chosen) for question in conversation.questions]
        tell(f"{conversation.sample_id}: {len(conversation.turns)} turns, {len(conversation.questions)} questions")
    return {
        **_averages(answered),
        "n": len(answered),
        "profile": profile,
        "arm": arm,
        "turns": ingested,
        "ingest_turns_per_s": round(ingested / seconds, 1),
        "by_category": {
            str(category): {**_averages(list(group)), "n": len(group)}
            for category, group in _by_category(answered).items()
        },
    }


def ingest(conversation: Conversation) -> Corpus:
    """Store a conversation's turns, session by session, through the service that agents use."""
    corpus = Corpus(new_owner())
    for session, group in groupby(conversation.turns, key=lambda turn: turn.session):
        turns = list(group)
        answer = ingest_turns(actor=corpus.actor, session=session, turns=[_draft(turn) for turn in turns])
        for turn, result in zip(turns, answer.turns, strict=True):
            if result.memory_id is None:
                raise RuntimeError(f"turn {turn.dia_id} was refused: {result.error}")
            corpus.dia_of[result.memory_id] = turn.dia_id
            corpus.session_of[turn.dia_id] = session
    return corpus


def ask(corpus: Corpus, question: Question, profile: RecallProfile) -> Answered:
    """Ask one question and compare what was found with its evidence."""
    request = RecallRequest(query=question.text, reinforce=False, record=False)
    query = prepare_query(corpus.actor, question.text, request, wants_vector="dense" in profile.arms)
    with owner_scope(corpus.actor.owner_id):
        answer = search(query, profile, request, new_id())
    ranked = [corpus.dia_of[hit.memory.pk] for hit in answer.hits]
    places = [place for place, dia_id in enumerate(ranked, start=1) if dia_id in question.evidence]
    sessions = list(dict.fromkeys(corpus.session_of[dia_id] for dia_id in ranked))[:5]
    wanted = {corpus.session_of[dia_id] for dia_id in question.evidence}
    return Answered(
        category=question.category,
        found={cut: sum(place <= cut for place in places) / len(question.evidence) for cut in CUTS},
        hit=float(bool(places)),
        reciprocal=1 / places[0] if places else 0.0,
        session_found=len(wanted & set(sessions)) / len(wanted),
    )


def _profile(name: str, arm: str | None) -> RecallProfile:
    profile = replace(shipped(name), limit=DEPTH)
    if arm is None:
        return profile
    return replace(profile, arms=(arm,), weights={arm: 1.0}, fusion="sum", half_life_days={}, reranker="none")


def _draft(turn: Turn) -> TurnDraft:
    return TurnDraft(draft=Draft(text=turn.text, speaker=turn.speaker, role="user", occurred_at=turn.spoken_at))


def _averages(answered: Sequence[Answered]) -> dict[str, float]:
    def mean(value: Callable[[Answered], float]) -> float:
        return round(fmean(map(value, answered)), 4) if answered else 0.0

    return {
        **{f"r@{cut}": mean(lambda one, cut=cut: one.found[cut]) for cut in CUTS},  # type: ignore[misc]
        "hit@20": mean(lambda one: one.hit),
        "mrr": mean(lambda one: one.reciprocal),
        "session_r@5": mean(lambda one: one.session_found),
    }


def _by_category(answered: Sequence[Answered]) -> dict[int, list[Answered]]:
    groups: dict[int, list[Answered]] = {}
    for one in sorted(answered, key=lambda one: one.category):
        groups.setdefault(one.category, []).append(one)
    return groups
