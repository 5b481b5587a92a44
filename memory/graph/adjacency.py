"""The graph of one owner as a matrix: entities and memories as nodes, relations, mentions and links as weighted edges.

It is read in one statement that gives three byte strings, a tenth of the time that rows take, and kept for as long as
the graph's version stays. A reader of some scopes has a matrix of what these hold, so that nothing flows through what
he may not read.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.models import EdgeKind, Status, current_owner
from memory.ports.reading import reading as connection

MOST_BYTES: Final = 128 * 1024 * 1024
"""Of all matrices that a process keeps."""

KEPT_SECONDS: Final = 300.0
"""A matrix is read anew after this time: what is archived just when the graph first speaks of it stays until then."""

LARGE: Final = 50_000
"""Edges from which on a matrix takes so long to read that one of an earlier version does for `STALE_SECONDS`."""

STALE_SECONDS: Final = 60.0

# Counted in millionths, so that the sum over parallel edges is the same in whatever order they come.
UNIT: Final = 1_000_000
LEAST_WEIGHT: Final = 0.01

# What a link between memories counts beside its own weight: that two contradict or follow each other says less of their
# subject.
KINDS: Final[Mapping[str, float]] = {
    EdgeKind.SUPPORTS: 1.0,
    EdgeKind.CAUSED_BY: 1.0,
    EdgeKind.DERIVED_FROM: 1.0,
    EdgeKind.PART_OF: 1.0,
    EdgeKind.RELATED_TO: 0.7,
    EdgeKind.SIMILAR_TO: 0.7,
    EdgeKind.FOLLOWED_BY: 0.5,
    EdgeKind.CONTRADICTS: 0.5,
}

Places = NDArray[np.int64]
Numbers = NDArray[np.float64]

# Liveness and scope stand with the memory; the scope of a relation is at least as narrow as those of its entities.
READ: Final = """
    SELECT (SELECT string_agg(uuid_send(r.source_id) || uuid_send(r.target_id)
                              || int4send(round(r.weight * {unit})::int4), '')
            FROM memory_relation r
            WHERE r.owner_id = %(owner)s AND r.retracted_at IS NULL AND r.valid_until IS NULL {of_relation}),
           (SELECT string_agg(uuid_send(x.entity_id) || uuid_send(x.memory_id), '')
            FROM memory_entitymention x
            JOIN memory_memory m ON m.owner_id = x.owner_id AND m.id = x.memory_id AND m.status = %(live)s {of_memory}
            {entity}
            WHERE x.owner_id = %(owner)s),
           (SELECT string_agg(uuid_send(g.source_id) || uuid_send(g.target_id)
                              || int4send(round(g.weight * k.weight * {unit})::int4), '')
            FROM memory_memoryedge g
            JOIN memory_memory m ON m.owner_id = g.owner_id AND m.id = g.source_id AND m.status = %(live)s {of_memory}
            JOIN memory_memory o ON o.owner_id = g.owner_id AND o.id = g.target_id AND o.status = %(live)s {of_other}
            JOIN unnest(%(kinds)s::text[], %(weights)s::float8[]) AS k (kind, weight) ON k.kind = g.kind
            WHERE g.owner_id = %(owner)s)
