"""Memories from which nothing could be drawn: which there are, and trying one of them again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from memory.errors import NotFound
from memory.models import DueWork, ExtractionFailure, Memory, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.memories import visible_memory
from memory.services.opening import opened
from memory.services.writing import call_for_work


def list_failures(*, actor: Actor, after: tuple[datetime, UUID] | None, size: int) -> list[ExtractionFailure]:
    """List extractions that failed, the newest first, of memories that the actor may read."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        rows = ExtractionFailure.objects.all()
        if actor.readable is not None:
            rows = rows.filter(memory__owner_id=actor.owner_id, memory__scope__in=actor.readable)
        if after is not None:
            rows = rows.filter(Q(failed_at__lt=after[0]) | Q(failed_at=after[0], memory_id__lt=after[1]))
        return list(rows.order_by("-failed_at", "-memory_id")[:size])


def failed_memories(*, actor: Actor, failures: Sequence[ExtractionFailure]) -> dict[UUID, Memory]:
    """Give the memories of some failures that the actor may read, with their texts opened."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        rows = Memory.objects.filter(pk__in=[one.memory_id for one in failures])
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable).exclude(status=Status.ERASING)
        return {row.pk: row for row in opened(list(rows))}


def retry_failure(*, actor: Actor, memory_id: UUID) -> ExtractionFailure:
    """Let the next run try a memory again, and call for it; its attempts stay counted.

    Raises:
        NotFound: no such memory here, or its extraction has not failed.
        PermissionRefused, MemoryDisabled: nothing was changed.
    """
    require_memory()
    actor.require(Permission.WRITE)
    moment = now()
    with owner_scope(actor.owner_id):
        visible_memory(actor, memory_id)
        row: ExtractionFailure | None = (
            ExtractionFailure.objects.select_for_update().filter(memory_id=memory_id).first()
        )
        if row is None:
            raise NotFound("The extraction from this memory has not failed.", code="extraction.not_failed")
        ExtractionFailure.objects.filter(memory_id=memory_id).update(next_at=moment)
        row.next_at = moment
        call_for_work(DueWork.CONSOLIDATE, due_at=moment)
        return row
