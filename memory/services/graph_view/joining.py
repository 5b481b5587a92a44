"""The links between the things of a view, the strongest first, and how much more there is around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection

from memory.models import EdgeKind
from memory.recall.id_arrays import id_array
from memory.services.graph_view.request import MOST_LINKS
from memory.services.graph_view.walking import MENTIONED, Sight

MENTIONS: Final = "mentions"
RELATION: Final = "relation"
# What nobody has said: likeness is computed.
INFERRED_KINDS: Final = frozenset({EdgeKind.SIMILAR_TO.value})
UNSURE: Final = 0.7
"""A relation of less confidence was concluded from what was said."""

LINK_TIMES: Final = ", g.created_at"
RELATION_TIMES: Final = ", r.valid_from, r.valid_until, r.recorded_at"
LINKS: Final = """
    SELECT g.source_id, g.target_id, g.kind, g.weight, g.insight_id IS NOT NULL {link_times}
    FROM memory_memoryedge g
    WHERE g.owner_id = %(owner)s AND g.source_id = ANY(%(memories)s::uuid[])
      AND g.target_id = ANY(%(memories)s::uuid[]) {known}
    ORDER BY g.weight DESC, g.id LIMIT %(most)s
"""
RELATIONS: Final = """
    SELECT r.source_id, r.target_id, r.label_hash, r.weight, r.confidence, r.id {relation_times}
    FROM memory_relation r
    WHERE r.owner_id = %(owner)s AND r.source_id = ANY(%(entities)s::uuid[])
      AND r.target_id = ANY(%(entities)s::uuid[]) AND {relation}
    ORDER BY r.weight DESC, r.id LIMIT %(most)s
"""
SPEAKS: Final = """
    SELECT x.memory_id, x.entity_id FROM memory_entitymention x
    WHERE x.owner_id = %(owner)s AND x.entity_id = ANY(%(entities)s::uuid[])
      AND x.memory_id = ANY(%(memories)s::uuid[])
    UNION
    SELECT g.memory_id, unnest(ARRAY[r.source_id, r.target_id]) FROM memory_graphevidence g
    JOIN memory_relation r ON r.owner_id = g.owner_id AND r.id = g.relation_id AND {relation}
    WHERE g.owner_id = %(owner)s AND g.memory_id = ANY(%(memories)s::uuid[])
      AND r.source_id = ANY(%(entities)s::uuid[]) AND r.target_id = ANY(%(entities)s::uuid[])
    ORDER BY 1 DESC, 2 LIMIT %(most)s
"""
# Each shown thing with how many links it has, and in the last row, without an id, how many things they lead to that
# are not shown. Both are counted in one pass, since what is passed over can be a hundred times what is shown.
AROUND: Final = """
    WITH counted AS MATERIALIZED (
        SELECT u.id, u.other, count(*) AS links FROM (
        SELECT t.id, t.other FROM (
            SELECT g.source_id AS id, g.target_id AS other FROM memory_memoryedge g
            WHERE g.owner_id = %(owner)s AND g.source_id = ANY(%(memories)s::uuid[]) {known}
            UNION ALL
            SELECT g.target_id, g.source_id FROM memory_memoryedge g
            WHERE g.owner_id = %(owner)s AND g.target_id = ANY(%(memories)s::uuid[]) {known}
            UNION ALL
            SELECT x.entity_id, x.memory_id FROM memory_entitymention x
            WHERE x.owner_id = %(owner)s AND x.entity_id = ANY(%(entities)s::uuid[]) AND %(memories_wanted)s
        ) t JOIN memory_memory m ON m.owner_id = %(owner)s AND m.id = t.other AND {seen}
        UNION ALL
        SELECT x.memory_id, x.entity_id FROM memory_entitymention x
        JOIN memory_entity e ON e.owner_id = x.owner_id AND e.id = x.entity_id {readable}
        WHERE x.owner_id = %(owner)s AND x.memory_id = ANY(%(memories)s::uuid[]) AND %(entities_wanted)s
        UNION ALL
        SELECT r.source_id, r.target_id FROM memory_relation r
        WHERE r.owner_id = %(owner)s AND r.source_id = ANY(%(entities)s::uuid[]) AND {relation}
        UNION ALL
        SELECT r.target_id, r.source_id FROM memory_relation r
        WHERE r.owner_id = %(owner)s AND r.target_id = ANY(%(entities)s::uuid[]) AND {relation}
        ) u GROUP BY GROUPING SETS ((u.id), (u.other))
    )
    SELECT id, links FROM counted WHERE id IS NOT NULL
    UNION ALL
    SELECT NULL, count(*) FROM counted
    WHERE id IS NULL AND other <> ALL(%(memories)s::uuid[]) AND other <> ALL(%(entities)s::uuid[])
