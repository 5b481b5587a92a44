"""Taking memories out of use: archiving, deleting, and what undoes them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Min

from memory.crypto.keyring import keyring
from memory.errors import Conflict
from memory.ids import new_id
from memory.models import DueWork, Memory, MemoryVersion, PurgeSubject, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.announcing import memories_changed
from memory.services.audit.recording import record
from memory.services.changes import add_to_indexes, draft_of, save_unique
from memory.services.clock import now
from memory.services.drafts import make_ready
from memory.services.embedding import embed_texts
from memory.services.erasing import erase_memories
from memory.services.features import require_memory
from memory.services.graph.turn import take_turn, take_turn_for
from memory.services.hidden_places import redacted_text
from memory.services.memories import visible_memory
from memory.services.purge.ledger import note_erased
from memory.services.writing import call_for_work, note_uses, remove_from_indexes

CONTRADICTED: Final = "contradicted"
"""Why a statement is superseded whose place a later one took."""

UNDO: Final = timedelta(seconds=10)
MOST_AT_ONCE: Final = 1_000


def archive_memory(*, actor: Actor, memory_id: UUID, reason: str = "archived", version: int | None = None) -> Memory:
    """Take a memory out of every default read; it can be restored. Without effect when it is archived already.

    Raises:
        NotFound: not there or hidden.
        Conflict: `version` is given and the memory has another one by now.
    """
    require_memory()
    actor.require(Permission.DELETE)
    with owner_scope(actor.owner_id):
        take_turn_for([memory_id], at=now())
        row = visible_memory(actor, memory_id, lock=True)
        _require_version(row, version)
        if row.status != Status.ARCHIVED:
            _retire(row, Status.ARCHIVED, reason)
            _audit(actor, "archive", row, reason)
        return row


def restore_memory(*, actor: Actor, memory_id: UUID) -> Memory:
    """Bring an archived memory back, or one that a contradiction retired, or undo an erasure that has not happened yet.

    It counts as a use. A statement that was retired holds without the end that it got then, and what has expired has no
    end any more; one that was archived after it was retired is history again, and no use.

    Raises:
        NotFound: not there, hidden, or erased.
        Conflict: another live memory says the same now.
    """
    require_memory()
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        row = visible_memory(actor, memory_id)
        if not _restorable(row):
            return row
        if _was_retired(row):
            return _back_to_history(actor, memory_id)
        ready = make_ready(draft_of(row, {}), ring=keyring().of(actor.owner_id))
        ready.redacted = redacted_text(row)
    embedded = embed_texts([ready.embeddable], owner_id=actor.owner_id, agent_id=actor.agent_id)
    moment = now()
    with owner_scope(actor.owner_id):
        take_turn_for([memory_id], at=moment)
        row = visible_memory(actor, memory_id, lock=True)
        if not _restorable(row) or _was_retired(row):
            return row
        _lift_ends(row, actor, moment)
        row.status, row.archived_at, row.archive_reason, row.erase_at = Status.LIVE, None, "", None
        row.updated_at = moment
        save_unique(row)
        add_to_indexes(row, ready, embedded, moment)
        # Who brings a memory back has a use for it, so that time does not take it again the day after.
        note_uses({row.pk: (1, moment)})
        _audit(actor, "restore", row, "")
        return row


def _restorable(row: Memory) -> bool:
    contradicted = row.status == Status.SUPERSEDED and row.archive_reason == CONTRADICTED
    return contradicted or row.status in (Status.ARCHIVED, Status.ERASING)


def _was_retired(row: Memory) -> bool:
    """Tell whether a memory was history before it was archived or deleted."""
    return row.status != Status.SUPERSEDED and row.retracted_at is not None


def _back_to_history(actor: Actor, memory_id: UUID) -> Memory:
    """Make an archived memory the history again that it was, within the owner's scope."""
    row = visible_memory(actor, memory_id, lock=True)
    if not _restorable(row) or not _was_retired(row):
        return row
    latest = MemoryVersion.objects.filter(memory_id=row.pk, reason__in=[CONTRADICTED, "restored"]).order_by("-number")
    reason = latest.values_list("reason", flat=True).first()
    row.archive_reason = CONTRADICTED if reason == CONTRADICTED else "superseded"
    row.status, row.archived_at, row.erase_at, row.updated_at = Status.SUPERSEDED, row.retracted_at, None, now()
    row.save(update_fields=["status", "archived_at", "archive_reason", "erase_at", "updated_at"])
    memories_changed()
    _audit(actor, "restore", row, "")
    return row


