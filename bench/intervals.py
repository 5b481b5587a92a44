"""Confidence intervals by conversation: questions about the same one are not independent of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

import numpy as np

DRAWS: Final = 2_000
SHARE: Final = 0.95
SEED: Final = 7


class OfAStore(Protocol):
    """Something that belongs to a store."""

    @property
    def store(self) -> str:
        """Name the store."""


T = TypeVar("T", bound=OfAStore)


def interval(answered: Sequence[T], value: Callable[[T], float]) -> list[float]:
    """Give the 95 % interval of a mean by resampling whole stores (cluster bootstrap, percentiles).

    The same answers always give the same interval. With a handful of stores it is rough, and too narrow rather than too
    wide; it warns of differences that one conversation alone makes.
    """
    sums: dict[str, list[float]] = {}
    for one in answered:
        total = sums.setdefault(one.store, [0.0, 0.0])
        total[0] += value(one)
        total[1] += 1
    if not sums:
        return [0.0, 0.0]
    table = np.array(list(sums.values()))
    chosen = np.random.default_rng(SEED).integers(0, len(table), (DRAWS, len(table)))
    drawn = table[chosen].sum(axis=1)
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], [50 * (1 - SHARE), 50 * (1 + SHARE)])
    return [round(float(low), 4), round(float(high), 4)]
