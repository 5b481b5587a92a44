"""Showing a person what lists mask, and keeping a record that it was shown."""

from __future__ import annotations

from uuid import UUID

from memory.errors import InvalidInput, PermissionRefused
from memory.models import Memory, owner_scope
from memory.services.actors import STAFF, Actor, Permission
from memory.services.audit.readers import note_reads
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.memories import visible_memory

ASKED, EDITED = "asked", "edited"
# Why staff looks at what is another's; the owner reads the word in the access log.
REASONS = ("support", "legal", "safety", "fault")


def reveal(*, actor: Actor, memory_id: UUID, reason: str = ASKED) -> Memory:
    """Give a memory whose text is to be shown unmasked; the audit says to whom, when and of which memory.

    Args:
        actor: a person or staff; programs get texts by reading, which is recorded as that.
        memory_id: which, whatever its status.
        reason: `asked`, or `edited` where a form shows it; one of `REASONS` from staff.

    Raises:
        NotFound: not there or hidden; nothing is recorded.
        PermissionRefused: `auth.person_only`, not a person; nothing is recorded.
        InvalidInput: `reveal.reason`, staff gives none of the reasons; nothing is recorded.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        row = visible_memory(actor, memory_id)
        require_revealer(actor, reason)
        record(actor=actor.label, verb="reveal", object_kind="memory", object_id=row.pk, reason=reason, at=now())
    note_reads(actor.owner_id, [row.pk], reader=actor.caller_id, at=now())
    return row


def require_revealer(actor: Actor, reason: str) -> None:
    """Raise PermissionRefused, `auth.person_only`, or InvalidInput, `reveal.reason`, where masked text stays masked."""
    if actor.kind not in ("person", STAFF):
        raise PermissionRefused(
            "Only a person who is logged in reveals masked text; agents read the memory itself.",
            code="auth.person_only",
        )
    if actor.kind == STAFF and reason not in REASONS:
        raise InvalidInput(
            "Say why you reveal what another person has stored. Nothing was shown.",
            code="reveal.reason",
            field="reason",
        )
