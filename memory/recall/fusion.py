"""Fusion of the arms' scores into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, pstdev
from uuid import UUID

Scores = Mapping[UUID, float]


# What not being known to an arm is worth: no shared word is a score of zero, no vector says nothing.
_FLOORS: Mapping[str, float] = {"lexical": 0.0}


def zscore_sum(arms: Mapping[str, Scores], weights: Mapping[str, float]) -> dict[UUID, float]:
    """Add the arms' z-scores, weighted.

    Each arm's scores are taken over all candidates. A candidate without a shared word scores zero in the lexical arm;
    elsewhere an unknown candidate gets the arm's least score, so that a hit of one arm alone can still win.
    """
    candidates = _candidates(arms.values())
    fused = dict.fromkeys(candidates, 0.0)
    for name, scores in arms.items():
        if not scores:
            continue
        floor = _FLOORS.get(name, min(scores.values()))
        values = [scores.get(candidate, floor) for candidate in candidates]
        mean, spread = fmean(values), pstdev(values)
        if spread == 0:
            continue
        weight = weights.get(name, 0.0) / spread
        for candidate, value in zip(candidates, values, strict=True):
            fused[candidate] += weight * (value - mean)
    return fused


def reciprocal_ranks(arms: Mapping[str, Scores], weights: Mapping[str, float], *, k: int = 60) -> dict[UUID, float]:
    """Add weight / (k + rank) over the arms, ranks counted from 1 (Cormack et al., SIGIR 2009)."""
    fused = dict.fromkeys(_candidates(arms.values()), 0.0)
    for name, scores in arms.items():
        weight = weights.get(name, 1.0)
        for rank, candidate in enumerate(ranking(scores), start=1):
            fused[candidate] += weight / (k + rank)
    return fused


def weighted_sum(arms: Mapping[str, Scores], weights: Mapping[str, float]) -> dict[UUID, float]:
    """Add the arms' raw scores, weighted."""
    fused = dict.fromkeys(_candidates(arms.values()), 0.0)
    for name, scores in arms.items():
        for candidate, score in scores.items():
            fused[candidate] += weights.get(name, 1.0) * score
    return fused


def ranking(scores: Scores) -> Sequence[UUID]:
    """Order candidates by score, highest first; ties by id, so that the order is always the same."""
    return sorted(scores, key=lambda candidate: (-scores[candidate], candidate))


def _candidates(arms: Iterable[Scores]) -> list[UUID]:
    return list(dict.fromkeys(candidate for scores in arms for candidate in scores))
