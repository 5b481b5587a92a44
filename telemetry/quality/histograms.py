"""Counting values by fixed bounds, and quantiles."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np


def counts(values: Iterable[float], bounds: Sequence[float]) -> list[int]:
    """Count values by bucket.

    Args:
        values: what is counted; none of them NaN.
        bounds: upper bounds, ascending, each included in its bucket.

    Returns:
        One count for each bound, and a last one for what is above all of them.
    """
    found = [0] * (len(bounds) + 1)
    for value in values:
        found[bisect_left(bounds, value)] += 1
    return found


def quantile(values: Sequence[float], share: float) -> float | None:
    """Give a quantile, interpolated between the two nearest values (Hyndman and Fan 1996, type 7); None of nothing.

    Args:
        values: in any order.
        share: 0 to 1.
    """
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if len(values) else None
