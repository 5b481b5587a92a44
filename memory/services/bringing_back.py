"""Bringing archived memories back together: some that are named, or all that one run or purge has taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidInput, LociError, NotFound
from memory.graph.labels import SINGLE_VALUED
from memory.models import AuditEvent, Memory, Relation, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.writing import change_graph
from memory.services.retirement import restore_memory

MOST_AT_ONCE: Final = 500


@dataclass(slots=True)
class BroughtBack:
    """What came back: memories and relations, those that could not with the reason, and whether there is more.

    `next` is the last memory that was tried, after which the rest follows, where there is more.
    """

    restored: int = 0
    relations: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    more: bool = False
    next: UUID | None = None


def restore_memories(*, actor: Actor, memory_ids: Sequence[UUID]) -> BroughtBack:
    """Restore archived memories, each for itself; one that cannot come back does not keep the others from it.

    Args:
        actor: who restores them.
        memory_ids: between 1 and 500; live ones count as restored.

    Raises:
        InvalidInput: none or too many.
    """
    require_memory()
    actor.require(Permission.WRITE)
    if not 1 <= len(memory_ids) <= MOST_AT_ONCE:
        raise InvalidInput(f"Between 1 and {MOST_AT_ONCE} at once.", code="batch.size", field="ids")
    found = BroughtBack()
    for memory_id in dict.fromkeys(memory_ids):
        try:
            restore_memory(actor=actor, memory_id=memory_id)
        except LociError as error:
            if error.status >= 500:
                raise
            found.refused.append(
                {"id": str(memory_id), "status": error.status, "code": error.machine_code, "detail": error.message}
            )
        else:
            found.restored += 1
    return found


def restore_run(*, actor: Actor, run_id: UUID, after: UUID | None = None) -> BroughtBack:
    """Bring back what a run of consolidation or a purge has archived, and the relations that it has let go.

    At most 500 memories are tried at once, the oldest first; while there are more, ask again with `after`, so that
    those which cannot come back do not keep the rest from it. A memory that says what another live one says by now
    stays in the archive, and so does a relation that has been replaced.

    Args:
        actor: who restores them.
        run_id: of the run or purge.
        after: the `next` of the answer before; from the first one on when left out.

    Raises:
        NotFound: `archive.unknown`, no run or purge of this id has taken anything that is still known of.
    """
    require_memory()
    actor.require(Permission.WRITE)
    with owner_scope(actor.owner_id):
        events = list(AuditEvent.objects.filter(object_id=run_id, verb__in=["archive", "retract"]))
        if not events:
            raise NotFound("Nothing was archived under this id.", code="archive.unknown")
        taken = Memory.objects.filter(
            status=Status.ARCHIVED,
            archived_at__in={event.created_at for event in events if event.object_kind == "memory"},
            archive_reason__in={event.reason for event in events},
        )
        if actor.readable is not None:
            taken = taken.filter(scope__in=actor.readable)
        if after is not None:
            taken = taken.filter(pk__gt=after)
        ids = list(taken.order_by("pk").values_list("pk", flat=True)[: MOST_AT_ONCE + 1])
    found = restore_memories(actor=actor, memory_ids=ids[:MOST_AT_ONCE]) if ids else BroughtBack()
    found.more = len(ids) > MOST_AT_ONCE
    found.next = ids[MOST_AT_ONCE - 1] if found.more else None
    moments = {event.created_at for event in events if event.object_kind == "relation"}
    found.relations = _believe_again(actor, moments, run_id)
    return found


def restore_whole_run(*, actor: Actor, run_id: UUID) -> BroughtBack:
    """Bring back all that a run of consolidation or a purge has archived, 500 after 500; raises as `restore_run`.

    Args:
        actor: who restores them.
        run_id: of the run or purge.
    """
    total = BroughtBack(more=True)
    while total.more:
        found = restore_run(actor=actor, run_id=run_id, after=total.next)
        total.restored += found.restored
        total.relations += found.relations
        total.refused += found.refused
        total.more, total.next = found.more, found.next
    return total


def _believe_again(actor: Actor, moments: set[datetime], run_id: UUID) -> int:
    """Take back that relations were taken out of belief, unless something else holds in their place by now."""
    if not moments:
        return 0
    moment = now()
    with change_graph(actor, now=moment):
        rows = Relation.objects.filter(retracted_at__in=moments, valid_until=None)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        back = 0
        for row in rows.order_by("pk"):
            if not _replaced(row):
                row.retracted_at, row.last_seen = None, moment
                row.save(update_fields=["retracted_at", "last_seen"])
                back += 1
        if back:
            record(
                actor=actor.label,
                verb="restore",
                object_kind="relation",
                object_id=run_id,
                count=back,
                at=moment,
            )
        return back


def _replaced(row: Relation) -> bool:
    standing = Relation.objects.filter(
        scope=row.scope, source_id=row.source_id, label_hash=row.label_hash, retracted_at=None, valid_until=None
    )
    if row.label not in SINGLE_VALUED:
        standing = standing.filter(target_id=row.target_id)
    return bool(standing.exists())
