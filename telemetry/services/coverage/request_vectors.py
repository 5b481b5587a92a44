"""Vectors of requests, made when a report first needs them: a few at once, many by a worker."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import connection

from memory.crypto.keyring import keyring
from memory.errors import BudgetExceeded, EmbedderUnavailable
from memory.ids import new_id
from memory.models import DueWork, EmbeddingSpace, SpaceState, current_owner, owner_scope
from memory.ports.allowance import Intended, require_allowance
from memory.ports.outbound import EMBEDDING, on_behalf_of
from memory.providers.composition import embedder
from memory.providers.misconfigured import ProviderMisconfigured
from memory.services.clock import now
from memory.services.legible import legible
from memory.services.spaces.in_use import active_space, model_of, required_model
from memory.text.vectors import vector_text
from telemetry.models import BudgetPeriod, RequestVector, TurnEvent
from telemetry.services.costs.periods import period_of
from telemetry.services.turns.request_text import embeddable
from telemetry.services.turns.state import locked_state, save_changed

logger = logging.getLogger(__name__)

JOB: Final = "request_vectors"
COMPONENT: Final = "telemetry"
"""What requests are embedded for, in the record of what leaves."""
AT_ONCE: Final = 64
"""Requests whose vectors a report waits for, where the embedder runs in this process."""
IN_PROCESS: Final = frozenset({"local", "fastembed", "stub"})
BATCH: Final = 64
LOOKED_FOR: Final = 2_048
MOST_SECONDS: Final = 20.0
"""After this time the worker turns to other work and comes back."""
AGAIN: Final = timedelta(minutes=5)

MISSING: Final = f"""
    SELECT id FROM (
        SELECT DISTINCT ON (e.request_hash) e.id, e.occurred_at FROM {TurnEvent._meta.db_table} e
        WHERE e.owner_id = %(owner)s AND NOT EXISTS (
            SELECT FROM {RequestVector._meta.db_table} v
            WHERE v.owner_id = %(owner)s AND v.space_id = %(space)s AND v.request_hash = e.request_hash
              AND NOT vector_dims(v.vec) <> %(width)s
        )
        ORDER BY e.request_hash, e.occurred_at DESC
    ) missing ORDER BY occurred_at DESC, id DESC LIMIT %(most)s
"""
# Events can go while the model works, and nothing is to be left of them.
STORE: Final = f"""
    INSERT INTO {RequestVector._meta.db_table} (id, owner_id, request_hash, space_id, vec)
    SELECT n.id, %(owner)s, n.request_hash, %(space)s, n.vec::halfvec
    FROM unnest(%(ids)s::uuid[], %(requests)s::bigint[], %(vectors)s::text[]) AS n (id, request_hash, vec)
    WHERE EXISTS (
        SELECT FROM {TurnEvent._meta.db_table} e WHERE e.owner_id = %(owner)s AND e.request_hash = n.request_hash
    )
    ORDER BY n.request_hash
    ON CONFLICT (owner_id, space_id, request_hash) DO UPDATE SET vec = excluded.vec
"""


@dataclass(frozen=True, slots=True)
class Reach:
    """Which vectors a report can use.

    Attributes:
        space: the space of the configured embedder; None where there is none yet or none can be had.
        degraded: the code of why no vectors can be made now; blank where they can.
        in_process: whether the embedder runs in this process.
    """

    space: EmbeddingSpace | None
    degraded: str = ""
    in_process: bool = False


def reach() -> Reach:
    """Tell which vectors of the current owner can be used and made, without asking a model.

    One statement at most, and a look at the budgets every few seconds where the model costs.
    """
    if settings.EMBEDDING_PROVIDER == "none":
        return Reach(None, "embedder.none")
    space = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
    try:
        model = embedder() if space is None else model_of(space)
    except ProviderMisconfigured as error:
        return Reach(None, error.machine_code)
    if model is None:
        return Reach(None, "embedder.other_space")
    here = model.provider in IN_PROCESS
    try:
        require_allowance(
            Intended(
                owner_id=current_owner(), agent_id=None, kind=EMBEDDING, provider=model.provider, model=model.model
            )
        )
    except BudgetExceeded as error:
        return Reach(space, error.machine_code, here)
    failing = model.state().status == "failing"
    return Reach(space, EmbedderUnavailable.code if failing else "", here)


def fill_vectors(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Make the missing vectors of an owner's requests, the newest first, for some 20 seconds; the job of workers.

    Args:
        owner_id: whose.
        at: the moment that counts as now.

    Returns:
        How many were made, and when to go on: at once while there are more, in five minutes while the embedder is
        unavailable, and when the next day begins (UTC) where a budget is used up, which may begin anew then.
    """
    if settings.EMBEDDING_PROVIDER == "none":
        return 0, None
    deadline = time.monotonic() + MOST_SECONDS
    made, again = 0, None
    try:
        with on_behalf_of(owner_id, COMPONENT):
            space = active_space()
        while waiting := missing_events(owner_id, space, most=LOOKED_FOR):
            made += make_vectors(owner_id, space, waiting, deadline=deadline)
            if time.monotonic() >= deadline:
                again = at
                break
    except BudgetExceeded:
        again = period_of(BudgetPeriod.DAY, at).ends
    except EmbedderUnavailable as error:
        logger.warning("vectors of requests wait: %s", error.machine_code)
        again = at + AGAIN
    if made:
        announce_made(owner_id)
    return made, again


