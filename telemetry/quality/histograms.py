"""Counting values by fixed bounds, and quantiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def counts(values: Sequence[float] | Floats, bounds: Sequence[float]) -> list[int]:
    """Count values by bucket.

    Args:
        values: what is counted; none of them NaN.
        bounds: upper bounds, ascending, each included in its bucket.

    Returns:
        One count for each bound, and a last one for what is above all of them.
    """
    places = np.searchsorted(bounds, np.asarray(values, dtype=np.float64), side="left")
    return [int(count) for count in np.bincount(places, minlength=len(bounds) + 1)]


def quantile(values: Sequence[float] | Floats, share: float) -> float | None:
    """Give a quantile, interpolated between the two nearest values (Hyndman and Fan 1996, type 7); None of nothing.

    Args:
        values: in any order.
        share: 0 to 1.
    """
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if len(values) else None
