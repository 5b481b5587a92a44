"""How well the hits of a recall are ordered: normalised discounted cumulative gain.

Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002, with the gain that
is the grade itself and the discount log2(rank + 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def dcg(grades: Sequence[float]) -> float:
    """Give the sum of `grade / log2(rank + 1)`, ranks from 1."""
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def ndcg(grades: Sequence[float]) -> float:
    """Give the gain as a share of what the same hits in their best order would give, 0 to 1.

    Args:
        grades: of the hits in the order in which they were shown, each 0 or more.

    Returns:
        1 for the best order, and 0 where nothing was shown or nothing of it was worth anything.
    """
    best = dcg(sorted(grades, reverse=True))
    # Sums in another order differ in their last digit, which must not make a share of more than 1.
    return min(1.0, dcg(grades) / best) if best else 0.0


def graded(relevances: Sequence[float], *, verdicts: Mapping[int, bool], whole: bool | None) -> list[float]:
    """Grade the hits of a recall: by what was said of them, else by their calibrated relevance.

    Args:
        relevances: of the hits in their order, 0 to 1.
        verdicts: by rank from 1, whether a hit has helped; it is graded 1 or 0.
        whole: whether the recall as a whole has helped; where it has not, hits of which nothing else was said are
            graded 0.
    """
    unsaid = (lambda value: 0.0) if whole is False else (lambda value: value)
    return [
        float(verdicts[rank]) if rank in verdicts else unsaid(min(1.0, max(0.0, value)))
        for rank, value in enumerate(relevances, start=1)
    ]


def estimate(relevances: Sequence[float], *, verdicts: Mapping[int, bool], whole: bool | None) -> float:
    """Estimate the NDCG of one recall; arguments as those of `graded`.

    The estimate is biased upwards, since what was never found is missing from the best order as well, and since
    relevances come from the model that made the order. What moves it is an order against the relevances (decay, boosts,
    diversity, a reranker), what people say, and recalls that show nothing, which count 0.
    """
    return ndcg(graded(relevances, verdicts=verdicts, whole=whole))
