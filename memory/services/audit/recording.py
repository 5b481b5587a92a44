"""Recording what was done, by whom and to what, without content."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from memory.ids import new_id
from memory.models import AuditEvent
from memory.models.tenancy import current_pseudonym
from memory.services.audit.chain import Event, proof_of


def record(
    *,
    actor: str,
    verb: str,
    object_kind: str,
    at: datetime,
    object_id: UUID | None = None,
    reason: str = "",
    count: int = 1,
) -> AuditEvent:
    """Record an act of the current owner's scope, in the caller's transaction.

    Args:
        actor: who, as `Actor.label` names it.
        verb: what was done, one word.
        object_kind: to what sort of thing.
        at: when.
        object_id: to which, where it is one.
        reason: why, as a code; never a text.
        count: to how many.

    Raises:
        KeysUnavailable: there is no signing key; nothing was recorded.
    """
    made = event_of(
        actor=actor, verb=verb, object_kind=object_kind, at=at, object_id=object_id, reason=reason, count=count
    )
    made.save(force_insert=True)
    return made


def event_of(
    *,
    actor: str,
    verb: str,
    object_kind: str,
    at: datetime,
    object_id: UUID | None = None,
    reason: str = "",
    count: int = 1,
) -> AuditEvent:
    """Make an event of the current owner's scope with its proof, to be saved with others; arguments as `record`."""
    event = Event(new_id(), actor, verb, object_kind, object_id, reason, count, at, b"")
    return AuditEvent(
        id=event.id,
        actor=actor,
        verb=verb,
        object_kind=object_kind,
        object_id=object_id,
        reason=reason,
        count=count,
        created_at=at,
        proof=proof_of(current_pseudonym(), event),
    )
