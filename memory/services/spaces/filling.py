"""Making the vectors that memories lack in the space beside the one in use, owner by owner, while everything goes on.

What is missing is read from the rows themselves, so an interruption at any moment loses nothing and repeating is
harmless. The embedder's failure pauses the whole space, visibly, until it answers again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from memory.errors import BudgetExceeded, EmbedderUnavailable, KeysUnavailable
from memory.models import (
    DueWork,
    EmbeddingSpace,
    Memory,
    Owner,
    PendingVector,
    SpaceFill,
    SpaceState,
    Status,
    current_owner,
    owner_scope,
)
from memory.services.backfill import BATCH, spoken_text, unchanged
from memory.services.clock import now
from memory.services.embedding import PROBE, embedded_in_parts
from memory.services.jobs import CONSOLIDATION
from memory.services.spaces.in_use import BESIDE, Kept, model_of, space_beside
from memory.services.spaces.progress import note_progress
from memory.services.writing import add_vectors, call_for_work

logger = logging.getLogger(__name__)

TURN_SECONDS: Final = 20.0
"""After this time the worker turns to other work and comes back."""
OUT_OF_BUDGET: Final = timedelta(hours=1)
NOT_CONFIGURED: Final = "embedder.not_configured"
FIRST: Final = UUID(int=0)

MISSING: Final = """
    SELECT m.id FROM memory_memory m
    WHERE m.owner_id = %(owner)s AND m.status = 'live' AND m.id > %(after)s
      AND NOT EXISTS (
          SELECT FROM memory_memoryvector v
          WHERE v.owner_id = m.owner_id AND v.memory_id = m.id AND v.space_id = %(space)s
      )
    ORDER BY m.id LIMIT %(most)s
"""
# Whoever is being erased is passed over: the purge has locked the row, and a reference to it would wait.
CALL_ALL: Final = """
    INSERT INTO memory_duework (owner_id, job, due_at)
    SELECT o.id, %(job)s, %(now)s FROM (
        SELECT id FROM memory_owner WHERE purging_at IS NULL ORDER BY id {unlocked}
    ) o
    ON CONFLICT (owner_id, job) DO UPDATE SET due_at = LEAST(memory_duework.due_at, excluded.due_at)
"""


def fill_spaces(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Make an owner's missing vectors in the space beside the one in use, batch by batch, outside of transactions.

    What lacks a vector in the space in use is queued for its own work. A text that does not open, or that the embedder
    refuses, is passed over. Other work that becomes due ends the turn, and between batches there is rest: see
    `EMBEDDING_FILL_SHARE`.

    Returns:
        How many were made, and when to go on; None when nothing is missing, or the space is paused: its end calls for
        everybody again.
    """
    queue_missing(owner_id, at=at)
    space = space_beside()
    if space is None or space.pause:
        return 0, None
    model = model_of(space)
    if model is None:
        pause_filling(space, NOT_CONFIGURED)
        return 0, None
    return _turn(owner_id, Kept(space, model), at)


def _turn(owner_id: UUID, kept: Kept, at: datetime) -> tuple[int, datetime | None]:
    # The turns of all owners together are bounded, since they follow one another in one task; each gets a batch.
    until = time.monotonic() + min(TURN_SECONDS, max(0.0, TURN_SECONDS - (now() - at).total_seconds()))
    made, closed, after = 0, 0, FIRST
    try:
        while True:
            began = time.monotonic()
            with owner_scope(owner_id):
                waiting = missing(kept.space, after=after)
                rows, texts = _texts(waiting)
            closed += len(waiting) - len(rows)
            if rows:
                stored, refused = _store(owner_id, kept, rows, texts)
                made, closed = made + stored, closed + refused
            if len(waiting) < BATCH:
                lacking = note_progress(owner_id, kept.space.pk, closed=closed, whole=True)
                return made, at if lacking else None
            after = waiting[-1]
            note_progress(owner_id, kept.space.pk, closed=closed, whole=False)
            if time.monotonic() >= until or _others_wait():
                return made, at
            _rest(time.monotonic() - began)
    except BudgetExceeded:
        return made, at + OUT_OF_BUDGET
    except EmbedderUnavailable as error:
        pause_filling(kept.space, error.machine_code)
        return made, None


def missing(space: EmbeddingSpace, *, after: UUID = FIRST, most: int = BATCH) -> list[UUID]:
    """List live memories of the current owner that have no vector in a space, by their ids."""
    with connection.cursor() as cursor:
        cursor.execute(MISSING, {"owner": current_owner(), "space": space.pk, "after": after, "most": most})
        return [row[0] for row in cursor.fetchall()]


