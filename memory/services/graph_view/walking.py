"""Walking from seeds over relations, links and mentions: a few statements a step, each of them bounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.graph.traversal import View, one_hop
from memory.models import Status, current_owner
from memory.recall.id_arrays import id_array
from memory.services.graph_view.request import Times

MOST_READ: Final = 12_000
"""Edges read in one step and layer, however many things it starts from."""

LEAST_EACH: Final = 3
MOST_EACH: Final = 150
FADES: Final = 0.6
"""What a step further counts beside the one before."""

MENTIONED: Final = 0.5
"""The weight of a mention, which has none of its own."""

LINKS: Final = """
    SELECT f.id, n.other, n.weight FROM unnest(%(frontier)s::uuid[]) AS f (id)
    CROSS JOIN LATERAL (
        (SELECT g.target_id AS other, g.weight FROM memory_memoryedge g
         JOIN memory_memory m ON m.owner_id = g.owner_id AND m.id = g.target_id AND {seen}
         WHERE g.owner_id = %(owner)s AND g.source_id = f.id {known} ORDER BY g.weight DESC LIMIT %(each)s)
        UNION ALL
        (SELECT g.source_id AS other, g.weight FROM memory_memoryedge g
         JOIN memory_memory m ON m.owner_id = g.owner_id AND m.id = g.source_id AND {seen}
         WHERE g.owner_id = %(owner)s AND g.target_id = f.id {known} ORDER BY g.weight DESC LIMIT %(each)s)
    ) n
"""
# A memory that a relation was drawn from speaks of both its ends.
SPEAKING: Final = """
    SELECT f.id, n.other FROM unnest(%(frontier)s::uuid[]) AS f (id)
    CROSS JOIN LATERAL (
        (SELECT x.memory_id AS other FROM memory_entitymention x
         JOIN memory_memory m ON m.owner_id = x.owner_id AND m.id = x.memory_id AND {seen}
         WHERE x.owner_id = %(owner)s AND x.entity_id = f.id ORDER BY x.memory_id DESC LIMIT %(each)s)
    ) n
"""
SPOKEN_OF: Final = """
    SELECT f.id, n.other FROM unnest(%(frontier)s::uuid[]) AS f (id)
    CROSS JOIN LATERAL (
        SELECT o.other FROM (
            (SELECT x.entity_id AS other FROM memory_entitymention x
             WHERE x.owner_id = %(owner)s AND x.memory_id = f.id LIMIT %(each)s)
            UNION
            (SELECT unnest(ARRAY[r.source_id, r.target_id]) FROM memory_graphevidence g
             JOIN memory_relation r ON r.owner_id = g.owner_id AND r.id = g.relation_id AND {relation}
             WHERE g.owner_id = %(owner)s AND g.memory_id = f.id LIMIT %(each)s)
        ) o {readable} LIMIT %(each)s
    ) n
"""
READABLE: Final = (
    "JOIN memory_entity e ON e.owner_id = %(owner)s AND e.id = o.other AND e.scope = ANY(%(scopes)s::uuid[])"
)


@dataclass(frozen=True, slots=True)
class Sight:
    """What of the graph can be seen: by whom, and at which two moments."""

    scopes: tuple[UUID, ...] | None
    times: Times
    now: datetime

    @property
    def relations(self) -> View:
        """Give the view of relations: those that hold, unless another moment is meant."""
        return View(self.scopes, valid_at=self.times.valid or self.times.known or self.now, known_at=self.times.known)

    def memories(self, alias: str = "m") -> str:
        """Write the condition that a memory can be seen."""
        known = self.times.known
        if known is None:
            written = [f"{alias}.status = %(live)s"]
        else:
            # What was replaced since was still believed then.
            replaced = f"{alias}.status = %(superseded)s AND {alias}.retracted_at > %(known_at)s"
            written = [f"{alias}.recorded_at <= %(known_at)s AND ({alias}.status = %(live)s OR ({replaced}))"]
        if self.times.valid is not None:
            later = f" OR {alias}.retracted_at > %(known_at)s" if known is not None else ""
            written.append(
                f"({alias}.valid_from IS NULL OR {alias}.valid_from <= %(valid_at)s) "
                f"AND ({alias}.valid_until IS NULL OR {alias}.valid_until > %(valid_at)s{later})"
            )
        if self.scopes is not None:
            written.append(f"{alias}.scope = ANY(%(scopes)s::uuid[])")
        return " AND ".join(written)

    def links(self, alias: str = "g") -> str:
        """Write the condition that a link was there, to be put after others."""
        return "" if self.times.known is None else f"AND {alias}.created_at <= %(known_at)s"

    def readable(self, alias: str = "e") -> str:
        """Write the condition that an entity may be read, to be put after others."""
        known = "" if self.times.known is None else f"AND {alias}.first_seen <= %(known_at)s"
        return known if self.scopes is None else f"AND {alias}.scope = ANY(%(scopes)s::uuid[]) {known}"

    @property
    def parameters(self) -> dict[str, Any]:
        """Give the parameters of all these conditions."""
        return {
            **self.relations.conditions()[1],
            "owner": current_owner(),
            "live": Status.LIVE,
            "superseded": Status.SUPERSEDED,
            "known_at": self.times.known,
            "valid_at": self.times.valid or self.times.known or self.now,
            "scopes": list(self.scopes or ()),
        }


@dataclass(slots=True)
class Walk:
    """What was reached: memories and entities with what they count, and how many were reached beyond the bound."""

    memories: dict[UUID, float] = field(default_factory=dict)
    entities: dict[UUID, float] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Give how many things were reached."""
        return len(self.memories) + len(self.entities)


