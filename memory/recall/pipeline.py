"""The pipeline of one recall, inside the caller's transaction: arms, fusion, evidence, decay and boosts, rerank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memory.recall import arms, evidence, fusion, signals
from memory.recall.arms import Found
from memory.recall.candidates import Candidate
from memory.recall.communities import asked_about
from memory.recall.gathering import Gathered, gather
from memory.recall.intent import Intent, intent_of
from memory.recall.neighbours import Neighbours
from memory.recall.phrases import phrase_counts, phrases_of
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query
from memory.recall.relevance import absolute
from memory.recall.reranking import DIVERSE, Reranked, diverse, wanted
from memory.recall.scoring import Adjustment, adjustment
from memory.recall.spreading import passed_on
from memory.recall.stopwatch import stage
from memory.recall.weighing import scores_of, weigh


@dataclass(frozen=True, slots=True)
class ArmHit:
    """A candidate's place in one arm; the rank counts from 1 and is None where the arm did not rank it itself."""

    rank: int | None
    score: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate with every number that placed it.

    `terms` is what each evidence signal added, `rerank` what a reranker did; both are empty where the profile has none.
    """

    candidate: Candidate
    arms: Mapping[str, ArmHit]
    fused: float
    adjustment: Adjustment
    score: float
    relevance: float
    terms: Mapping[str, float] = field(default_factory=dict)
    rerank: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Ranking:
    """The ranked candidates, and what the arms had to say about themselves.

    `failed` parts did not answer, with why.
    """

    ranked: list[Ranked]
    intent: Intent
    considered: int = 0
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placed:
    """A candidate with its scores: before and after decay and boosts, and its relevance."""

    candidate: Candidate
    fused: float
    adjustment: Adjustment
    score: float
    relevance: float


def rank(query: Query, profile: RecallProfile, *, limit: int) -> Ranking:
    """Rank an owner's memories for a query.

    Args:
        query: the prepared query; it must be in its owner's scope.
        profile: how to rank.
        limit: most candidates to give back; a reranker gets more to choose from and gives them all back.
    """
    intent = intent_of(query.text, profile.intent)
    with stage("gather"):
        gathered = gather(query, profile, limit=limit)
    found = gathered.found
    weights = _weights(profile, intent)
    columns: dict[str, signals.Column] = {}
    places: dict[UUID, int] = {}
    with stage("fusion"):
        if profile.evidence:
            weighed = weigh(gathered, query, profile)
            columns = weighed.columns
            places = {memory_id: at for at, memory_id in enumerate(weighed.ground.order)}
            scores, likely = scores_of(gathered, weighed, query)
        else:
            scores = _fuse(profile, found, gathered, weights)
            if profile.edge_seeds:
                scores = passed_on(query, profile, gathered, scores)
            near = found.complete.get("dense", {})
            likely = {one: absolute(near.get(one), found.coverage(one)) for one in gathered.candidates}
    with stage("place"):
        placed = _phrases_first(query, found, _place(query, profile, gathered, scores, likely))
    head = placed[: wanted(profile.reranker, limit)]
    reranked = _diversified(query, profile, gathered, head, weights)
    ranks = {name: _ranks(asked) for name, asked in found.asked.items()}
    ranked = [
        Ranked(
            candidate=one.candidate,
            arms={
                name: ArmHit(ranks[name].get(one.candidate.memory_id), known[one.candidate.memory_id])
                for name, known in found.complete.items()
                if one.candidate.memory_id in known
            },
            fused=one.fused,
            adjustment=one.adjustment,
            score=one.score,
            relevance=one.relevance,
            terms=evidence.terms(columns, places[one.candidate.memory_id]) if columns else {},
            rerank=reranked.reasons(one.candidate.memory_id) if reranked else {},
        )
        for one in head
    ]
    if reranked is not None:
        by_id = {one.candidate.memory_id: one for one in ranked}
        ranked = [by_id[memory_id] for memory_id in reranked.order]
    return Ranking(
        ranked=ranked,
        intent=intent,
        considered=len(gathered.candidates),
        failed=found.failed,
    )


def _weights(profile: RecallProfile, intent: Intent) -> dict[str, float]:
    return {arm: profile.weights.get(arm, 1.0) * intent.factors.get(arm, 1.0) for arm in profile.arms}


def _fuse(profile: RecallProfile, found: Found, gathered: Gathered, weights: Mapping[str, float]) -> dict[UUID, float]:
    if profile.fusion == "rrf":
        scores = fusion.reciprocal_ranks(found.asked, weights, k=profile.rrf_k)
    elif profile.fusion == "zscore":
        scores = fusion.zscore_sum(found.complete, weights)
    else:
        known = dict(found.complete)
        if profile.normalise_lexical and known.get("lexical"):
            best = max(known["lexical"].values())
            known["lexical"] = {memory_id: score / best for memory_id, score in known["lexical"].items()}
        scores = fusion.weighted_sum(known, weights)
    return _spread(profile, scores, gathered.neighbours)


def _spread(
    profile: RecallProfile, scores: dict[UUID, float], neighbours: Mapping[UUID, Neighbours]
) -> dict[UUID, float]:
    if not neighbours:
        return scores
    shared = dict(scores)
    for memory_id, sides in neighbours.items():
        for side, part in ((sides.before, profile.spread_before), (sides.after, profile.spread_after)):
            if side is not None and memory_id in shared:
                shared[memory_id] += part * scores.get(side, 0.0)
    return shared


def _place(
    query: Query,
    profile: RecallProfile,
    gathered: Gathered,
    scores: Mapping[UUID, float],
    likely: Mapping[UUID, float],
) -> list[Placed]:
    """Apply decay, boosts and the threshold, and sort; ties by id, so that the order is always the same."""
    placed = []
    about = _communities(query, profile, gathered, scores)
    for memory_id, candidate in gathered.candidates.items():
        if memory_id in scores and likely[memory_id] >= profile.threshold:
            change = adjustment(candidate, profile, query.now, communities=about)
            score = scores[memory_id]
            final = change.on_logit(score) if profile.evidence else change.apply(score)
            placed.append(Placed(candidate, scores[memory_id], change, final, likely[memory_id]))
    placed.sort(key=lambda one: (-one.score, one.candidate.memory_id))
    return placed


def _communities(
    query: Query, profile: RecallProfile, gathered: Gathered, scores: Mapping[UUID, float]
) -> frozenset[int]:
    """Find what communities the question is about, where the profile raises what belongs to them."""
    if not profile.community_boost:
        return frozenset()
    found = arms.guarded("community", gathered.found, lambda: asked_about(query, gathered.candidates, scores))
    return found or frozenset()


def _phrases_first(query: Query, found: Found, placed: list[Placed]) -> list[Placed]:
    """Put what holds a quoted phrase of the query as written before what does not."""
    phrases = phrases_of(query.text)
    if not phrases:
        return placed
    ids = [one.candidate.memory_id for one in placed]
    counts = arms.guarded("phrases", found, lambda: phrase_counts(ids, phrases)) or {}
    return sorted(placed, key=lambda one: -counts.get(one.candidate.memory_id, 0)) if counts else placed


def _diversified(
    query: Query, profile: RecallProfile, gathered: Gathered, head: Sequence[Placed], weights: Mapping[str, float]
) -> Reranked | None:
    """Reorder the head for diversity where the profile wants it; None leaves the order."""
    if profile.reranker not in DIVERSE:
        return None
    found = gathered.found
    scores = {one.candidate.memory_id: one.score for one in head}
    relevant = (
        fusion.reciprocal_ranks(found.asked, weights, k=profile.rrf_k) if profile.reranker == "rrf_mmr" else scores
    )
    return arms.guarded(
        "rerank",
        found,
        lambda: diverse(query, list(scores), relevant, name=profile.reranker, weight=profile.mmr_lambda),
    )


def _ranks(scores: Mapping[UUID, float]) -> dict[UUID, int]:
    return {memory_id: rank for rank, memory_id in enumerate(fusion.ranking(scores), start=1)}
