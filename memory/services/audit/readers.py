"""Counting who has read a memory: gathered by memory and reader after the answer, and written in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection

from memory.models import current_owner
from memory.services.gathering import Gatherer, Gathering, write_at_end

Times = tuple[int, datetime, datetime]
"""How often, first and last."""
ByReader = Mapping[UUID, Times]

# Sorted, so that no two batches wait for each other; memories that are gone meanwhile are passed over.
NOTE: Final = """
    INSERT INTO memory_memoryread (owner_id, memory_id, reader, reads, first_at, last_at)
    SELECT m.owner_id, m.id, r.reader, r.times, r.first_at, r.last_at
    FROM unnest(%(ids)s::uuid[], %(readers)s::uuid[], %(times)s::integer[], %(first)s::timestamptz[],
                %(last)s::timestamptz[]) AS r (id, reader, times, first_at, last_at)
    JOIN memory_memory m ON m.owner_id = %(owner)s AND m.id = r.id ORDER BY m.id, r.reader
    ON CONFLICT (owner_id, memory_id, reader) DO UPDATE
    SET reads = memory_memoryread.reads + excluded.reads,
        first_at = LEAST(memory_memoryread.first_at, excluded.first_at),
        last_at = GREATEST(memory_memoryread.last_at, excluded.last_at)
"""


def _merged(earlier: ByReader, later: ByReader) -> ByReader:
    merged = dict(earlier)
    for reader, (times, first, last) in later.items():
        if reader in merged:
            before = merged[reader]
            merged[reader] = before[0] + times, min(before[1], first), max(before[2], last)
        else:
            merged[reader] = times, first, last
    return merged


def _write(rows: Mapping[UUID, ByReader]) -> None:
    flat = [(memory_id, reader, *times) for memory_id, readers in rows.items() for reader, times in readers.items()]
    ids, readers, times, first, last = (list(column) for column in zip(*sorted(flat), strict=True))
    with connection.cursor() as cursor:
        cursor.execute(
            NOTE,
            {"owner": current_owner(), "ids": ids, "readers": readers, "times": times, "first": first, "last": last},
        )


class ReadCounter(Gatherer[ByReader]):
    """Gathers reads of memories and writes them; at most one batch is lost when the process is killed.

    The audit's own events are not: they are written with what is read.
    """

    def __init__(self, *, writes_itself: bool = True) -> None:
        """Begin empty; the writing thread starts with the first read, unless the owner of the counter writes."""
        super().__init__(Gathering("reads of memories", _merged, _write), writes_itself=writes_itself)


_counter = ReadCounter()


def note_reads(owner_id: UUID, memory_ids: Sequence[UUID], *, reader: UUID, at: datetime) -> None:
    """Count one read of each memory by a reader, an agent's id or the owner's own; costs no query."""
    _counter.gather(owner_id, {memory_id: {reader: (1, at, at)} for memory_id in memory_ids})


def flush() -> None:
    """Write all gathered reads now; for shutdown and tests."""
    _counter.flush()


def forget(owner_id: UUID) -> None:
    """Drop the reads of an owner's memories that wait to be written."""
    _counter.forget(owner_id)


write_at_end(flush)
