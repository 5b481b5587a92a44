"""Steps over the graph in SQL: bounded neighbours of entities, and the entities of names.

Everything here runs within an owner's scope and gives ids; nothing is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.models import NameKind, current_owner
from memory.ports.reading import reading as connection

MOST_HOPS: Final = 3
MOST_FRONTIER: Final = 100
"""Entities from which one further step is taken, the heaviest first: a hub met at one step must not cost the next."""

# Two branches, each along its own covering index, in the index's order, so that the heaviest edges of a hub are read
# without reading the others.
STEP: Final = """
    SELECT n.id, f.id, n.other, n.weight
    FROM unnest(%(frontier)s::uuid[]) AS f (id)
    CROSS JOIN LATERAL (
        (SELECT r.id, r.target_id AS other, r.weight FROM memory_relation r
         WHERE r.owner_id = %(owner)s AND r.source_id = f.id AND {conditions}
         ORDER BY r.weight DESC, r.id LIMIT %(each)s)
        UNION ALL
        (SELECT r.id, r.source_id AS other, r.weight FROM memory_relation r
         WHERE r.owner_id = %(owner)s AND r.target_id = f.id AND {conditions}
         ORDER BY r.weight DESC, r.id LIMIT %(each)s)
    ) n
    ORDER BY n.weight DESC, n.id LIMIT %(most)s
"""
NAMED: Final = """
    SELECT DISTINCT n.name, e.id, e.mention_count, n.kind, e.scope FROM memory_entityname n
    JOIN memory_entity e ON e.owner_id = n.owner_id AND e.id = n.entity_id
    WHERE n.owner_id = %(owner)s AND n.kind = ANY(%(kinds)s::smallint[]) AND n.name = ANY(%(names)s::bigint[])
      {conditions}
"""


Step = tuple[UUID, UUID, UUID, float]
"""A relation, the entity stepped from, the entity reached, and the relation's weight."""


@dataclass(frozen=True, slots=True)
class View:
    """From where the graph is looked at.

    Attributes:
        scopes: what the reader may read; None for everything of the owner.
        valid_at: relations that held at this moment; None for all, whenever they held.
        known_at: what was believed at this moment; None for what is believed now.
        labels: hashes of the labels that are followed; None for all.
    """

    scopes: tuple[UUID, ...] | None
    valid_at: datetime | None = None
    known_at: datetime | None = None
    labels: tuple[int, ...] | None = None

    def conditions(self, alias: str = "r") -> tuple[str, dict[str, Any]]:
        """Write the conditions on a relation, and their parameters."""
        written: list[str] = []
        parameters: dict[str, Any] = {}
        if self.known_at is None:
            # In these words, so that the partial indexes fit.
            written.append(f"{alias}.retracted_at IS NULL")
            ended = f"{alias}.valid_until <= %(valid_at)s"
        else:
            written.append(
                f"{alias}.recorded_at <= %(known_at)s "
                f"AND ({alias}.retracted_at IS NULL OR {alias}.retracted_at > %(known_at)s)"
            )
            ended = f"{alias}.valid_until <= %(valid_at)s AND {alias}.closed_at <= %(known_at)s"
            parameters["known_at"] = self.known_at
        if self.valid_at is not None:
            written.append(f"{alias}.valid_from <= %(valid_at)s AND ({ended}) IS NOT TRUE")
            parameters["valid_at"] = self.valid_at
        if self.scopes is not None:
            written.append(f"{alias}.scope = ANY(%(scopes)s::uuid[])")
            parameters["scopes"] = list(self.scopes)
        if self.labels is not None:
            written.append(f"{alias}.label_hash = ANY(%(labels)s::bigint[])")
            parameters["labels"] = list(self.labels)
        return " AND ".join(written), parameters


@dataclass(slots=True)
class Reached:
    """What some steps reached: the distance of each entity, and the relations between those."""

    distances: dict[UUID, int]
    relations: list[UUID]


@dataclass(frozen=True, slots=True)
class Found:
    """An entity that a hash of a name found."""

    entity_id: UUID
    mention_count: int
    kind: int
    scope: UUID


def one_hop(frontier: Sequence[UUID], *, view: View, each: int, most: int) -> list[Step]:
    """Take one step from some entities in both directions, over their heaviest relations.

    Args:
        frontier: entities to step from.
        view: which relations count.
        each: most relations of one entity and direction.
        most: most relations altogether.

    Returns:
        Relation, entity stepped from, entity reached and weight, heaviest first.
    """
    if not frontier:
        return []
    conditions, parameters = view.conditions()
    with connection.cursor() as cursor:
        cursor.execute(
            STEP.format(conditions=conditions),
            {**parameters, "owner": current_owner(), "frontier": list(frontier), "each": each, "most": most},
        )
        return list(cursor.fetchall())


def neighbours(
    seeds: Sequence[UUID], *, hops: int, view: View, limit: int, step: Callable[..., list[Step]] = one_hop
) -> Reached:
    """Walk one to three steps from some entities, nearest and heaviest first.

    One statement for each step; each entity gives at most `limit` relations in each direction, and at most a hundred
    entities are stepped from at once.

    Args:
        seeds: where to begin; distance 0.
        hops: steps, 1 to 3.
        view: which relations count.
        limit: most entities besides the seeds.
        step: takes one of the steps; that of another store than PostgreSQL.
    """
    distances = dict.fromkeys(seeds, 0)
    relations: dict[UUID, tuple[UUID, UUID]] = {}
    frontier = list(distances)
    for distance in range(1, hops + 1):
        reached: list[UUID] = []
        for relation_id, via, other, _ in step(frontier, view=view, each=limit, most=4 * limit):
            if other not in distances:
                if len(distances) - len(seeds) >= limit:
                    continue
                distances[other] = distance
                reached.append(other)
            relations.setdefault(relation_id, (via, other))
        frontier = reached[:MOST_FRONTIER]
    return Reached(distances, list(relations))


def named(
    hashes: Iterable[int], *, kinds: Iterable[int], scopes: Sequence[UUID] | None, type_: str | None = None
) -> dict[int, list[Found]]:
    """Find entities by hashes of their names, aliases or words, the most mentioned first.

    Args:
        hashes: the hashes of one purpose.
        kinds: which of them count, see `NameKind`.
        scopes: what the reader may read; None for everything of the owner.
        type_: one type of entities only.
    """
    conditions = ""
    parameters: dict[str, Any] = {}
    if scopes is not None:
        conditions += " AND n.scope = ANY(%(scopes)s::uuid[])"
        parameters["scopes"] = list(scopes)
    if type_ is not None:
        conditions += " AND n.type = %(type)s"
        parameters["type"] = type_
    with connection.cursor() as cursor:
        cursor.execute(
            NAMED.format(conditions=conditions),
            {**parameters, "owner": current_owner(), "kinds": [int(kind) for kind in kinds], "names": list(hashes)},
        )
        rows = cursor.fetchall()
    found: dict[int, list[Found]] = {}
    for name, *fields in sorted(rows, key=lambda row: (-row[2], row[3], row[1])):
        found.setdefault(name, []).append(Found(*fields))
    return found


def by_whole_name(
    hashes: Iterable[int], *, scopes: Sequence[UUID] | None, type_: str | None = None
) -> dict[int, list[Found]]:
    """Find entities by hashes of their whole names and aliases, see `named`."""
    return named(hashes, kinds=(NameKind.CANONICAL, NameKind.ALIAS), scopes=scopes, type_=type_)
