"""Turns as columns, which of them belong together, and what is counted for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from telemetry.coverage.clusters import NONE

DIGITS: Final = 4
"""Rates have so many decimal places."""
MOST_NAMED: Final = 100
"""Spokes that are named at once, those with the most turns."""

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class NamedSpoke(Protocol):
    """A part of an agent that requests are handed to; `is_fallback` where it stands for "nothing fitted".

    Its name may be made only when somebody asks for it.
    """

    @property
    def id(self) -> UUID:
        """Give its id."""

    @property
    def name(self) -> str:
        """Give its name as it is shown."""

    @property
    def is_fallback(self) -> bool:
        """Tell whether it stands for "nothing fitted"."""


@dataclass(frozen=True, slots=True)
class SpokeName:
    """A part of an agent whose name is at hand."""

    id: UUID
    name: str
    is_fallback: bool


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns, the newest first, one place of every column for each.

    Attributes:
        ids: the bytes of their ids.
        at: when they began, microseconds since 1970.
        requests: a number for what was asked, the same for the same request.
        spokes: places in `spoke_names`.
        failed: whether they ended other than completed.
        sizes: how long the requests are as they are stored.
        spoke_names: every spoke that has a turn.
    """

    ids: NDArray[np.bytes_]
    at: Numbers
    requests: Numbers
    spokes: Numbers
    failed: Flags
    sizes: Numbers
    spoke_names: Sequence[NamedSpoke]

    def __len__(self) -> int:
        """Count the turns."""
        return len(self.at)

    @property
    def fallbacks(self) -> Flags:
        """Tell of each turn whether nothing fitted."""
        return np.array([spoke.is_fallback for spoke in self.spoke_names] or [False])[self.spokes]


@dataclass(frozen=True, slots=True)
class Distinct:
    """The different requests of turns, in the order in which they come first: the newest first.

    Attributes:
        requests: their numbers.
        places: of each turn, the place of its request in `requests`.
        weights: how often each came.
    """

    requests: Numbers
    places: Numbers
    weights: Numbers


@dataclass(frozen=True, slots=True)
class Groups:
    """Turns in clusters, one place of every column but `of_turn` for each cluster.

    Attributes:
        of_turn: of each turn, the place of its cluster.
        counts, fallbacks, failures: turns, those where nothing fitted, and those that did not end completed.
        missed: turns that failed although a real part of the agent had taken them.
        newest: the place of the newest turn.
        by_vector: whether its requests are alike; else they only share the spoke.
        anchors: the smallest number of its requests, or the place of the spoke; with `by_vector` unique.
    """

    of_turn: Numbers
    counts: Numbers
    fallbacks: Numbers
    failures: Numbers
    missed: Numbers
    newest: Numbers
    by_vector: Flags
    anchors: Numbers

    def __len__(self) -> int:
        """Count the clusters."""
        return len(self.counts)

    @property
    def fallback_rates(self) -> NDArray[np.float64]:
        """Give the share of each cluster's turns where nothing fitted, rounded as it is shown."""
        return np.round(self.fallbacks / self.counts, DIGITS)

    def ranked(self) -> list[int]:
        """List the clusters as reports do: by fallback rate, then by turns, then the newest first."""
        return [int(place) for place in np.lexsort((self.newest, -self.counts, -self.fallback_rates))]

    def members(self, cluster: int) -> Numbers:
        """Give the places of a cluster's turns, newest first."""
        return np.flatnonzero(self.of_turn == cluster)


def distinct(requests: Numbers) -> Distinct:
    """Find the different requests among those of turns, newest first."""
    numbers, first, places, weights = np.unique(requests, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Distinct(numbers[order], rank[places], weights[order].astype(np.int64))


def group(turns: Turns, found: Distinct, labels: Numbers) -> Groups:
    """Put turns into clusters and count.

    Args:
        turns: the turns.
        found: their different requests.
        labels: the cluster of each of these requests, `NONE` for what goes by its spoke.
    """
    by_request = labels[found.places] if len(labels) else np.full(len(turns), NONE, dtype=np.int64)
    begun = int(labels.max(initial=NONE)) + 1
    raw = np.where(by_request == NONE, begun + turns.spokes, by_request)
    numbers, newest, of_turn, counts = np.unique(raw, return_index=True, return_inverse=True, return_counts=True)
    by_vector = numbers < begun
    anchors = numbers - begun
    smallest = np.full(len(numbers), np.iinfo(np.int64).max)
    np.minimum.at(smallest, of_turn, turns.requests)
    fallbacks = turns.fallbacks
    return Groups(
        of_turn=of_turn,
        counts=counts,
        fallbacks=_count(of_turn, fallbacks, len(numbers)),
        failures=_count(of_turn, turns.failed, len(numbers)),
        missed=_count(of_turn, turns.failed & ~fallbacks, len(numbers)),
        newest=newest,
        by_vector=by_vector,
        anchors=np.where(by_vector, smallest, anchors),
    )


def _count(of_turn: Numbers, flags: Flags, clusters: int) -> Numbers:
    return np.bincount(of_turn[flags], minlength=clusters)


def spokes_of(turns: Turns, members: Numbers) -> tuple[str, ...]:
    """Name the spokes of some turns, the most frequent first, then by name; at most 100."""
    counts = np.bincount(turns.spokes[members], minlength=len(turns.spoke_names))
    named, _ = most_frequent(counts)
    return tuple(name for _, name in sorted((-int(counts[place]), turns.spoke_names[place].name) for place in named))


def most_frequent(counts: Numbers) -> tuple[list[int], list[int]]:
    """Divide the spokes that have turns into those that are named and those that are not.

    Args:
        counts: the turns of each spoke.

    Returns:
        Places of the 100 with the most turns, and of the others.
    """
    order = np.argsort(-counts, kind="stable")
    places = [int(place) for place in order[counts[order] > 0]]
    return places[:MOST_NAMED], places[MOST_NAMED:]


def rate(part: int, whole: int) -> float:
    """Give a share with four decimal places; 0 of nothing."""
    return round(part / whole, DIGITS) if whole else 0.0
