"""The dense arm: cosine similarity, exact for small owners and through the partition's HNSW index for large ones.

The choice is made here and never left to the planner, which knows neither recall nor that an index scan may end short.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.recall.query import Query
from memory.recall.statistics import OwnerStatistics
from memory.text.vectors import vector_text

# Up to so many rows of one owner an exact scan is as fast as the index and misses nothing.
EXACT_ROWS: Final = 10_000
# Below this share of its partition's index an owner's rows are so thinly sown that the index scan ends short or slow,
# up to the number of rows at which the exact scan becomes slower than even that.
THIN_SHARE: Final = 0.05
THIN_EXACT_ROWS: Final = 30_000
# Rows of the owner that the index should look at. Measured at 100,000 rows: of the exact first hundred 600 finds .97 in
# 5.5 ms, 400 .95 in 4.8, 200 .90 in 3.
OWN_BREADTH: Final = 600
# More is not taken by the index.
MOST_BREADTH: Final = 1_000
MAX_SCAN_TUPLES: Final = 40_000

# Adding zero makes the expression unlike the index's, so the planner cannot take the index.
EXACT = """
    SELECT v.memory_id, 1 - (v.vec <=> %(vector)s::halfvec) FROM memory_memoryvector v {join}
    WHERE v.owner_id = %(owner)s AND v.space_id = {space} AND v.live {where}
    ORDER BY (v.vec <=> %(vector)s::halfvec) + 0::float8 LIMIT %(limit)s
"""
INDEXED = """
    SELECT found.memory_id, 1 - found.distance FROM (
        SELECT v.memory_id, v.vec::halfvec({width}) <=> %(vector)s::halfvec({width}) AS distance
        FROM memory_memoryvector v {join}
        WHERE v.owner_id = %(owner)s AND v.space_id = {space} AND v.live {where}
        ORDER BY v.vec::halfvec({width}) <=> %(vector)s::halfvec({width}) LIMIT %(limit)s
    ) found ORDER BY found.distance
"""
GIVEN = """
    SELECT v.memory_id, 1 - (v.vec <=> %(vector)s::halfvec) FROM memory_memoryvector v
    WHERE v.owner_id = %(owner)s AND v.space_id = {space} AND v.memory_id = ANY(%(ids)s::uuid[])
"""


def choose_exact(owner: OwnerStatistics) -> bool:
    """Tell whether an owner's rows are scanned one by one instead of through the index."""
    if owner.rows <= EXACT_ROWS:
        return True
    return owner.rows <= THIN_EXACT_ROWS and owner.rows < THIN_SHARE * owner.partition_rows


def breadth(owner: OwnerStatistics) -> int:
    """Give how many rows the index looks at, so that enough of them are the owner's.

    The index of a partition knows no owners: of what it looks at, only the owner's share counts.
    """
    share = min(1.0, owner.rows / owner.partition_rows) if owner.partition_rows and owner.rows else 1.0
    return min(MOST_BREADTH, int(OWN_BREADTH / share))


def search(query: Query, limit: int, *, exact: bool, breadth: int = OWN_BREADTH) -> dict[UUID, float]:
    """Give the rows nearest to the query's vector with their cosine, nearest first.

    Args:
        query: with a vector and its space.
        limit: most rows.
        exact: scan the rows one by one instead of asking the index, see `choose_exact`.
        breadth: how many rows the index looks at, see `breadth`.
    """
    parameters: dict[str, Any] = {**_parameters(query), "limit": limit}
    join, where, narrowing = query.narrowing("v")
    parameters |= narrowing
    with connection.cursor() as cursor:
        if not exact:
            cursor.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
            cursor.execute(f"SET LOCAL hnsw.ef_search = {min(MOST_BREADTH, max(breadth, 2 * limit))}")
            cursor.execute(f"SET LOCAL hnsw.max_scan_tuples = {MAX_SCAN_TUPLES}")
        statement = EXACT if exact else INDEXED
        cursor.execute(
            statement.format(space=int(query.space_id or 0), width=int(query.dimension), join=join, where=where),
            parameters,
        )
        return _scores(cursor.fetchall())


def complete(query: Query, memory_ids: Sequence[UUID]) -> dict[UUID, float]:
    """Give the cosine of given rows; rows without a vector in the space are left out."""
    with connection.cursor() as cursor:
        cursor.execute(GIVEN.format(space=int(query.space_id or 0)), {**_parameters(query), "ids": list(memory_ids)})
        return _scores(cursor.fetchall())


def _parameters(query: Query) -> dict[str, Any]:
    assert query.vector is not None
    return {"owner": query.owner_id, "vector": vector_text(query.vector)}


def _scores(rows: Sequence[tuple[UUID, float]]) -> dict[UUID, float]:
    # A vector of the stored kind is never zero, so the cosine is a number; the database would say NaN otherwise.
    return {memory_id: float(score) for memory_id, score in rows}
