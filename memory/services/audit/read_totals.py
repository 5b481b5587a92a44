"""How much each agent has read, over all memories that are still there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Max, Sum

from memory.models import MemoryRead, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.access_log import agent_names

MOST_READERS: Final = 200


@dataclass(frozen=True, slots=True)
class ReadTotal:
    """What one agent has read: different memories, times in all, and when last; no name where the agent is gone."""

    agent_id: UUID
    name: str | None
    memories: int
    reads: int
    last_at: datetime


def read_totals(*, actor: Actor) -> list[ReadTotal]:
    """Add up reads by agent, the latest first; raises PermissionRefused without `privacy:manage`."""
    actor.require(Permission.PRIVACY)
    with owner_scope(actor.owner_id):
        rows = (
            MemoryRead.objects.exclude(reader=actor.owner_id)
            .values("reader")
            .annotate(memories=Count("memory_id"), times=Sum("reads"), last=Max("last_at"))
            .order_by("-last")[:MOST_READERS]
        )
        found = [(row["reader"], row["memories"], row["times"], row["last"]) for row in rows]
        names = agent_names({reader for reader, *_ in found})
    return [ReadTotal(reader, names.get(reader), memories, times, last) for reader, memories, times, last in found]
