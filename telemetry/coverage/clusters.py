"""Which requests are alike: the published greedy pass over vectors, in blocks, with bounded memory and time.

Published (Praxis, "Pipeline Coverage Telemetry"): one pass over the events, newest first; each joins the cluster whose
running mean it lies closest to, if their cosine is above 0.75, or else begins one. What is kept of that and what is
not:

- A request that came n times is gone through once, at its newest place, with the weight n.
- The first `EXACT` requests are gone through one by one, as published. After that a block is compared with all running
  means by one matrix product, and the means move at its end. What lies close to none begins new clusters: the first of
  these becomes a seed, those close to it pass their turn, and so on; then each that passed joins its best seed.
- At most `MOST_CLUSTERS` are held. Beyond that the lightest are given up, down to `KEPT_CLUSTERS`; their requests count
  as lying close to none. This is lossy counting (Manku and Motwani, "Approximate frequency counts over data streams",
  VLDB 2002) with clusters for items: what is given up held no more than the lightest half did.

With n requests of width d, the products cost at most 2·n·d·(MOST_CLUSTERS + BLOCK) floating-point operations and hold
BLOCK·(MOST_CLUSTERS + BLOCK) numbers at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

SIMILAR: Final = 0.75
"""A cosine has to be above this; exactly this is not enough."""
EXACT: Final = 256
BLOCK: Final = 512
MOST_CLUSTERS: Final = 1000
KEPT_CLUSTERS: Final = 500
NONE: Final = -1
"""The label of a request that belongs to no cluster."""
# Cosines of vectors that were stored in half precision and are multiplied in single precision.
_ROUNDING: Final = 1e-6
_BOUND: Final = SIMILAR + _ROUNDING

Labels = NDArray[np.int64]
Weights = NDArray[np.int64]


class VectorRows(Protocol):
    """Vectors by row; only some of them have to be in memory in full precision at a time."""

    def __len__(self) -> int:
        """Count the rows."""

    def rows(self, first: int, last: int) -> NDArray[np.floating]:
        """Give the rows from `first` up to, without, `last`, of any length; a row of zeros lies close to nothing."""


@dataclass(frozen=True, slots=True)
class ArrayRows:
    """Vectors that are all in memory."""

    array: NDArray[np.floating]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.array)

    def rows(self, first: int, last: int) -> NDArray[np.floating]:
        """Give a slice."""
        return self.array[first:last]


def cluster(vectors: VectorRows, weights: Weights) -> Labels:
    """Group vectors that lie close to each other.

    Args:
        vectors: one for each different request, in the order in which requests are gone through: newest first.
        weights: how often each request came, at least 1.

    Returns:
        A label for each row, from 0 in the order in which clusters began; `NONE` for rows of zeros and for those of
        clusters that were given up. The same input gives the same labels.
    """
    labels = np.full(len(vectors), NONE, dtype=np.int64)
    if not len(vectors):
        return labels
    held = _Clusters(vectors.rows(0, 1).shape[1])
    first = 0
    while first < len(vectors):
        last = min(first + BLOCK, EXACT if first < EXACT else len(vectors), len(vectors))
        units, usable = _units(vectors.rows(first, last))
        places = np.flatnonzero(usable)
        take = held.one_by_one if last <= EXACT else held.block
        labels[first + places] = take(units[places], weights[first:last][places])
        held.give_up_lightest()
        first = last
    return held.settled(labels)


def _units(rows: NDArray[np.floating]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    single: NDArray[np.float32] = rows.astype(np.float32)
    lengths: NDArray[np.float32] = np.sqrt(np.einsum("ij,ij->i", single, single))
    usable = np.isfinite(lengths) & (lengths > 0)
    lengths[~usable] = 1.0
    single /= lengths[:, None]
    return single, usable


class _Clusters:
    """The running means of clusters. Each has a number of its own, which stays when others are given up."""

    def __init__(self, width: int) -> None:
        room = MOST_CLUSTERS + BLOCK
        self._held = self._begun = 0
        self._sums = np.empty((room, width))
        self._means = np.empty((room, width), dtype=np.float32)
        self._weights = np.empty(room, dtype=np.int64)
        self._numbers = np.empty(room, dtype=np.int64)

    def one_by_one(self, units: NDArray[np.float32], weights: Weights) -> Labels:
        """Go through vectors exactly as published."""
        found = np.empty(len(units), dtype=np.int64)
        for place in range(len(units)):
            unit, weight = units[place : place + 1], weights[place : place + 1]
            best = self._closest(unit)
            if best[0] == NONE:
                found[place] = self._begin(unit, weight)[0]
            else:
                self._join(best, unit, weight)
                found[place] = self._numbers[best[0]]
        return found

    def block(self, units: NDArray[np.float32], weights: Weights) -> Labels:
        """Go through vectors of which each is compared with the means as they stood before all of them."""
        best = self._closest(units)
        found = np.full(len(units), NONE, dtype=np.int64)
        near, far = np.flatnonzero(best != NONE), np.flatnonzero(best == NONE)
        found[near] = self._numbers[best[near]]
        self._join(best[near], units[near], weights[near])
        found[far] = self._seed(units[far], weights[far])
        return found

    def give_up_lightest(self) -> None:
        """Hold no more clusters than may be held; of equally light ones, those that began first stay."""
        if self._held <= MOST_CLUSTERS:
            return
        kept = np.sort(np.argsort(-self._weights[: self._held], kind="stable")[:KEPT_CLUSTERS])
        self._held = len(kept)
        for column in (self._sums, self._means, self._weights, self._numbers):
            column[: self._held] = column[kept]

    def settled(self, labels: Labels) -> Labels:
        """Number the clusters that are left from 0."""
        places = np.full(self._begun + 1, NONE, dtype=np.int64)
        places[self._numbers[: self._held]] = np.arange(self._held)
        # The label of those without a cluster leads to the last place.
        return places[labels]

    def _closest(self, units: NDArray[np.float32]) -> Labels:
        """Give the place of the cluster that each vector joins, `NONE` where it lies close to none."""
        if not self._held:
            return np.full(len(units), NONE, dtype=np.int64)
        return _best(units @ self._means[: self._held].T)

    def _seed(self, units: NDArray[np.float32], weights: Weights) -> Labels:
        """Begin clusters for vectors that lie close to none."""
        likeness = units @ units.T
        alike = likeness > _BOUND
        taken = np.zeros(len(units), dtype=np.bool_)
        seeds: list[int] = []
        for place in range(len(units)):
            if not taken[place]:
                seeds.append(place)
                taken |= alike[place]
        is_seed = np.zeros(len(units), dtype=np.bool_)
        is_seed[seeds] = True
        before, others = self._held, np.flatnonzero(~is_seed)
        found = np.empty(len(units), dtype=np.int64)
        found[seeds] = self._begin(units[seeds], weights[seeds])
        if len(others):
            best = before + _best(likeness[others][:, seeds])
            self._join(best, units[others], weights[others])
            found[others] = self._numbers[best]
        return found

    def _begin(self, units: NDArray[np.float32], weights: Weights) -> Labels:
        numbers = np.arange(self._begun, self._begun + len(units))
        added = slice(self._held, self._held + len(units))
        self._sums[added] = units * weights[:, None]
        self._means[added], self._weights[added], self._numbers[added] = units, weights, numbers
        self._begun += len(units)
        self._held += len(units)
        return numbers

    def _join(self, places: Labels, units: NDArray[np.float32], weights: Weights) -> None:
        """Move the means of clusters towards vectors that join them."""
        if not len(places):
            return
        order = np.argsort(places, kind="stable")
        joined, begins = np.unique(places[order], return_index=True)
        weighted = units[order] * weights[order, None].astype(np.float32)
        self._sums[joined] += np.add.reduceat(weighted, begins, axis=0)
        self._weights[joined] += np.add.reduceat(weights[order], begins)
        sums = self._sums[joined]
        # All that joins lies within 42° of the mean, so no sum is zero.
        self._means[joined] = sums / np.linalg.norm(sums, axis=1, keepdims=True)


def _best(likeness: NDArray[np.float32]) -> Labels:
    best = likeness.argmax(axis=1)
    highest = np.take_along_axis(likeness, best[:, None], axis=1)[:, 0]
    return np.where(highest > _BOUND, best, NONE)
