"""Whether a recall, or one of its hits, has helped: said by the one who asked, while the explanation is kept."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from memory.errors import Conflict, InvalidInput, NotFound
from memory.ids import new_id
from memory.models import Memory, RecallRecord, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.retention import EXPLANATIONS_KEPT
from telemetry.models import RecallFeedback

# One statement, so that whoever takes it back meanwhile does so before or after. A row that was there has been locked,
# which its `xmax` shows.
KEEP: Final = f"""
    INSERT INTO {RecallFeedback._meta.db_table}
        (id, owner_id, recall_id, memory_id, caller, helpful, rank, created_at)
    VALUES (
        %(id)s, %(owner_id)s, %(recall_id)s, %(memory_id)s, %(caller)s, %(helpful)s, %(rank)s, %(created_at)s
    )
    ON CONFLICT (owner_id, recall_id, memory_id, caller) DO UPDATE
        SET helpful = excluded.helpful, rank = excluded.rank, created_at = excluded.created_at
    RETURNING id, xmax = 0
"""


def give_feedback(
    *, actor: Actor, recall_id: UUID, helpful: bool, memory_id: UUID | None = None
) -> tuple[RecallFeedback, bool]:
    """Say whether a recall has helped; saying it again replaces what was said.

    Args:
        actor: who made the recall.
        recall_id: the recall; it is of the last seven days.
        helpful: whether it has helped.
        memory_id: which of its hits; left out, the recall as a whole.

    Returns:
        What is kept, and whether it is new.

    Raises:
        NotFound: no such recall of this caller, or the memory is gone.
        InvalidInput: the memory is none of its hits; `feedback.not_a_hit`.
        Conflict: `telemetry.disabled`, telemetry is switched off on this server, so that no report would count it.
        PermissionRefused: the actor may not write telemetry.
    """
    if not settings.TELEMETRY_ENABLED:
        raise Conflict(
            "Telemetry is switched off on this server (TELEMETRY_ENABLED=false). Nothing was noted.",
            code="telemetry.disabled",
        )
    with owner_scope(actor.owner_id):
        rank = _rank(_record(actor, recall_id), memory_id)
        # Locked, so that it is not erased before what is said of it stands.
        if memory_id and not Memory.objects.select_for_update(no_key=True).filter(pk=memory_id).first():
            raise NotFound("That memory is no longer there.")
        said = RecallFeedback(
            id=new_id(),
            recall_id=recall_id,
            memory_id=memory_id,
            caller=actor.caller_id,
            owner_id=actor.owner_id,
            helpful=helpful,
            rank=rank,
            created_at=now(),
        )
        return said, _kept(said)


def take_back_feedback(*, actor: Actor, recall_id: UUID, memory_id: UUID | None = None) -> None:
    """Take back what was said of a recall, or of one of its hits; raises NotFound where nothing was said."""
    require_memory()
    actor.require(Permission.TELEMETRY_WRITE)
    with owner_scope(actor.owner_id):
        said = RecallFeedback.objects.filter(recall_id=recall_id, memory_id=memory_id, caller=actor.caller_id)
        if not said.delete()[0]:
            raise NotFound("You have said nothing about this.")


def said_of(*, actor: Actor, recall_id: UUID, memory_id: UUID | None = None) -> bool | None:
    """Tell what was said of a hit, None where nothing was; raises as `give_feedback` does."""
    with owner_scope(actor.owner_id):
        _rank(_record(actor, recall_id), memory_id)
        said = RecallFeedback.objects.filter(recall_id=recall_id, memory_id=memory_id, caller=actor.caller_id)
        found: bool | None = said.values_list("helpful", flat=True).first()
        return found


def _kept(said: RecallFeedback) -> bool:
    """Keep what was said, in place of what was said before; tell whether it is new, and give it the id of its row."""
    columns = ("id", "owner_id", "recall_id", "memory_id", "caller", "helpful", "rank", "created_at")
    with connection.cursor() as cursor:
        cursor.execute(KEEP, {name: getattr(said, name) for name in columns})
        said.pk, new = cursor.fetchone()
    return bool(new)


def _record(actor: Actor, recall_id: UUID) -> RecallRecord:
    require_memory()
    actor.require(Permission.TELEMETRY_WRITE)
    record: RecallRecord | None = RecallRecord.objects.filter(
        pk=recall_id, caller=actor.caller_id, created_at__gt=now() - EXPLANATIONS_KEPT
    ).first()
    if record is None:
        raise NotFound("There is no such recall of yours, or it is older than seven days.")
    return record


def _rank(record: RecallRecord, memory_id: UUID | None) -> int | None:
    """Give the place of a hit, from 1; None for the recall as a whole."""
    if memory_id is None:
        return None
    hits = [hit["memory_id"] for hit in record.explanation["hits"]]
    if str(memory_id) not in hits:
        raise InvalidInput("That memory is none of the recall's hits.", code="feedback.not_a_hit", field="memory")
    return hits.index(str(memory_id)) + 1
