"""The dense arm: cosine similarity, exact for small owners and through the partition's HNSW index for large ones.

The choice is made here and never left to the planner, which knows neither recall nor that an index scan may end short.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from memory.ports.reading import reading as connection
from memory.recall.id_arrays import id_array
from memory.recall.query import Query
from memory.recall.statistics import OwnerStatistics
from memory.text.vectors import vector_text

USUAL_LIMIT: Final = 100
# Up to so many rows of one owner an exact scan is as fast as the index and misses nothing.
EXACT_ROWS: Final = 10_000
# Below this share of its partition's index an owner's rows are so thinly sown that the index scan ends short or slow,
# up to the number of rows at which the exact scan becomes slower than even that.
THIN_SHARE: Final = 0.05
THIN_EXACT_ROWS: Final = 30_000
# So far beyond a bound, as a share of it, the numbers must go before an owner's way of searching changes, so that one
# near a bound does not alternate from call to call.
MARGIN: Final = 0.1
MOST_REMEMBERED: Final = 10_000
# Rows of the owner that the index should look at: so many, or three for each that is wanted. Measured at 100,000 rows:
# of the exact first hundred 600 finds .97 in 5.5 ms, 400 .95 in 4.8, 200 .90 in 3; of the first 300 600 finds .87,
# 1,000 .95.
OWN_BREADTH: Final = 600
LOOKED_AT: Final = 3
# So many times as many rows are taken from the index and the best of them kept: rows of later rounds are often nearer.
# Of the exact first thousand 1 finds .83, 2 .94 and 3 .97 in half as much time again.
TAKEN: Final = 2
# More is not taken by the index.
MOST_BREADTH: Final = 1_000
MAX_SCAN_TUPLES: Final = 40_000

# Adding zero makes the expression unlike the index's, so the planner cannot take the index.
EXACT = """
    SELECT v.memory_id, 1 - (v.vec <=> %(vector)s::halfvec) FROM memory_memoryvector v {join}
    WHERE v.owner_id = %(owner)s AND v.space_id = {space} AND v.live {where}
    ORDER BY (v.vec <=> %(vector)s::halfvec) + 0::float8 LIMIT %(limit)s
"""
# What the index gives is sorted only nearly; without adding zero the planner takes it to be sorted already.
INDEXED = """
    SELECT found.memory_id, 1 - found.distance FROM (
        SELECT v.memory_id, v.vec::halfvec({width}) <=> %(vector)s::halfvec({width}) AS distance
        FROM memory_memoryvector v {join}
        WHERE v.owner_id = %(owner)s AND v.space_id = {space} AND v.live {where}
        ORDER BY v.vec::halfvec({width}) <=> %(vector)s::halfvec({width}) LIMIT %(taken)s
    ) found ORDER BY found.distance + 0 LIMIT %(limit)s
"""
GIVEN = """
    SELECT v.memory_id, 1 - (v.vec <=> %(vector)s::halfvec) FROM memory_memoryvector v
    WHERE v.owner_id = %(owner)s AND v.space_id = {space} AND v.memory_id = ANY(%(ids)s::uuid[])
"""


def choose_exact(owner: OwnerStatistics, *, limit: int = USUAL_LIMIT, before: bool | None = None) -> bool:
    """Tell whether an owner's rows are scanned one by one instead of through the index.

    Args:
        owner: the owner's numbers.
        limit: how many rows are wanted.
        before: what was chosen last time, which is kept until the numbers are clearly beyond a bound.
    """
    stay = 1.0 if before is None else 1 + MARGIN if before else 1 - MARGIN
    # The index takes 1.7 times as long for 300 rows and 3.6 times for 1,000 as for 100, a scan no longer.
    many = max(1.0, limit / USUAL_LIMIT) ** 0.5
    if owner.rows <= EXACT_ROWS * many * stay:
        return True
    return owner.rows <= THIN_EXACT_ROWS * many * stay and owner.rows < THIN_SHARE * owner.partition_rows * stay


class ScanChoices:
    """Remembers how each owner's vectors were searched last; safe to use from several threads."""

    def __init__(self, *, most: int = MOST_REMEMBERED) -> None:
        """Begin empty; of more than `most` owners and limits the longest unused are forgotten."""
        self._most = most
        self._known: OrderedDict[tuple[UUID, int], bool] = OrderedDict()
        self._lock = threading.Lock()

    def exact(self, owner_id: UUID, owner: OwnerStatistics, *, limit: int) -> bool:
        """Choose as `choose_exact` does, given what was chosen for this owner and limit before."""
        with self._lock:
            chosen = choose_exact(owner, limit=limit, before=self._known.pop((owner_id, limit), None))
            self._known[owner_id, limit] = chosen
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        return chosen

    def forget(self) -> None:
        """Drop everything remembered."""
        with self._lock:
            self._known.clear()


scan_choices = ScanChoices()
"""What this process remembers."""


def breadth(owner: OwnerStatistics, *, limit: int = USUAL_LIMIT) -> int:
    """Give how many rows the index looks at in one round, so that enough of them are the owner's.

    The index of a partition knows no owners: of what it looks at, only the owner's share counts.
    """
    share = min(1.0, owner.rows / owner.partition_rows) if owner.partition_rows and owner.rows else 1.0
    return min(MOST_BREADTH, int(max(OWN_BREADTH, LOOKED_AT * limit) / share))


def search(query: Query, limit: int, *, exact: bool, breadth: int = OWN_BREADTH) -> dict[UUID, float]:
    """Give the rows nearest to the query's vector with their cosine, nearest first.

    Args:
        query: with a vector and its space.
        limit: most rows.
        exact: scan the rows one by one instead of asking the index, see `choose_exact`.
        breadth: how many rows the index looks at, see `breadth`.
    """
    parameters: dict[str, Any] = {**_parameters(query), "limit": limit, "taken": TAKEN * limit}
    join, where, narrowing = query.narrowing("v")
    parameters |= narrowing
    with connection.cursor() as cursor:
        if not exact:
            cursor.execute(
                "SET LOCAL hnsw.iterative_scan = relaxed_order; "
                f"SET LOCAL hnsw.ef_search = {min(MOST_BREADTH, max(breadth, limit))}; "
                f"SET LOCAL hnsw.max_scan_tuples = {MAX_SCAN_TUPLES}"
            )
        statement = EXACT if exact else INDEXED
        cursor.execute(
            statement.format(space=int(query.space_id or 0), width=int(query.dimension), join=join, where=where),
            parameters,
        )
        return _scores(cursor.fetchall())


def complete(query: Query, memory_ids: Sequence[UUID]) -> dict[UUID, float]:
    """Give the cosine of given rows; rows without a vector in the space are left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            GIVEN.format(space=int(query.space_id or 0)), {**_parameters(query), "ids": id_array(memory_ids)}
        )
        return _scores(cursor.fetchall())


def _parameters(query: Query) -> dict[str, Any]:
    assert query.vector is not None
    return {"owner": query.owner_id, "vector": vector_text(query.vector)}


def _scores(rows: Sequence[tuple[UUID, float]]) -> dict[UUID, float]:
    # A vector of the stored kind is never zero, so the cosine is a number; the database would say NaN otherwise.
    return {memory_id: float(score) for memory_id, score in rows}
