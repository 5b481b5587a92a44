"""The tuner of Engram: a threshold that follows the quality of what it lets through, in small steps between bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ALPHA: Final = 0.15
STEP: Final = 0.01
LOW: Final = 0.4
HIGH: Final = 0.75
LEAST: Final = 0.10
MOST: Final = 0.55
LEAST_RECALLS: Final = 5


def smoothed(before: float | None, values: Iterable[float]) -> float | None:
    """Give the exponentially weighted mean of values that follow each other, each new one counting 0.15.

    Args:
        before: the mean so far; None where there is none, so that the first value begins it.
        values: the further ones, the oldest first.
    """
    mean = before
    for value in values:
        mean = value if mean is None else (1 - ALPHA) * mean + ALPHA * value
    return mean


def tuned(threshold: float, *, ndcg: float | None, recalls: int) -> float:
    """Give the threshold after one look: lower where quality is low, higher where it is high, else the same.

    Args:
        threshold: as it is, 0 to 1. One beyond the bounds of 0.10 and 0.55 is only ever moved towards them.
        ndcg: the smoothed quality, 0 to 1; None where nothing is known.
        recalls: on how many it rests; below 5 nothing is changed.
    """
    if ndcg is None or recalls < LEAST_RECALLS:
        return threshold
    if ndcg < LOW and threshold > LEAST:
        return max(LEAST, round(threshold - STEP, 4))
    if ndcg > HIGH and threshold < MOST:
        return min(MOST, round(threshold + STEP, 4))
    return threshold
