"""Having the vectors made now that wait, without waiting for their time."""

from __future__ import annotations

from memory.models import DueWork, Memory, PendingVector, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.writing import call_for_work


def embed_all(*, actor: Actor) -> int:
    """Call workers to make every vector that waits, those too that were put off since the embedder failed.

    Asking again while they are at it changes nothing.

    Returns:
        How many wait.

    Raises:
        PermissionRefused: the permission `memory:write` is missing.
    """
    require_memory()
    actor.require(Permission.WRITE)
    moment = now()
    with owner_scope(actor.owner_id):
        waiting = PendingVector.objects.all()
        count = int(waiting.count())
        if count:
            waiting.filter(next_at__gt=moment).update(next_at=moment)
            call_for_work(DueWork.VECTORS, due_at=moment)
        return count


def vectors_waiting(*, actor: Actor) -> int:
    """Count the live memories that wait for their vectors."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        live = Memory.objects.filter(status=Status.LIVE)
        return int(PendingVector.objects.filter(memory__in=live).count())
