"""Recall quality: the share of evidence found, without any language model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import fmean
from typing import Any, Final
from uuid import UUID

from bench.consolidating import consolidate, drawn_from
from bench.database import analyze, new_owner
from bench.dataset import Item, Question, Source, Store
from bench.intervals import interval
from memory.errors import InvalidInput
from memory.ids import new_id
from memory.models import owner_scope
from memory.recall.profiles import RecallProfile, shipped
from memory.recall.query import Query
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import search
from memory.services.remember import remember
from memory.services.turns import MAX_TURNS, TurnDraft, ingest_turns

DEPTH: Final = 20
CUTS: Final = (5, 10, 20)
ARMS: Final = ("dense", "lexical", "time", "graph")
# What a run can be made without, and what that changes in the profile; any arm can be left out too.
ABLATIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "spread": {"spread_before": 0.0, "spread_after": 0.0},
    "priors": {"evidence": False},
    "late": {"late_interaction": False},
    "decay": {"half_life_days": {}},
}
PARTS: Final = (*ABLATIONS, *ARMS)
# One arm alone is asked without all of these.
ALONE: Final[Mapping[str, Any]] = {
    "fusion": "sum",
    "half_life_days": {},
    "reranker": "none",
    "evidence": False,
    "late_interaction": False,
    "spread_before": 0.0,
    "spread_after": 0.0,
}


@dataclass(frozen=True, slots=True)
class Answered:
    """What one question's evidence scored."""

    store: str
    category: str
    found: dict[int, float]
    hit: float
    reciprocal: float
    session_found: float


@dataclass(slots=True)
class Corpus:
    """One store as memories: which item of the data each memory is, and the questions made ready.

    `drawn` says of each memory that consolidation has made from which items it was drawn.
    """

    store: Store
    actor: Actor
    item_of: dict[UUID, str] = field(default_factory=dict)
    session_of: dict[str, str] = field(default_factory=dict)
    drawn: dict[UUID, tuple[str, ...]] = field(default_factory=dict)
    prepared: list[tuple[Question, Query]] = field(default_factory=list)

    def items(self, memory_id: UUID) -> tuple[str, ...]:
        """Give the items that a memory stands for: itself, and those that it was drawn from."""
        own = self.item_of.get(memory_id)
        return (*(() if own is None else (own,)), *self.drawn.get(memory_id, ()))