"""


class Join(NamedTuple):
    """One link of a view.

    Attributes:
        source, target: its ends.
        kind: a kind of link between memories, `mentions`, or `relation`.
        weight: 0 to 1.
        confidence: 0 to 1.
        inferred: whether it was concluded and not said.
        label: of a relation, the hash of its label; 0 otherwise.
        relation_id: of a relation.
        since, until: when it held, as far as that is known and was asked for.
        recorded: when it was noted, as far as that is known and was asked for.
    """

    source: UUID
    target: UUID
    kind: str
    weight: float
    confidence: float = 1.0
    inferred: bool = False
    label: int = 0
    relation_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None
    recorded: datetime | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """How many links each shown thing has, and how many things they lead to that are not shown."""

    links: dict[UUID, int]
    unseen: int


def joins(memories: Iterable[UUID], entities: Iterable[UUID], *, sight: Sight, dated: bool) -> list[Join]:
    """Give the strongest links between shown things, at most 6,000; each thing keeps its own strongest one.

    Three statements.

    Args:
        memories, entities: the shown things.
        sight: what can be seen.
        dated: whether the times of the links are wanted.
    """
    parameters = _parameters(memories, entities, sight)
    written = {
        "known": sight.links(),
        "relation": sight.relations.conditions()[0],
        "link_times": LINK_TIMES if dated else "",
        "relation_times": RELATION_TIMES if dated else "",
    }
    found = [
        Join(
            source, target, kind, weight, inferred=by_insight or kind in INFERRED_KINDS,
            recorded=made[0] if made else None,
        )
        for source, target, kind, weight, by_insight, *made in _rows(LINKS.format(**written), parameters)
    ]  # fmt: skip
    for source, target, label, weight, confidence, relation_id, *times in _rows(
        RELATIONS.format(**written), parameters
    ):
        found.append(
            Join(source, target, RELATION, weight, confidence, confidence < UNSURE, label, relation_id, *times)
        )
    found += [
        Join(memory, entity, MENTIONS, MENTIONED) for memory, entity in _rows(SPEAKS.format(**written), parameters)
    ]
    return _strongest(found)


def around(memories: Iterable[UUID], entities: Iterable[UUID], *, sight: Sight, layer: str) -> Around:
    """Count the links of shown things to anything that can be seen. One statement."""
    statement = AROUND.format(
        known=sight.links(),
        seen=sight.memories(),
        relation=sight.relations.conditions()[0],
        readable=sight.readable(),
    )
    parameters = {
        **_parameters(memories, entities, sight),
        "memories_wanted": layer != "entities",
        "entities_wanted": layer != "memories",
    }
    rows = _rows(statement, parameters)
    counts = {one: count for one, count in rows if one is not None}
    return Around(counts, next((count for one, count in rows if one is None), 0))


def _strongest(found: Sequence[Join]) -> list[Join]:
    ranked = sorted(found, key=lambda one: (-one.weight, one.source.int, one.target.int, one.kind))
    if len(ranked) <= MOST_LINKS:
        return ranked
    first: set[int] = set()
    joined: set[int] = set()
    for place, one in enumerate(ranked):
        # Numbers are compared many times faster than ids.
        ends = (one.source.int, one.target.int)
        if not joined.issuperset(ends):
            joined.update(ends)
            first.add(place)
    rest = [place for place in range(len(ranked)) if place not in first]
    kept = sorted([*first, *rest[: max(0, MOST_LINKS - len(first))]])
    return [ranked[place] for place in kept]


def _parameters(memories: Iterable[UUID], entities: Iterable[UUID], sight: Sight) -> dict[str, Any]:
    return {
        **sight.parameters,
        "memories": id_array(memories),
        "entities": id_array(entities),
        "most": MOST_LINKS,
    }


def _rows(statement: str, parameters: dict[str, Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