def walk(
    *, memories: Sequence[UUID], entities: Sequence[UUID], depth: int, layer: str, most: int, sight: Sight
) -> Walk:
    """Walk some steps from seeds and keep what counts most; nearer and heavier counts more.

    Args:
        memories, entities: the seeds; all can be seen.
        depth: steps.
        layer: which things are wanted; a seed of the other layer is walked from and kept.
        most: things to keep, seeds included.
        sight: what can be seen.
    """
    found = Walk(dict.fromkeys(memories, 1.0), dict.fromkeys(entities, 1.0))
    fresh_memories, fresh_entities = dict(found.memories), dict(found.entities)
    for _ in range(depth):
        reached = Walk()
        if layer != "entities":
            for start, other, weight in _links(fresh_memories, sight):
                _reach(reached.memories, other, fresh_memories[start] * weight)
        if layer != "memories":
            for _, start, other, weight in _relations(fresh_entities, sight):
                _reach(reached.entities, other, fresh_entities[start] * weight)
            for start, other in _pairs(SPOKEN_OF, fresh_memories, sight):
                _reach(reached.entities, other, fresh_memories[start] * MENTIONED)
        if layer != "entities":
            for start, other in _pairs(SPEAKING, fresh_entities, sight):
                _reach(reached.memories, other, fresh_entities[start] * MENTIONED)
        fresh_memories = _new(reached.memories, found.memories)
        fresh_entities = _new(reached.entities, found.entities)
        _keep(found, fresh_memories, fresh_entities, most)
        if not fresh_memories and not fresh_entities:
            break
    return found


def _reach(reached: dict[UUID, float], other: UUID, score: float) -> None:
    reached[other] = max(reached.get(other, 0.0), score * FADES)


def _new(reached: Mapping[UUID, float], known: Mapping[UUID, float]) -> dict[UUID, float]:
    return {one: score for one, score in reached.items() if one not in known}


def _keep(found: Walk, memories: dict[UUID, float], entities: dict[UUID, float], most: int) -> None:
    """Add the best of what is new, as far as there is room, and forget the rest."""
    room = max(0, most - found.size)
    ranked = sorted(
        [(-score, 1, one) for one, score in memories.items()] + [(-score, 0, one) for one, score in entities.items()]
    )
    for _, is_memory, one in ranked[room:]:
        (memories if is_memory else entities).pop(one)
    found.memories.update(memories)
    found.entities.update(entities)


def _each(count: int) -> int:
    return min(MOST_EACH, max(LEAST_EACH, MOST_READ // max(count, 1)))


def _links(frontier: Mapping[UUID, float], sight: Sight) -> list[tuple[UUID, UUID, float]]:
    return _rows(LINKS, frontier, sight)


def _pairs(statement: str, frontier: Mapping[UUID, float], sight: Sight) -> list[tuple[UUID, UUID]]:
    return _rows(statement, frontier, sight)


def _rows(statement: str, frontier: Mapping[UUID, float], sight: Sight) -> list[Any]:
    if not frontier:
        return []
    written = statement.format(
        seen=sight.memories(),
        known=sight.links(),
        relation=sight.relations.conditions()[0],
        readable="" if sight.scopes is None else READABLE,
    )
    with connection.cursor() as cursor:
        cursor.execute(written, {**sight.parameters, "frontier": id_array(frontier), "each": _each(len(frontier))})
        return list(cursor.fetchall())


def _relations(frontier: Iterable[UUID], sight: Sight) -> list[tuple[UUID, UUID, UUID, float]]:
    ids = list(frontier)
    return one_hop(ids, view=sight.relations, each=_each(len(ids)), most=MOST_READ)
