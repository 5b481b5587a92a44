"""Whether scores of one time are distributed as those of the time before."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from telemetry.bounds import SCORE_BOUNDS
from telemetry.quality.histograms import Floats, counts

# The customary bounds of the index, from the practice of credit scoring (Siddiqi, "Credit Risk Scorecards", 2006).
SMALL_CHANGE: Final = 0.1
LARGE_CHANGE: Final = 0.25
# Fewer values than this in a window say nothing about ten bins.
LEAST_VALUES: Final = 30
# What an empty bin counts as, since the logarithm of nothing is not defined.
LEAST_SHARE: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Drift:
    """How far scores have moved.

    Attributes:
        verdict: `none`, `small`, `large`, or `too_few` where a window has fewer than 30 values.
        index: the population stability index; None where there are too few.
        mean, mean_before: of the two windows; None of an empty one.
        shift: the first less the second.
    """

    verdict: str
    index: float | None
    mean: float | None
    mean_before: float | None
    shift: float | None


def stability_index(now: Sequence[int], before: Sequence[int]) -> float:
    """Give the population stability index: the sum over bins of `(p - q) * ln(p / q)`.

    Args:
        now, before: counts by the same bins, each with at least one value in all. Shares below 0.0001 count as that.
    """
    shares = [[max(count / sum(bins), LEAST_SHARE) for count in bins] for bins in (now, before)]
    return math.fsum((p - q) * math.log(p / q) for p, q in zip(*shares, strict=True))


def verdict_of(index: float) -> str:
    """Name a stability index: below 0.1 `none`, below 0.25 `small`, else `large`."""
    if index < SMALL_CHANGE:
        return "none"
    return "small" if index < LARGE_CHANGE else "large"


def drift(now: Sequence[float] | Floats, before: Sequence[float] | Floats) -> Drift:
    """Compare scores of 0 to 1 of two windows."""
    mean = statistics.fmean(now) if len(now) else None
    mean_before = statistics.fmean(before) if len(before) else None
    shift = None if mean is None or mean_before is None else mean - mean_before
    if min(len(now), len(before)) < LEAST_VALUES:
        return Drift("too_few", None, mean, mean_before, shift)
    index = stability_index(counts(now, SCORE_BOUNDS), counts(before, SCORE_BOUNDS))
    return Drift(verdict_of(index), index, mean, mean_before, shift)
