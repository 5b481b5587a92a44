"""The layout job: where the memories and entities of an owner stand in the picture of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memory.graph.adjacency import Adjacency, graph_version, load
from memory.graph.layout import lay_out
from memory.models import GraphLayout, current_owner, owner_scope
from memory.recall.id_arrays import id_array

BATCH: Final = 5_000
"""Places written in one transaction."""

STORED: Final = "SELECT id, x, y FROM memory_graphposition WHERE owner_id = %(owner)s"
LABELS: Final = """
    SELECT id, community FROM memory_entity WHERE owner_id = %(owner)s AND community IS NOT NULL
    UNION ALL SELECT id, community FROM memory_memory WHERE owner_id = %(owner)s AND community IS NOT NULL
"""
# What was erased while places were computed gets none.
PLACE: Final = """
    INSERT INTO memory_graphposition (owner_id, id, memory_id, entity_id, x, y)
    SELECT %(owner)s, p.id, {memory}, {entity}, p.x, p.y
    FROM unnest(%(ids)s::uuid[], %(xs)s::float8[], %(ys)s::float8[]) AS p (id, x, y)
    JOIN {table} t ON t.owner_id = %(owner)s AND t.id = p.id
    ON CONFLICT (owner_id, id) DO UPDATE SET x = excluded.x, y = excluded.y
    WHERE (memory_graphposition.x, memory_graphposition.y) IS DISTINCT FROM (excluded.x, excluded.y)
"""
OUTDATED: Final = """
    DELETE FROM memory_graphposition WHERE owner_id = %(owner)s AND NOT id = ANY(%(ids)s::uuid[])
"""


def lay_out_owner(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Place all that has an edge in an owner's graph; where it has not changed since, nothing is done.

    Reads in one transaction, computes in none and writes in small ones, so it can be killed anywhere and repeated.

    Args:
        owner_id: whose graph.
        at: the moment that counts as now.

    Returns:
        How many places were written, and None: nothing is left for later.
    """
    with owner_scope(owner_id):
        version = graph_version()
        layout = GraphLayout.objects.first()
        if layout is not None and layout.graph_version == version:
            return 0, None
        adjacency = load(scopes=None)
        former, labels = _former(), _labels()
    ids = adjacency.uuids(range(adjacency.nodes))
    places = lay_out(
        starts=adjacency.starts,
        others=adjacency.others,
        weights=adjacency.weights.astype(np.float64),
        labels=np.array([labels.get(one, -1) for one in ids], dtype=np.int64),
        former=np.array([former.get(one, (np.nan, np.nan)) for one in ids], dtype=np.float64).reshape(-1, 2),
    )
    written = sum(_write(owner_id, adjacency, ids, places))
    with owner_scope(owner_id):
        with connection.cursor() as cursor:
            cursor.execute(OUTDATED, {"owner": owner_id, "ids": id_array(ids)})
        values = {"graph_version": version, "nodes": len(ids), "computed_at": at}
        if not GraphLayout.objects.update(**values):
            GraphLayout.objects.create(owner_id=current_owner(), **values)
    return written, None


def _former() -> dict[UUID, tuple[float, float]]:
    with connection.cursor() as cursor:
        cursor.execute(STORED, {"owner": current_owner()})
        return {one: (x, y) for one, x, y in cursor.fetchall()}


def _labels() -> dict[UUID, int]:
    with connection.cursor() as cursor:
        cursor.execute(LABELS, {"owner": current_owner()})
        return dict(cursor.fetchall())


def _write(owner_id: UUID, adjacency: Adjacency, ids: list[UUID], places: NDArray[np.float64]) -> Iterator[int]:
    parts = (
        (range(adjacency.entities), PLACE.format(memory="NULL", entity="p.id", table="memory_entity")),
        (range(adjacency.entities, adjacency.nodes), PLACE.format(memory="p.id", entity="NULL", table="memory_memory")),
    )
    for span, statement in parts:
        for start in range(span.start, span.stop, BATCH):
            part = slice(start, min(start + BATCH, span.stop))
            parameters: dict[str, Any] = {
                "owner": owner_id,
                "ids": id_array(ids[part]),
                "xs": np.round(places[part, 0], 3).tolist(),
                "ys": np.round(places[part, 1], 3).tolist(),
            }
            with owner_scope(owner_id), connection.cursor() as cursor:
                cursor.execute(statement, parameters)
                yield cursor.rowcount