def call_for_vectors() -> None:
    """Let a worker make the current owner's missing vectors, unless one has been called for that already."""
    DueWork.objects.bulk_create([DueWork(owner_id=current_owner(), job=JOB, due_at=now())], ignore_conflicts=True)


def try_again(*, at: datetime) -> None:
    """Let a worker try at once what the budget forbade, since the budget has changed; within the owner's scope."""
    DueWork.objects.filter(owner_id=current_owner(), job=JOB, due_at__gt=at).update(due_at=at)


def missing_events(owner_id: UUID, space: EmbeddingSpace, *, most: int) -> list[UUID]:
    """List the newest events of requests that have no vector of a space, one for each request."""
    with owner_scope(owner_id), connection.cursor() as cursor:
        cursor.execute(MISSING, {"owner": owner_id, "space": space.pk, "width": space.dimension, "most": most})
        return [row[0] for row in cursor.fetchall()]


def make_vectors(owner_id: UUID, space: EmbeddingSpace, event_ids: Sequence[UUID], *, deadline: float) -> int:
    """Make and store the vectors of events' requests without personal data, batch by batch, outside of transactions.

    A request that does not open with its owner's key gets a vector of zeros, which lies close to nothing: it is not
    tried again and again.

    Args:
        owner_id: whose.
        space: the active space of the embedder.
        event_ids: one event for each request.
        deadline: moment of the monotonic clock after which no further batch begins.

    Returns:
        How many were made.

    Raises:
        EmbedderUnavailable: the model cannot be used now; what was made until then is stored.
        KeysUnavailable: the owner's keys cannot be had.
    """
    keyring().of(owner_id)
    made = 0
    for first in range(0, len(event_ids), BATCH):
        if first and time.monotonic() >= deadline:
            break
        texts = _texts(owner_id, event_ids[first : first + BATCH])
        vectors = np.zeros((len(texts), space.dimension), dtype=np.float32)
        opened = [place for place, text in enumerate(texts.values()) if text]
        if opened:
            with on_behalf_of(owner_id, COMPONENT):
                vectors[opened] = required_model(space).embed([text for text in texts.values() if text])
        with owner_scope(owner_id):
            store_vectors(space, list(texts), vectors)
        made += len(texts)
    return made


def remove_of_space(space_id: int) -> int:
    """Remove vectors of the current owner's requests in a space that was given up; gives how many."""
    count, _ = RequestVector.objects.filter(space_id=space_id).delete()
    return int(count)


def announce_made(owner_id: UUID) -> None:
    """Raise the version of what reports are made of, and tell whoever looks at one."""
    with owner_scope(owner_id):
        save_changed(locked_state())


def _texts(owner_id: UUID, event_ids: Sequence[UUID]) -> dict[int, str]:
    with owner_scope(owner_id):
        rows = list(TurnEvent.objects.filter(pk__in=event_ids).only("id", "owner_id", "request", "request_hash"))
        opened = {row.request_hash: legible(row, "request") for row in rows}
    return {number: "" if text is None else embeddable(text) for number, text in sorted(opened.items())}


def store_vectors(space: EmbeddingSpace, requests: Sequence[int], vectors: np.ndarray) -> None:
    """Store vectors of the current owner's requests, in place of what is there, unless their events are gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            STORE,
            {
                "owner": current_owner(),
                "space": space.pk,
                "ids": [new_id() for _ in requests],
                "requests": list(requests),
                "vectors": [vector_text(vector) for vector in vectors],
            },
        )
