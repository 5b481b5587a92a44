"""Recording what was done, by whom and to what, without content."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from memory.models import AuditEvent


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
    """
    event: AuditEvent = AuditEvent.objects.create(
        actor=actor,
        verb=verb,
        object_kind=object_kind,
        object_id=object_id,
        reason=reason,
        count=count,
        created_at=at,
    )
    return event
