"""Making the token vectors that are missing: of rows written while late interaction was off, or made in another way."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from memory.errors import EmbedderUnavailable, KeysUnavailable, OwnerPurging
from memory.models import DueWork, Memory, Owner, Status, owner_scope
from memory.ports import TokenEmbedder, gives_tokens
from memory.ports.outbound import on_behalf_of
from memory.services.backfill import TextState, spoken_text, text_state
from memory.services.clock import now
from memory.services.embedding import STORING
from memory.services.spaces.in_use import active_space, embedder_in_use
from memory.services.token_vectors import insert_token_vectors
from memory.services.writing import call_for_work

logger = logging.getLogger(__name__)

BATCH: Final = 64
# About 20 seconds of embedding; then other owners and other work have their turn.
MOST_BATCHES: Final = 64
TRY_AGAIN: Final = timedelta(minutes=5)
FIRST: Final = UUID(int=0)

# A row whose vector stands in the space needs tokens that were made as they are made now.
MISSING: Final = """
    SELECT v.memory_id FROM memory_memoryvector v
    WHERE v.owner_id = %(owner)s AND v.space_id = %(space)s AND v.live AND v.memory_id > %(after)s
      AND NOT EXISTS (
          SELECT FROM memory_tokenvectors t
          WHERE t.owner_id = v.owner_id AND t.memory_id = v.memory_id AND t.space_id = v.space_id
            AND substring(t.sealed FROM octet_length(t.sealed) - 3) = %(reduction)s
      )
    ORDER BY v.memory_id LIMIT %(most)s
"""


def fill_tokens(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Make the missing token vectors of an owner, batch by batch, outside of transactions.

    Nothing is left half done when it is interrupted: what is still missing is found again. A text that does not open
    is passed over.

    Returns:
        How many rows got theirs, and when to go on; None when nothing is missing any more, when late interaction is
        switched off, or when the embedder gives no tokens.
    """
    model = _model()
    if model is None:
        return 0, None
    made, after = 0, FIRST
    try:
        space, reduction = active_space(), model.reduction
        for _ in range(MOST_BATCHES):
            with owner_scope(owner_id):
                waiting = _missing(owner_id, space.pk, reduction, after=after, most=BATCH)
                texts = _texts(waiting)
            if not waiting:
                return made, None
            if texts:
                with on_behalf_of(owner_id, STORING):
                    _, tokens = model.embed_with_tokens([text for _, text in texts.values()])
                matrices = {pk: one.matrix for pk, one in zip(texts, tokens, strict=True)}
                with owner_scope(owner_id):
                    rows = _unchanged({pk: state for pk, (state, _) in texts.items()})
                    found = [matrices[row.pk] for row in rows]
                    insert_token_vectors(rows, found, space_id=space.pk, reduction=reduction)
                    made += len(rows)
            after = waiting[-1]
    except EmbedderUnavailable:
        return made, at + TRY_AGAIN
    return made, at


def call_for_missing_tokens() -> int:
    """Look at each owner, and call for work where token vectors are missing; gives the number of those owners.

    Rows come to lack them without anybody noticing: late interaction was switched on, the program makes them in
    another way now, or an older backup was restored.

    Raises:
        EmbedderUnavailable: it cannot be told which space is the embedder's.
    """
    model = _model()
    if model is None:
        return 0
    space, reduction = active_space(), model.reduction
    called = 0
    for owner_id in Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True).iterator():
        with suppress(OwnerPurging), owner_scope(owner_id):
            if _missing(owner_id, space.pk, reduction, after=FIRST, most=1):
                call_for_work(DueWork.TOKENS, due_at=now())
                called += 1
    return called


def _model() -> TokenEmbedder | None:
    model = embedder_in_use()
    return model if settings.LATE_INTERACTION and gives_tokens(model) else None


def _missing(owner_id: UUID, space_id: int, reduction: bytes, *, after: UUID, most: int) -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(
            MISSING,
            {"owner": owner_id, "space": space_id, "reduction": reduction, "after": after, "most": most},
        )
        return [row[0] for row in cursor.fetchall()]


def _texts(memory_ids: Sequence[UUID]) -> dict[UUID, tuple[TextState, str]]:
    """Give the state and the text to embed of live rows that open."""
    texts = {}
    damaged = 0
    for row in Memory.objects.filter(pk__in=memory_ids, status=Status.LIVE).order_by("pk"):
        try:
            texts[row.pk] = text_state(row), spoken_text(row)
        except KeysUnavailable:
            damaged += 1
    if damaged:
        logger.error("%s texts do not open and got no token vectors", damaged)
    return texts


def _unchanged(states: dict[UUID, TextState]) -> list[Memory]:
    """Lock the rows that nobody has changed or archived meanwhile; whoever does so next waits for us."""
    rows = Memory.objects.select_for_update(no_key=True).filter(pk__in=list(states), status=Status.LIVE)
    return [row for row in rows.order_by("pk") if states[row.pk] == text_state(row)]