"""
ENTITY: Final = "JOIN memory_entity e ON e.owner_id = x.owner_id AND e.id = x.entity_id AND {scoped}"
_PAIR: Final = np.dtype([("first", "S16"), ("second", "S16")])
_WEIGHED: Final = np.dtype([("first", "S16"), ("second", "S16"), ("weight", ">i4")])


@dataclass(frozen=True)
class Adjacency:
    """A symmetric matrix in compressed rows, without empty ones: every node has an edge.

    Attributes:
        ids: of the nodes, 16 bytes each; those of entities first, each part in order.
        entities: how many nodes are entities; the others are memories.
        starts: where each node's edges begin.
        others: the node at the other end of each edge.
        weights: of each edge; parallel ones are added.
        idf: of each entity, 0-1: how much it tells that a memory speaks of it; hardly anything where all memories do.
    """

    ids: NDArray[np.bytes_]
    entities: int
    starts: Places
    others: NDArray[np.int32]
    weights: NDArray[np.float32]
    idf: Numbers

    @property
    def nodes(self) -> int:
        """Give how many nodes there are."""
        return len(self.ids)

    @property
    def edges(self) -> int:
        """Give how many edges there are, each counted once."""
        return len(self.others) // 2

    @cached_property
    def degrees(self) -> Numbers:
        """Give the summed weights of each node's edges."""
        return np.add.reduceat(self.weights, self.starts).astype(np.float64) if self.nodes else np.zeros(0)

    @property
    def nbytes(self) -> int:
        """Give about how much memory this takes."""
        arrays = (self.ids, self.starts, self.others, self.weights, self.idf)
        return sum(one.nbytes for one in arrays) + 8 * self.nodes

    def places(self, ids: Sequence[UUID], *, memories: bool) -> Places:
        """Give the places of entities, or of memories, in the order asked for; -1 for those without an edge."""
        start, end = (self.entities, self.nodes) if memories else (0, self.entities)
        part = self.ids[start:end]
        if not len(part) or not ids:
            return np.full(len(ids), -1, dtype=np.int64)
        wanted = np.frombuffer(b"".join(one.bytes for one in ids), dtype="S16")
        found = np.minimum(np.searchsorted(part, wanted), len(part) - 1)
        return np.where(part[found] == wanted, found + start, -1)

    def uuids(self, places: Iterable[int]) -> list[UUID]:
        """Give the ids of nodes."""
        raw = self.ids.tobytes()
        return [UUID(bytes=raw[16 * place : 16 * place + 16]) for place in places]


def load(*, scopes: Sequence[UUID] | None) -> Adjacency:
    """Read the current owner's graph: open relations, mentions by live memories, links between live memories.

    One statement; some 300 ms for 200,000 relations and 60,000 mentions.

    Args:
        scopes: what the reader may read; None for everything of the owner.
    """

    def scoped(alias: str) -> str:
        return "" if scopes is None else f"AND {alias}.scope = ANY(%(scopes)s::uuid[])"

    statement = READ.format(
        unit=UNIT,
        of_relation=scoped("r"),
        of_memory=scoped("m"),
        of_other=scoped("o"),
        entity="" if scopes is None else ENTITY.format(scoped=scoped("e").removeprefix("AND ")),
    )
    parameters: dict[str, Any] = {
        "owner": current_owner(),
        "live": Status.LIVE,
        "kinds": [str(kind) for kind in KINDS],
        "weights": list(KINDS.values()),
        "scopes": list(scopes or ()),
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        relations, mentions, links = (bytes(part or b"") for part in cursor.fetchone())
    return assemble(
        np.frombuffer(relations, dtype=_WEIGHED),
        np.frombuffer(mentions, dtype=_PAIR),
        np.frombuffer(links, dtype=_WEIGHED),
    )


def assemble(relations: NDArray[Any], mentions: NDArray[Any], links: NDArray[Any]) -> Adjacency:
    """Build the matrix from edges: relations and links with a weight in millionths, mentions weighed by their entity.

    A mention counts the entity's idf, ln((n + 1) / (df + 0.5)) over the n memories that mention anything, so that a
    speaker who is named everywhere does not join everything.
    """
    entity_ids, entity = np.unique(
        np.concatenate([relations["first"], relations["second"], mentions["first"]]), return_inverse=True
    )
    memory_ids, memory = np.unique(
        np.concatenate([links["first"], links["second"], mentions["second"]]), return_inverse=True
    )
    count, linked = len(relations), len(links)
    memory = memory + len(entity_ids)
    spoken_of, speaking = entity[2 * count :], memory[2 * linked :]
    frequency = np.bincount(spoken_of, minlength=len(entity_ids))
    speakers = len(np.unique(speaking))
    # The weight of one mention, of one memory of all, is 1.
    told = np.log((speakers + 1) / (np.maximum(frequency, 1) + 0.5)) / np.log((speakers + 1) / 1.5) if speakers else 1.0
    idf: Numbers = np.clip(np.where(frequency > 0, told, 1.0), LEAST_WEIGHT, 1.0).astype(np.float64)
    first = np.concatenate([entity[:count], spoken_of, memory[:linked]])
    second = np.concatenate([entity[count : 2 * count], speaking, memory[linked : 2 * linked]])
    mentioned = np.round(idf[spoken_of] * UNIT).astype(np.int64)
    millionths = np.concatenate([relations["weight"].astype(np.int64), mentioned, links["weight"].astype(np.int64)])
    starts, others, weights = _compressed(
        first, second, np.maximum(millionths, int(LEAST_WEIGHT * UNIT)), len(entity_ids) + len(memory_ids)
    )
    ids = np.concatenate([entity_ids, memory_ids])
    return Adjacency(ids, len(entity_ids), starts, others, weights, idf)


def _compressed(
    first: Places, second: Places, millionths: Places, nodes: int
) -> tuple[Places, NDArray[np.int32], NDArray[np.float32]]:
    """Sort both directions of every edge by row and add up parallel ones."""
    if not len(first):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    cells = np.concatenate([first * nodes + second, second * nodes + first])
    order = np.argsort(cells)
    cells = cells[order]
    begins = np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))
    summed = np.add.reduceat(np.concatenate([millionths, millionths])[order], begins)
    rows, others = np.divmod(cells[begins], nodes)
    return np.searchsorted(rows, np.arange(nodes)), others.astype(np.int32), (summed / UNIT).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Kept:
    version: int
    read_at: float
    adjacency: Adjacency


