"""Reranking by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998) over words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Give the share of words that two texts have in common, 0-1."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def diversified(
    ranked: Sequence[UUID], scores: Mapping[UUID, float], words: Mapping[UUID, frozenset[str]], *, weight: float
) -> list[UUID]:
    """Reorder by `weight * score - (1 - weight) * similarity to what stands before`.

    Args:
        ranked: candidates, best first; cost is quadratic in their number.
        scores: their scores, brought to 0-1 here.
        words: the words of each.
        weight: 1 keeps the order, 0 looks at diversity only.
    """
    if not ranked:
        return []
    low, high = min(scores[one] for one in ranked), max(scores[one] for one in ranked)
    span = (high - low) or 1.0
    remaining = list(ranked)
    nearest = dict.fromkeys(ranked, 0.0)
    ordered: list[UUID] = []
    while remaining:
        best = max(remaining, key=lambda one: weight * (scores[one] - low) / span - (1 - weight) * nearest[one])
        remaining.remove(best)
        ordered.append(best)
        for one in remaining:
            nearest[one] = max(nearest[one], jaccard(words[one], words[best]))
    return ordered
