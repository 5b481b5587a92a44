"""What the arms need to know about an owner's rows before they search."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.models import Status
from memory.ports.reading import reading as connection

OWNER: Final = """
    SELECT n, total, EXISTS (
        SELECT FROM memory_memory m
        WHERE m.owner_id = %(owner)s AND m.expires_at <= coalesce(%(at)s::timestamptz, now()) AND m.status = %(live)s
    ) FROM memory_lexstats WHERE owner_id = %(owner)s
"""
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
        expired: whether some of the rows have expired and are still to be taken out of the indexes.
    """

    rows: int
    total_length: int
    partition_rows: float
    expired: bool = False


def owner_statistics(owner_id: UUID, *, at: datetime | None = None) -> OwnerStatistics:
    """Read an owner's numbers as of a moment, the present when left out, in one statement or two."""
    with connection.cursor() as cursor:
        cursor.execute(OWNER, {"owner": owner_id, "at": at, "live": Status.LIVE})
        rows, total, expired = cursor.fetchone() or (0, 0, False)
        if rows <= FEW:
            return OwnerStatistics(rows, total, 0, expired)
        cursor.execute(PARTITION, {"owner": owner_id})
        # Without partitions, as where owners are spread over servers, the share is unknown.
        (partition_rows,) = cursor.fetchone() or (0,)
    return OwnerStatistics(rows, total, partition_rows, expired)
