"""How well the hits of recalls are ordered: normalised discounted cumulative gain.

Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002, with the gain that
is the grade itself and the discount log2(rank + 1).

All of it takes many recalls at once: a row for each, a column for each rank from 1. Columns beyond a recall's last hit
hold 0, which adds nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def dcg(grades: Floats) -> Floats:
    """Give the sum of `grade / log2(rank + 1)` of each row."""
    discounts = np.log2(np.arange(2, grades.shape[1] + 2))
    return np.asarray((grades / discounts).sum(axis=1), dtype=np.float64)


def ndcg(grades: Floats) -> Floats:
    """Give the gain of each row as a share of what the same hits in their best order would give, 0 to 1.

    Args:
        grades: of the hits in the order in which they were shown, each 0 or more.

    Returns:
        1 for the best order, and 0 where nothing was shown or nothing of it was worth anything.
    """
    best = dcg(-np.sort(-grades, axis=1))
    # Sums in another order differ in their last digit, which must not make a share of more than 1.
    return np.minimum(1.0, np.divide(dcg(grades), best, out=np.zeros_like(best), where=best > 0))


def graded(relevances: Floats, *, verdicts: Floats, unhelpful: NDArray[np.bool_]) -> Floats:
    """Grade the hits of recalls: by what was said of them, else by their calibrated relevance.

    Args:
        relevances: of the hits in their order, 0 to 1.
        verdicts: of the same hits: 1 for one that has helped, 0 for one that has not, NaN where nothing was said.
        unhelpful: by recall, whether it was said that it has not helped as a whole; then hits of which nothing else was
            said are graded 0.
    """
    unsaid = np.where(unhelpful[:, np.newaxis], 0.0, np.clip(relevances, 0.0, 1.0))
    return np.where(np.isnan(verdicts), unsaid, verdicts)


def estimate(relevances: Floats, *, verdicts: Floats, unhelpful: NDArray[np.bool_]) -> Floats:
    """Estimate the NDCG of recalls; arguments as those of `graded`.

    The estimate is biased upwards, since what was never found is missing from the best order as well, and since
    relevances come from the model that made the order. What moves it is an order against the relevances (decay, boosts,
    diversity, a reranker), what people say, and recalls that show nothing, which count 0.
    """
    return ndcg(graded(relevances, verdicts=verdicts, unhelpful=unhelpful))