def queue_missing(owner_id: UUID, *, at: datetime) -> int:
    """Queue an owner's memories that lack a vector in the space in use, as a switch can leave some; gives how many.

    Two statements where nothing is missing.
    """
    space = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
    if space is None:
        return 0
    queued, after = 0, FIRST
    with owner_scope(owner_id):
        while found := missing(space, after=after, most=1_000):
            rows = [PendingVector(memory_id=one, next_at=at) for one in found]
            PendingVector.objects.bulk_create(rows, ignore_conflicts=True)
            queued, after = queued + len(found), found[-1]
        if queued:
            call_for_work(DueWork.VECTORS, due_at=at)
    return queued


def pause_filling(space: EmbeddingSpace, code: str) -> None:
    """Let no vectors be made for the space beside the one in use until `look_after_spaces` finds its embedder well."""
    paused = EmbeddingSpace.objects.filter(pk=space.pk, state__in=BESIDE, pause="").update(pause=code, paused_at=now())
    if paused:
        logger.warning("filling of embedding space %s pauses: %s", space.pk, code)


def look_after_spaces() -> bool:
    """Let a paused space go on where its embedder answers again, and begin what an interruption has left unbegun.

    One statement where no space stands beside the one in use; asks the embedder of a paused one for a vector.

    Returns:
        Whether workers were called.
    """
    space = space_beside()
    if space is None:
        return False
    if space.pause:
        return _resume(space)
    counted = SpaceFill.objects.filter(space_id=space.pk).exists()
    if counted or DueWork.objects.filter(job=DueWork.SPACES).exists() or not Owner.objects.exists():
        return False
    call_for_all()
    return True


def _resume(space: EmbeddingSpace) -> bool:
    model = model_of(space)
    code = NOT_CONFIGURED
    if model is not None:
        try:
            width = model.embed([PROBE]).shape[1]
            code = "" if width == space.dimension else EmbedderUnavailable.code
        except EmbedderUnavailable as error:
            code = error.machine_code
    if code:
        EmbeddingSpace.objects.filter(pk=space.pk, state__in=BESIDE).exclude(pause="").update(pause=code)
        return False
    with transaction.atomic():
        EmbeddingSpace.objects.filter(pk=space.pk).update(pause="", paused_at=None)
        call_for_all()
    return True


def call_for_all() -> None:
    """Have the workers look at every owner: what is missing in the space in use, and in the one beside it."""
    # Of several servers no rows can be locked together; there is no reference to wait for either.
    unlocked = "" if settings.DATABASE_DISTRIBUTED else "FOR KEY SHARE SKIP LOCKED"
    with connection.cursor() as cursor:
        cursor.execute(CALL_ALL.format(unlocked=unlocked), {"job": DueWork.SPACES, "now": now()})


def _texts(memory_ids: Sequence[UUID]) -> tuple[list[Memory], list[str]]:
    """Give the live rows that open, and what is embedded of them."""
    rows, texts = [], []
    for row in Memory.objects.filter(pk__in=memory_ids, status=Status.LIVE).order_by("pk"):
        try:
            texts.append(spoken_text(row))
        except KeysUnavailable:
            continue
        rows.append(row)
    if len(rows) < len(memory_ids):
        logger.error("%s texts do not open and got no vectors", len(memory_ids) - len(rows))
    return rows, texts


def _store(owner_id: UUID, kept: Kept, rows: Sequence[Memory], texts: Sequence[str]) -> tuple[int, int]:
    """Embed and store; gives how many vectors were stored, and how many texts the embedder refuses."""
    stored = refused = 0
    for places, embedded in embedded_in_parts(kept, texts, owner_id=owner_id):
        if embedded is None:
            refused += len(places)
            continue
        part = [rows[place] for place in places]
        with owner_scope(owner_id):
            # Who changed a text meanwhile has embedded it for this space too, or called for this work again.
            same = unchanged(part)
            add_vectors([part[place] for place in same], embedded.chosen(same))
        stored += len(same)
    return stored, refused


def _others_wait() -> bool:
    own = (*CONSOLIDATION, DueWork.SPACES)
    return DueWork.objects.filter(due_at__lte=now()).exclude(job__in=own).exists()


def _rest(worked: float) -> None:
    share = settings.EMBEDDING_FILL_SHARE
    time.sleep(worked * (1 - share) / share)
