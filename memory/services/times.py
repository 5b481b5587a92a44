"""The times that memories speak of: read off their texts, written beside them, and removed with them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import connection

from memory.models import Memory, MentionedTime, current_owner
from memory.text.dates import find_spans

MOST_TIMES: Final = 8
LONGEST: Final = timedelta(days=400)
"""A year is worth storing; what is vaguer says too little of when something was, and no search looks that far back."""

INSERT: Final = """
    INSERT INTO memory_mentionedtime (owner_id, memory_id, starts_at, ends_at)
    SELECT %s, t.memory_id, t.starts_at, t.ends_at
    FROM unnest(%s::uuid[], %s::timestamptz[], %s::timestamptz[]) AS t (memory_id, starts_at, ends_at)
    ORDER BY t.memory_id, t.starts_at, t.ends_at ON CONFLICT DO NOTHING
"""


def times_of(row: Memory) -> list[tuple[datetime, datetime]]:
    """List the spans that a memory speaks of, resolved against the moment when it happened: distinct, at most eight.

    A text without a word of time is not read, so that most turns cost nothing.
    """
    if not row.has_time:
        return []
    found = find_spans(row.text, reference=row.occurred_at, limit=2 * MOST_TIMES)
    spans = dict.fromkeys((one.starts_at, one.ends_at) for one in found if one.ends_at - one.starts_at <= LONGEST)
    return list(spans)[:MOST_TIMES]


def insert_times(rows: Sequence[Memory]) -> None:
    """Insert the times that rows of the current owner speak of."""
    spans = [(row.pk, *span) for row in rows for span in times_of(row)]
    if spans:
        with connection.cursor() as cursor:
            cursor.execute(INSERT, [current_owner(), *(list(column) for column in zip(*spans, strict=True))])


def remove_times(memory_ids: Sequence[UUID]) -> None:
    """Remove the times of memories of the current owner."""
    MentionedTime.objects.filter(memory_id__in=memory_ids).delete()


def replace_times(row: Memory) -> None:
    """Bring the times of a row in line with its text and the moment when it happened."""
    remove_times([row.pk])
    insert_times([row])
