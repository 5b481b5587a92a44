"""What the arms need to know about an owner's rows before they search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection

OWNER: Final = "SELECT n, total FROM memory_lexstats WHERE owner_id = %(owner)s"
# The partition is named by its remainder and found in the catalogue: looking at the vectors for it would wait for
# whoever has locked them, and then not only the arm that needs them would fail.
PARTITION: Final = """
    SELECT greatest(c.reltuples, 0) FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'memory_memoryvector'::regclass
      AND satisfies_hash_partition(
          'memory_memoryvector'::regclass,
          (SELECT count(*)::int FROM pg_inherits WHERE inhparent = 'memory_memoryvector'::regclass),
          right(c.relname, 2)::int, %(owner)s::uuid)
"""
# For so few rows their share of the partition decides nothing, and looking for it would take longer than all the rest.
FEW: Final = 5_000


@dataclass(frozen=True, slots=True)
class OwnerStatistics:
    """Numbers of one owner.

    Attributes:
        rows: memories in the postings, which are the live ones.
        total_length: their summed length in words.
        partition_rows: rows in the owner's partition of vectors, from the planner's statistics; 0 when unknown, and
            for an owner of few rows.
    """

    rows: int
    total_length: int
    partition_rows: float


def owner_statistics(owner_id: UUID) -> OwnerStatistics:
    """Read an owner's numbers, in one statement or two."""
    with connection.cursor() as cursor:
        cursor.execute(OWNER, {"owner": owner_id})
        rows, total = cursor.fetchone() or (0, 0)
        if rows <= FEW:
            return OwnerStatistics(rows, total, 0)
        cursor.execute(PARTITION, {"owner": owner_id})
        (partition_rows,) = cursor.fetchone()
    return OwnerStatistics(rows, total, partition_rows)