class AdjacencyCache:
    """Keeps the matrices read last, by owner and scopes, within a bound of bytes; safe to use from several threads."""

    def __init__(self, *, most_bytes: int = MOST_BYTES, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin empty."""
        self._most_bytes = most_bytes
        self._monotonic = monotonic
        self._kept: OrderedDict[tuple[UUID, frozenset[UUID] | None], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, *, scopes: Sequence[UUID] | None, version: int) -> Adjacency:
        """Give the current owner's matrix of a version of the graph, read if need be.

        A large one of an earlier version does for a minute, so that a busy owner's questions do not read it each time.

        Args:
            scopes: what the reader may read; None for everything of the owner.
            version: the graph's version as it was read before this call, so that what is read is at least as new.
        """
        key = (current_owner(), None if scopes is None else frozenset(scopes))
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and self._serves(kept, version):
                self._kept.move_to_end(key)
                return kept.adjacency
        adjacency = load(scopes=scopes)
        with self._lock:
            self._kept[key] = _Kept(version, self._monotonic(), adjacency)
            self._kept.move_to_end(key)
            while len(self._kept) > 1 and self.nbytes > self._most_bytes:
                self._kept.popitem(last=False)
        return adjacency

    @property
    def nbytes(self) -> int:
        """Give how much memory the kept matrices take."""
        return sum(one.adjacency.nbytes for one in self._kept.values())

    def forget(self) -> None:
        """Drop everything kept."""
        with self._lock:
            self._kept.clear()

    def _serves(self, kept: _Kept, version: int) -> bool:
        age = self._monotonic() - kept.read_at
        if kept.version == version:
            return age < KEPT_SECONDS
        return kept.adjacency.edges >= LARGE and age < STALE_SECONDS


adjacencies = AdjacencyCache()
"""What this process keeps."""


def graph_version() -> int:
    """Give the version of the current owner's graph; 0 before its first change."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT version FROM memory_graphstate WHERE owner_id = %s", [current_owner()])
        row = cursor.fetchone()
    return int(row[0]) if row else 0
