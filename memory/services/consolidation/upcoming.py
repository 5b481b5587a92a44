"""What the next runs of consolidation will do: which groups of stages are due when, and what waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.models import owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.consolidation.cadence import due_times
from memory.services.consolidation.groups import Group
from memory.services.consolidation.situation import look
from memory.services.consolidation.window import waiting_scopes
from memory.services.features import require_memory
from memory.services.settings import current_settings


@dataclass(frozen=True, slots=True)
class Upcoming:
    """What waits for an owner's consolidation.

    Attributes:
        due: the moment at which each group is due; a group that is not there has nothing to do or is switched off.
        not_before: after an error, no run begins by itself before this moment; None otherwise.
        unslept: memories that no sleep pass has looked at.
        turns: turns since the last run that drew from them.
    """

    due: dict[Group, datetime]
    not_before: datetime | None
    unslept: int
    turns: int


def upcoming(*, actor: Actor) -> Upcoming:
    """Tell what is due when; for persons, since it counts over everything of the owner."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        situation = look(current_settings()["values"])
        unslept = sum(rows for _scope, rows in waiting_scopes(now()))
        return Upcoming(due_times(situation), situation.not_before, unslept, situation.turns)
