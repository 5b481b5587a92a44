"""Making the vectors that could not be made when their memories were written."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import F, Max, Min

from memory.errors import EmbedderUnavailable, KeysUnavailable
from memory.models import Memory, PendingVector, Status, owner_scope
from memory.services.embedding import embedded_in_parts
from memory.services.hidden_places import redacted_text, spoken
from memory.services.spaces.in_use import spaces_in_use
from memory.services.writing import Embedded, add_vectors

logger = logging.getLogger(__name__)

BATCH: Final = 64
FIRST_DELAY: Final = timedelta(seconds=30)
LONGEST_DELAY: Final = timedelta(hours=1)
STATE_FIELDS: Final = ("id", "owner_id", "version", "classified_at")

TextState = tuple[int, datetime | None]
"""Version and moment of the last look for personal data."""


def backfill_vectors(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Make an owner's queued vectors, batch by batch, outside of transactions.

    Returns:
        How many were made, and when to try again while the embedder is unavailable.
    """
    made = 0
    while True:
        with owner_scope(owner_id):
            due = PendingVector.objects.filter(next_at__lte=at).order_by("next_at")
            entries = dict(due.values_list("pk", "memory_id")[:BATCH])
            waiting = list(entries.values())
            rows, texts = _opened(waiting, at)
        if not waiting:
            break
        try:
            for places, embedded in embedded_in_parts(spaces_in_use().active, texts, owner_id=owner_id):
                made += _store(owner_id, [rows[place] for place in places], embedded, at)
        except EmbedderUnavailable:
            return made, _postpone(owner_id, waiting, at)
        with owner_scope(owner_id):
            PendingVector.objects.filter(pk__in=list(entries), next_at__lte=at).delete()
    with owner_scope(owner_id):
        return made, PendingVector.objects.aggregate(first=Min("next_at"))["first"]


def _opened(memory_ids: Sequence[UUID], at: datetime) -> tuple[list[Memory], list[str]]:
    """Give those of some memories that are live and open, and what of them is embedded; the others wait."""
    rows, texts, damaged = list[Memory](), list[str](), list[UUID]()
    for row in Memory.objects.filter(pk__in=memory_ids, status=Status.LIVE):
        try:
            texts.append(spoken_text(row))
            rows.append(row)
        except KeysUnavailable:
            damaged.append(row.pk)
    if damaged:
        logger.error("%s texts do not open and got no vectors", len(damaged))
        _let_wait(damaged, at)
    return rows, texts


def _store(owner_id: UUID, rows: Sequence[Memory], embedded: Embedded | None, at: datetime) -> int:
    """Store the vectors of rows, or let those that the embedder refuses wait; gives how many were stored."""
    with owner_scope(owner_id):
        if embedded is None:
            _let_wait([row.pk for row in rows], at)
            return 0
        # Rows archived or changed while the model worked keep their own later entry or need none, and those that were
        # looked at for personal data meanwhile have got a vector without it.
        kept = unchanged(rows)
        add_vectors([rows[place] for place in kept], embedded.chosen(kept))
        return len(kept)


def _let_wait(memory_ids: Sequence[UUID], at: datetime) -> None:
    """Let memories wait for their vectors as long as anything waits, so that they keep no others from theirs."""
    PendingVector.objects.filter(memory_id__in=memory_ids).update(next_at=at + LONGEST_DELAY)


def spoken_text(row: Memory) -> str:
    """Give the text of a stored row that is embedded; call it within the owner's scope."""
    return spoken(row, redacted_text(row))


def text_state(row: Memory) -> TextState:
    """Give what tells whether a row's text for embedding is still the same."""
    return row.version, row.classified_at


def unchanged(rows: Sequence[Memory]) -> list[int]:
    """Lock the rows, and give the places of those that nobody has changed or archived since they were read."""
    locked = Memory.objects.select_for_update(no_key=True).filter(pk__in=[row.pk for row in rows], status=Status.LIVE)
    current = {row.pk: text_state(row) for row in locked.only(*STATE_FIELDS).order_by("pk")}
    return [place for place, row in enumerate(rows) if current.get(row.pk) == text_state(row)]


def _postpone(owner_id: UUID, waiting: list[UUID], at: datetime) -> datetime:
    with owner_scope(owner_id):
        rows = PendingVector.objects.filter(memory_id__in=waiting)
        attempts = rows.aggregate(most=Max("attempts"))["most"] or 0
        again: datetime = at + min(FIRST_DELAY * 2 ** min(attempts, 10), LONGEST_DELAY)
        rows.update(attempts=F("attempts") + 1, next_at=again)
        return again
