"""Sessions: listing and closing conversations."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.errors import NotFound
from memory.models import Session, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.consolidation.triggers import note_ended
from memory.services.features import require_memory


@reads("sessions")
def list_sessions(*, actor: Actor, after: tuple[datetime, UUID] | None, size: int) -> list[Session]:
    """List sessions, newest start first: an agent's own, all of the owner's for a person."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        rows = own_sessions(actor)
        if after is not None:
            rows = rows.filter(Q(started_at__lt=after[0]) | Q(started_at=after[0], pk__lt=after[1]))
        return list(rows.order_by("-started_at", "-pk")[:size])


@reads("session", of="session_id")
def get_session(*, actor: Actor, session_id: UUID) -> Session:
    """Give one session; raises NotFound when it is not there or another agent's."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        row = own_sessions(actor).filter(pk=session_id).first()
        if row is None:
            raise NotFound("There is no session with this id here.")
        return row


def close_session(*, actor: Actor, session_id: UUID) -> Session:
    """Mark a conversation as ended; new turns open it again. Without effect when it is closed already."""
    require_memory()
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        row = own_sessions(actor).filter(pk=session_id).first()
        if row is None:
            raise NotFound("There is no session with this id here.")
        if row.closed_at is None:
            row.closed_at = now()
            row.save(update_fields=["closed_at"])
            note_ended(moment=row.closed_at)
        return row


def own_sessions(actor: Actor) -> QuerySet[Session]:
    """Give an agent's own sessions, all of the owner's for a person, within the owner's scope."""
    rows: QuerySet[Session] = Session.objects.all()
    return rows if actor.agent_id is None else rows.filter(agent_id=actor.agent_id)
