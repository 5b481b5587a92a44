"""A report's numbers: turns of a window, grouped by what was asked as far as there are vectors."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final
from uuid import UUID

import numpy as np

from memory.errors import NotFound
from telemetry.coverage.clusters import NONE, cluster
from telemetry.coverage.turns import Distinct, Groups, Turns, distinct, group
from telemetry.services.coverage.request_vectors import Reach
from telemetry.services.coverage.rows import StoredVectors, Window, load_turns, load_vectors

_BY_REQUEST: Final = "r"
BY_SPOKE: Final = "s"
"""Begins the key of a cluster whose turns only share the spoke."""
_BITS: Final = 64


@dataclass(frozen=True, slots=True)
class Analysis:
    """Grouped turns.

    Attributes:
        turns, groups: the turns and their clusters.
        missing: how many different requests have no vector yet.
    """

    turns: Turns
    groups: Groups
    missing: int

    @property
    def size(self) -> int:
        """Give about how many bytes it takes."""
        held = (getattr(part, one.name) for part in (self.turns, self.groups) for one in fields(part))
        return sum(one.nbytes for one in held if isinstance(one, np.ndarray))

    def key(self, cluster_place: int) -> str:
        """Name a cluster so that the same rows give the same name, and later ones mostly do.

        A cluster of alike requests is named by the smallest keyed hash of one of its requests, any other by its spoke.
        """
        anchor = int(self.groups.anchors[cluster_place])
        if self.groups.by_vector[cluster_place]:
            return f"{_BY_REQUEST}-{anchor % 2**_BITS:016x}"
        return f"{BY_SPOKE}-{self.turns.spoke_names[anchor].id.hex}"

    def place(self, key: str) -> int:
        """Find the cluster of a name: the one that holds the request of this name now.

        Raises:
            NotFound: `coverage.cluster_unknown`.
        """
        sort, _, name = key.partition("-")
        try:
            found = self._of_request(int(name, 16)) if sort == _BY_REQUEST else self._of_spoke(UUID(hex=name))
        except ValueError:
            found = None
        if found is None or sort not in (_BY_REQUEST, BY_SPOKE):
            raise NotFound(
                "There is no such cluster in this window any more: turns have come or gone, or requests were compared "
                "meanwhile. Load the report again.",
                code="coverage.cluster_unknown",
            )
        return found

    def _of_request(self, number: int) -> int | None:
        signed = number - 2**_BITS if number >= 2 ** (_BITS - 1) else number
        if not -(2 ** (_BITS - 1)) <= signed < 2 ** (_BITS - 1):
            return None
        places = self.groups.of_turn[self.turns.requests == signed]
        return int(places[0]) if len(places) and self.groups.by_vector[places[0]] else None

    def _of_spoke(self, spoke_id: UUID) -> int | None:
        spokes = [place for place, spoke in enumerate(self.turns.spoke_names) if spoke.id == spoke_id]
        if not spokes:
            return None
        found = np.flatnonzero(~self.groups.by_vector & (self.groups.anchors == spokes[0]))
        return int(found[0]) if len(found) else None


@dataclass(frozen=True, slots=True)
class Loaded:
    """What is read for an analysis.

    Attributes:
        turns, found: the turns, and their different requests.
        vectors: of the latter, None where there are none.
    """

    turns: Turns
    found: Distinct
    vectors: StoredVectors | None


def load(window: Window, reach: Reach) -> Loaded:
    """Read the current owner's turns of a window: three statements, or two where there are no vectors.

    Args:
        window: which turns.
        reach: which vectors can be used.
    """
    turns = load_turns(window)
    found = distinct(turns.requests)
    if reach.space is None or not len(found.requests):
        return Loaded(turns, found, None)
    vectors = load_vectors(window, turns, found, space_id=reach.space.pk, width=reach.space.dimension)
    return Loaded(turns, found, vectors)


def analyse(loaded: Loaded) -> Analysis:
    """Group turns; asks no database, and takes seconds for many."""
    turns, found, vectors = loaded.turns, loaded.found, loaded.vectors
    labels = np.full(len(found.requests), NONE, dtype=np.int64)
    missing = len(found.requests)
    if vectors is not None:
        missing = vectors.missing
        labels[: len(vectors)] = cluster(vectors, found.weights[: len(vectors)])
    return Analysis(turns, group(turns, found, labels), missing)