def _lift_ends(row: Memory, actor: Actor, moment: datetime) -> None:
    """Take from a memory what would keep it out of use: the end that it got when it was retired, an expiry that has
    passed. Its history keeps both, and who did so.
    """
    former: dict[str, datetime | None] = {}
    if row.status == Status.SUPERSEDED:
        former["valid_until"] = row.valid_until
    if row.expires_at is not None and row.expires_at <= moment:
        former["expires_at"] = row.expires_at
    if not former:
        return
    MemoryVersion.objects.create(
        memory_id=row.pk,
        number=row.version,
        text=row.text,
        changes={name: end.isoformat() if end else None for name, end in former.items()},
        actor=actor.label,
        sealed_for=row.sealing_agent_id,
        scope=row.scope,
        reason="restored",
        created_at=moment,
    )
    if "valid_until" in former:
        row.valid_until, row.retracted_at = _end_before_retirement(row), None
    if "expires_at" in former:
        row.expires_at = None
    row.version += 1


def _end_before_retirement(row: Memory) -> datetime | None:
    retired = MemoryVersion.objects.filter(memory_id=row.pk, reason=CONTRADICTED).order_by("-number").first()
    former = retired.changes.get("valid_until") if retired is not None else None
    return datetime.fromisoformat(former) if former else None


def delete_memory(*, actor: Actor, memory_id: UUID, version: int | None = None) -> Memory:
    """Delete a memory: an agent's delete archives it, a person's erases it after ten seconds, which can be undone.

    Raises:
        NotFound: not there or hidden.
        Conflict: `version` is given and the memory has another one by now.
    """
    require_memory()
    actor.require(Permission.DELETE)
    if not actor.human:
        return archive_memory(actor=actor, memory_id=memory_id, reason="deleted by agent", version=version)
    with owner_scope(actor.owner_id):
        take_turn_for([memory_id], at=now())
        row = visible_memory(actor, memory_id, lock=True)
        _require_version(row, version)
        if row.status != Status.ERASING:
            _retire(row, Status.ERASING, "deleted by person")
            row.erase_at = now() + UNDO
            row.save(update_fields=["erase_at"])
            call_for_work(DueWork.ERASE, due_at=row.erase_at)
            _audit(actor, "delete", row, "")
        return row


def erase_due(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Erase for good what a person deleted and did not bring back, with memories whose only source it was.

    Returns:
        How many memories were erased, and when the next erasure of this owner is due.
    """
    with owner_scope(owner_id):
        erasing = Memory.objects.filter(status=Status.ERASING)
        take_turn(at=at)
        locked = erasing.select_for_update().filter(erase_at__lte=at).order_by("pk")
        act = new_id()
        gone = erase_memories(list(locked.values_list("pk", flat=True)), at=at, actor="person", event_id=act)
        # What a person deleted does not come back with a backup.
        note_erased(owner_id=owner_id, purge_id=act, subject=PurgeSubject.MEMORY, ids=gone, at=at)
        return len(gone), erasing.aggregate(first=Min("erase_at"))["first"]


def archive_expired(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Archive live memories whose time has run out; recall leaves them out before that already.

    Returns:
        How many memories were archived, and when the next one of this owner expires.
    """
    with owner_scope(owner_id):
        live = Memory.objects.filter(status=Status.LIVE, expires_at__isnull=False)
        due = list(live.filter(expires_at__lte=at).order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE])
        take_turn_for(due, at=at)
        rows = list(live.select_for_update().filter(expires_at__lte=at, pk__in=due).order_by("pk"))
        for row in rows:
            _retire(row, Status.ARCHIVED, "expired")
        if rows:
            record(actor="system", verb="archive", object_kind="memory", reason="expired", count=len(rows), at=at)
        return len(rows), live.aggregate(first=Min("expires_at"))["first"]


def _require_version(row: Memory, version: int | None) -> None:
    if version is not None and row.version != version:
        raise Conflict(
            "The memory was changed meanwhile. Nothing was changed; read it again.",
            code="memory.version",
            version=row.version,
        )


def _retire(row: Memory, status: str, reason: str) -> None:
    remove_from_indexes([row.pk])
    row.status, row.archived_at, row.archive_reason = status, now(), reason
    row.updated_at = row.archived_at
    row.save(update_fields=["status", "archived_at", "archive_reason", "updated_at"])


def _audit(actor: Actor, verb: str, row: Memory, reason: str) -> None:
    record(actor=actor.label, verb=verb, object_kind="memory", object_id=row.pk, reason=reason, at=now())
