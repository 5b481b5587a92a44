"""The pipeline of one recall, inside the caller's transaction: arms, fusion, decay and boosts, rerank, threshold."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from memory.models import Memory
from memory.recall import dense, fusion, lexical
from memory.recall.candidates import Candidate, load_candidates
from memory.recall.diversity import diversified
from memory.recall.intent import Intent, intent_of
from memory.recall.lexical import LexicalModel
from memory.recall.profiles import PRESENT_ARMS, RecallProfile
from memory.recall.query import Query
from memory.recall.scoring import Adjustment, adjustment, relevance
from memory.recall.statistics import owner_statistics
from memory.text.tokens import term_frequencies

logger = logging.getLogger(__name__)

T = TypeVar("T")

ARM_TIMEOUT_MS: Final = 3_000
# Reranking opens texts and is quadratic, so it looks at the head of the list only.
RERANKED: Final = 50


@dataclass(frozen=True, slots=True)
class ArmHit:
    """A candidate's place in one arm; the rank counts from 1 and is None where the arm did not rank it itself."""

    rank: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate with every number that placed it."""

    candidate: Candidate
    arms: Mapping[str, ArmHit]
    fused: float
    adjustment: Adjustment
    score: float
    relevance: float


@dataclass(slots=True)
class Ranking:
    """The ranked candidates, and what the arms had to say about themselves.

    `absent` arms are named by the profile but not computed by this version; `failed` ones did not answer, with why.
    """

    ranked: list[Ranked]
    intent: Intent
    considered: int = 0
    absent: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def rank(query: Query, profile: RecallProfile, *, limit: int) -> Ranking:
    """Rank an owner's memories for a query.

    Args:
        query: the prepared query; it must be in its owner's scope.
        profile: how to rank.
        limit: most candidates to give back.
    """
    intent = intent_of(query.text, profile.intent)
    ranking = Ranking([], intent, absent=[arm for arm in profile.arms if arm not in PRESENT_ARMS])
    arms, model = _ask_arms(query, profile, ranking, limit)
    weights = {arm: profile.weights.get(arm, 1.0) * intent.factors.get(arm, 1.0) for arm in profile.arms}
    complete = _complete(query, arms, model, ranking)
    fused = _fuse(profile, arms, complete, weights)
    candidates = load_candidates(query, fused)
    ranking.considered = len(candidates)
    placed: list[tuple[Candidate, Adjustment, float, float]] = []
    for memory_id, candidate in candidates.items():
        likely = relevance(complete.get("dense", {}).get(memory_id), _coverage(memory_id, complete, model))
        if likely >= profile.threshold:
            change = adjustment(candidate, profile, query.now)
            placed.append((candidate, change, change.apply(fused[memory_id]), likely))
    placed.sort(key=lambda one: (-one[2], one[0].memory_id))
    head = placed[: RERANKED if profile.reranker == "mmr" else limit]
    ranks = {
        name: {memory_id: rank for rank, memory_id in enumerate(fusion.ranking(scores), start=1)}
        for name, scores in arms.items()
    }
    ranking.ranked = [
        Ranked(
            candidate=candidate,
            arms={
                name: ArmHit(ranks[name].get(candidate.memory_id), scores[candidate.memory_id])
                for name, scores in complete.items()
                if candidate.memory_id in scores
            },
            fused=fused[candidate.memory_id],
            adjustment=change,
            score=final,
            relevance=likely,
        )
        for candidate, change, final, likely in head
    ]
    if profile.reranker == "mmr":
        ranking.ranked = _rerank(ranking.ranked, profile)[:limit]
    return ranking


def _ask_arms(
    query: Query, profile: RecallProfile, ranking: Ranking, limit: int
) -> tuple[dict[str, dict[UUID, float]], LexicalModel | None]:
    asked = profile.asked_of_arm(limit)
    arms: dict[str, dict[UUID, float]] = {}
    model: LexicalModel | None = None
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {ARM_TIMEOUT_MS}")
    owner = owner_statistics(query.owner_id)
    if "dense" in profile.arms:
        if query.vector is None:
            ranking.failed["dense"] = "embedder.unavailable"
        else:
            exact, width = dense.choose_exact(owner), dense.breadth(owner)
            found = _guarded("dense", ranking, lambda: dense.search(query, asked, exact=exact, breadth=width))
            if found is not None:
                arms["dense"] = found
    if "lexical" in profile.arms and query.terms:

        def words() -> tuple[LexicalModel | None, dict[UUID, float]]:
            built = lexical.build_model(query, profile, owner)
            return built, lexical.search(query, built, asked) if built else {}

        answer = _guarded("lexical", ranking, words)
        if answer is not None:
            model, arms["lexical"] = answer
    return arms, model


def _guarded(name: str, ranking: Ranking, run: Callable[[], T]) -> T | None:
    """Run an arm in a savepoint of its own; a failing one is reported and left out."""
    try:
        with transaction.atomic():
            return run()
    except DatabaseError as error:
        logger.warning("recall arm %s failed: %s", name, type(error).__name__)
        ranking.failed[name] = "arm.failed"
        return None


def _complete(
    query: Query, arms: Mapping[str, dict[UUID, float]], model: LexicalModel | None, ranking: Ranking
) -> dict[str, dict[UUID, float]]:
    """Add the exact scores that one arm's candidates have in the other arm."""
    complete = {name: dict(scores) for name, scores in arms.items()}
    every = set().union(*arms.values()) if arms else set()
    if query.vector is not None and "dense" in arms:
        missing = sorted(every - set(arms["dense"]))
        if missing:
            complete["dense"] |= _guarded("dense", ranking, lambda: dense.complete(query, missing)) or {}
    if model is not None and "lexical" in arms:
        unknown = sorted(every - set(arms["lexical"]))
        if unknown:
            complete["lexical"] |= _guarded("lexical", ranking, lambda: lexical.complete(query, model, unknown)) or {}
    return complete


def _fuse(
    profile: RecallProfile,
    arms: Mapping[str, dict[UUID, float]],
    complete: Mapping[str, dict[UUID, float]],
    weights: Mapping[str, float],
) -> dict[UUID, float]:
    if profile.fusion == "rrf":
        return fusion.reciprocal_ranks(arms, weights, k=profile.rrf_k)
    if profile.fusion == "zscore":
        return fusion.zscore_sum(complete, weights)
    scores = dict(complete)
    if profile.normalise_lexical and scores.get("lexical"):
        best = max(scores["lexical"].values())
        scores["lexical"] = {memory_id: score / best for memory_id, score in scores["lexical"].items()}
    return fusion.weighted_sum(scores, weights)


def _coverage(
    memory_id: UUID, complete: Mapping[str, Mapping[UUID, float]], model: LexicalModel | None
) -> float | None:
    score = complete.get("lexical", {}).get(memory_id)
    return None if score is None or model is None or not model.best_possible else score / model.best_possible


def _rerank(head: list[Ranked], profile: RecallProfile) -> list[Ranked]:
    by_id = {one.candidate.memory_id: one for one in head}
    words = {
        row.pk: frozenset(term_frequencies(row.text))
        for row in Memory.objects.filter(pk__in=list(by_id)).only("id", "owner_id", "visibility", "agent_id", "text")
    }
    order = [memory_id for memory_id in by_id if memory_id in words]
    scores = {memory_id: by_id[memory_id].score for memory_id in order}
    return [by_id[memory_id] for memory_id in diversified(order, scores, words, weight=profile.mmr_lambda)]
