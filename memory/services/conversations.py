"""Conversations as they went: the turns of a session in order, and what was said beside a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db.models import Q

from memory.errors import NotFound
from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads, rows_of
from memory.services.features import require_memory
from memory.services.opening import opened
from memory.services.sessions import own_sessions

MOST_BESIDE: Final = 10
"""Turns of which the neighbours are given."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A turn with what was said just before and after it, as far as it is there."""

    turn: Memory
    before: Memory | None
    after: Memory | None


@reads("memories", memories=rows_of)
def turns_of(*, actor: Actor, session_id: UUID, since: int = 0, size: int = 50) -> list[Memory]:
    """List the turns of a conversation in their order, whatever became of them, but none that is being forgotten.

    Args:
        actor: who asks: an agent for its own conversations, a person for all of the owner's.
        session_id: which conversation.
        since: the position of the first one, from 0.
        size: most turns.

    Raises:
        NotFound: there is no such conversation here.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        if not own_sessions(actor).filter(pk=session_id).exists():
            raise NotFound("There is no session with this id here.")
        rows = Memory.objects.filter(session_id=session_id, position__gte=since).exclude(status=Status.ERASING)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        return opened(list(rows.order_by("position", "pk")[:size]))


def beside(*, actor: Actor, turn_ids: Sequence[UUID]) -> Mapping[UUID, Beside]:
    """Give turns with their neighbours in the conversation, at most ten, in two statements.

    Those that are not there, are no turns, or that the actor may not read are left out.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        seen = Memory.objects.exclude(status=Status.ERASING)
        if actor.readable is not None:
            seen = seen.filter(scope__in=actor.readable)
        turns = list(seen.filter(pk__in=list(turn_ids)[:MOST_BESIDE], session__isnull=False, position__isnull=False))
        near = Q()
        for turn in turns:
            near |= Q(session_id=turn.session_id, position__in=[(turn.position or 0) - 1, (turn.position or 0) + 1])
        others = opened(list(seen.filter(near))) if turns else []
        placed = {(row.session_id, row.position): row for row in others}
        return {
            turn.pk: Beside(
                turn,
                placed.get((turn.session_id, (turn.position or 0) - 1)),
                placed.get((turn.session_id, (turn.position or 0) + 1)),
            )
            for turn in opened(turns)
        }
