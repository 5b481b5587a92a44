"""Disputing a memory: somebody says that it is wrong and why, and a person decides whether it goes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import Conflict
from memory.models import Memory, ReviewEvidence, ReviewItem, ReviewKind, Status, owner_scope
from memory.services.actors import Actor, Permission, Target
from memory.services.audit.recording import record
from memory.services.changes import add_to_indexes, save_unique
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.memories import visible_memory
from memory.services.retirement import archive_memory
from memory.services.review_memories import Prepared
from memory.services.review_payloads import payload_hash
from memory.services.reviews import Reviewed, open_review, shown
from memory.text import limits

DISPUTED: Final = "disputed"
MOST_REASON_BYTES: Final = 4_096
MOST_ABOUT: Final = 20
_PAIRS: Final = (ReviewKind.DISPUTE, ReviewKind.CONTRADICTION)


def dispute_memory(*, actor: Actor, memory_id: UUID, reason: Any) -> tuple[ReviewItem, bool]:
    """Say that a memory is wrong; it stays as it is until a person decides in the review queue.

    The reason is sealed as the memory is. The same reason given again is the same dispute, also when it was decided.

    Args:
        actor: who says so.
        memory_id: which, a live one.
        reason: why, in words; at most 4 KiB.

    Returns:
        The item of the review queue, and whether it is new.

    Raises:
        NotFound: not there or hidden.
        Conflict: `memory.not_live`, it is archived, superseded or being forgotten.
        InvalidInput, TooLarge: the reason is missing or cannot be used.
        PermissionRefused: the actor may not write.
    """
    require_memory()
    actor.require(Permission.WRITE)
    words = limits.checked_text(reason, field="reason", max_bytes=MOST_REASON_BYTES).strip()
    with owner_scope(actor.owner_id):
        row = visible_memory(actor, memory_id)
        if row.status != Status.LIVE:
            raise Conflict("Only what is remembered can be disputed. Restore it first.", code="memory.not_live")
        payload = {"memory": str(row.pk), "words": words}
        target = Target(row.visibility, row.scope, row.group_id)
        item = open_review(
            actor=actor,
            kind=ReviewKind.DISPUTE,
            reason=DISPUTED,
            confidence=0.5,
            payload=payload,
            target=target,
            evidence=[(row.pk, "")],
        )
        if item is not None:
            record(actor=actor.label, verb="dispute", object_kind="memory", object_id=row.pk, reason=DISPUTED, at=now())
            return item, True
        digest = payload_hash(keyring().of(actor.owner_id), ReviewKind.DISPUTE, payload)
        return ReviewItem.objects.get(scope=row.scope, kind=ReviewKind.DISPUTE, payload_hash=digest), False


def doubts_about(*, actor: Actor, memory_id: UUID) -> list[Reviewed]:
    """List disputes of a memory and contradictions in which it stands, decided or not, the newest first; at most 20.

    Raises:
        NotFound: the memory is not there or hidden.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        visible_memory(actor, memory_id)
        about = ReviewEvidence.objects.filter(memory_id=memory_id).values("item_id")
        rows = ReviewItem.objects.filter(pk__in=about, kind__in=_PAIRS)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        return shown(actor, list(rows.order_by("-created_at", "-pk")[:MOST_ABOUT]), at=now())


def uphold(*, actor: Actor, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Archive the memory that a dispute is about, in the caller's transaction; raises Conflict when it is not live."""
    row = Memory.objects.filter(pk=UUID(payload["memory"]), status=Status.LIVE).first()
    if row is None:
        raise Conflict("The memory is no longer there as it was disputed. Nothing was changed.", code="review.gone")
    until = row.valid_until.isoformat() if row.valid_until else None
    done = archive_memory(actor=actor, memory_id=row.pk, reason=DISPUTED)
    return {"older": str(row.pk), "version": done.version, "valid_until": until, "edge": None}


def take_back(*, outcome: Mapping[str, Any], prepared: Prepared | None, moment: datetime) -> None:
    """Bring the memory of a dispute back; raises Conflict when it was changed since or another one says the same."""
    row = Memory.objects.select_for_update().filter(pk=UUID(outcome["older"])).first()
    if row is None or prepared is None or row.status == Status.LIVE:
        return
    if row.status != Status.ARCHIVED or row.version != outcome["version"]:
        raise Conflict(
            "The disputed memory was changed since. Nothing was changed.",
            code="review.changed",
            memory_id=str(row.pk),
        )
    row.status, row.archive_reason, row.archived_at = Status.LIVE, "", None
    row.updated_at = moment
    save_unique(row)
    add_to_indexes(row, prepared.ready, prepared.embedded, moment)