def measure(
    sources: Sequence[Source],
    *,
    profile: str = "default",
    arm: str | None = None,
    without: Sequence[str] = (),
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """Store everything for an owner each, ask the questions and average.

    Args:
        sources: the data.
        profile: name of the shipped profile.
        arm: ask this arm alone; None asks the whole profile.
        without: parts left out, of `PARTS`.
        tell: told of progress.

    Returns:
        The averages over all questions with their intervals, and the averages for each category, store and source.

    Raises:
        InvalidInput: a part or arm that there is not.
        NotFound: a profile that there is not.
    """
    asked = adapted(profile, arm=arm, without=without)
    begun = time.perf_counter()
    corpora = {source.name: ingest_all(source.stores, tell=tell) for source in sources}
    seconds = time.perf_counter() - begun
    by_source = {name: ask_all(stored, asked) for name, stored in corpora.items()}
    answered = [one for found in by_source.values() for one in found]
    count = sum(len(store.items) for source in sources for store in source.stores)
    return {
        **summary(answered),
        "profile": profile,
        "arm": arm,
        "without": list(without),
        "memories": count,
        "ingest_per_s": round(count / seconds, 1),
        "by_category": grouped(answered, lambda one: one.category),
        "by_store": grouped(answered, lambda one: one.store),
        "by_source": {name: summary(found) for name, found in by_source.items()},
    }


def ingest_all(stores: Sequence[Store], *, tell: Callable[[str], None]) -> list[Corpus]:
    """Store the data through the services that agents use, consolidate it, and make the questions ready."""
    corpora = []
    for store in stores:
        corpora.append(_consolidated(_ingest(store)))
        tell(f"{store.name}: {len(store.items)} memories, {len(store.questions)} questions")
    analyze()
    return corpora


def _ingest(store: Store) -> Corpus:
    corpus = Corpus(store, new_owner())
    for session, group in groupby(store.items, key=lambda item: item.session):
        items = list(group)
        if session is None:
            for item in items:
                corpus.item_of[remember(actor=corpus.actor, draft=_draft(item)).memory_id] = item.id
                corpus.session_of[item.id] = item.id
            continue
        for start in range(0, len(items), MAX_TURNS):
            chunk = items[start : start + MAX_TURNS]
            drafts = [TurnDraft(draft=_draft(item)) for item in chunk]
            answer = ingest_turns(actor=corpus.actor, session=session, turns=drafts)
            for item, result in zip(chunk, answer.turns, strict=True):
                if result.memory_id is None:
                    raise RuntimeError(f"turn {item.id} was refused: {result.error}")
                corpus.item_of[result.memory_id] = item.id
                corpus.session_of[item.id] = session
    corpus.prepared = [(question, prepared(corpus.actor, question.text)) for question in store.questions]
    return corpus


def _consolidated(corpus: Corpus) -> Corpus:
    """Let the background work draw facts and the graph from what was stored."""
    consolidate(corpus.actor)
    for memory_id, turns in drawn_from(corpus.actor).items():
        corpus.drawn[memory_id] = tuple(corpus.item_of[turn] for turn in turns if turn in corpus.item_of)
    return corpus


def _draft(item: Item) -> Draft:
    speaker = item.speaker if item.session is not None else None
    role = item.role if item.session is not None else ""
    return Draft(text=item.text, speaker=speaker, role=role, kind=item.kind, occurred_at=item.at)


def prepared(actor: Actor, text: str) -> Query:
    """Make a question ready as it stands."""
    return prepare_query(actor, text, RecallRequest(query=text))


def adapted(profile: str, *, arm: str | None = None, without: Sequence[str] = ()) -> RecallProfile:
    """Give a shipped profile at the bench's depth, with one arm alone or without some of its parts.

    Raises:
        InvalidInput: a part or arm that there is not.
        NotFound: a profile that there is not.
    """
    for part in without:
        if part not in PARTS:
            raise InvalidInput(
                f"There is nothing called {part[:40]!r} to leave out. There are: {', '.join(PARTS)}.",
                code="bench.part",
            )
    chosen = replace(shipped(profile), limit=DEPTH)
    if arm is not None:
        if arm not in ARMS:
            raise InvalidInput(f"There is no arm {arm[:40]!r}. There are: {', '.join(ARMS)}.", code="bench.part")
        chosen = replace(chosen, arms=(arm,), weights={arm: 1.0}, **ALONE)
    for part in without:
        chosen = replace(chosen, **ABLATIONS.get(part, {}), arms=tuple(name for name in chosen.arms if name != part))
    if not chosen.arms:
        raise InvalidInput("Without any arm nothing is found.", code="bench.part")
    return chosen


def ask_all(corpora: Sequence[Corpus], profile: RecallProfile) -> list[Answered]:
    """Ask every question of every store."""
    return list(_answers(corpora, profile))


def _answers(corpora: Sequence[Corpus], profile: RecallProfile) -> Iterator[Answered]:
    for corpus in corpora:
        for question, query in corpus.prepared:
            with owner_scope(corpus.actor.owner_id):
                answer = search(query, profile, RecallRequest(query=question.text), new_id())
            yield score(corpus, question, [corpus.items(hit.memory.pk) for hit in answer.hits])


def score(corpus: Corpus, question: Question, ranked: Sequence[Sequence[str]]) -> Answered:
    """Compare what was found, best first, with a question's evidence.

    Each hit stands for some items: a fact for the turns that say it. It takes one place, whatever it stands for.
    """
    firsts: dict[str, int] = {}
    for place, items in enumerate(ranked, start=1):
        for item in items:
            firsts.setdefault(item, place)
    places = sorted(firsts[item] for item in question.evidence if item in firsts)
    sessions = list(dict.fromkeys(corpus.session_of[item] for items in ranked for item in items[:1]))[:5]
    wanted = {corpus.session_of[item] for item in question.evidence}
    return Answered(
        store=corpus.store.name,
        category=question.category,
        found={cut: sum(place <= cut for place in places) / len(question.evidence) for cut in CUTS},
        hit=float(bool(places)),
        reciprocal=1 / places[0] if places else 0.0,
        session_found=len(wanted & set(sessions)) / len(wanted),
    )


MEASURES: Final[Mapping[str, Callable[[Answered], float]]] = {
    "r@5": lambda one: one.found[5],
    "r@10": lambda one: one.found[10],
    "r@20": lambda one: one.found[20],
    "hit@20": lambda one: one.hit,
    "mrr": lambda one: one.reciprocal,
    "session_r@5": lambda one: one.session_found,
}


def averages(answered: Sequence[Answered]) -> dict[str, float]:
    """Average every measure over the questions."""
    return {name: round(fmean(map(value, answered)), 4) if answered else 0.0 for name, value in MEASURES.items()}


def summary(answered: Sequence[Answered]) -> dict[str, Any]:
    """Average every measure over the questions, with the intervals and the number of questions."""
    return {
        **averages(answered),
        "interval": {name: interval(answered, value) for name, value in MEASURES.items()},
        "n": len(answered),
    }


def grouped(answered: Sequence[Answered], key: Callable[[Answered], str]) -> dict[str, dict[str, float]]:
    """Average every measure over the questions of each group."""
    groups: dict[str, list[Answered]] = {}
    for one in answered:
        groups.setdefault(key(one), []).append(one)
    return {name: {**averages(group), "n": len(group)} for name, group in sorted(groups.items())}
