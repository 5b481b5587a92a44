"""Consolidate what the bench has stored, as the background work does, and say what each new memory was drawn from."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from memory.models import MemorySource, RunState, RunTrigger, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation

GROUPS: Final = (Group.KNOWLEDGE, Group.COMMUNITIES)
SECONDS: Final = 600.0
MOST_RUNS: Final = 1_000


def consolidate(actor: Actor) -> int:
    """Draw from everything that an owner has stored, by the shipped rules, and divide the graph.

    Returns:
        How many runs it took, each of which reads a bounded number of bytes.

    Raises:
        RuntimeError: a run failed or nothing comes of them.
    """
    for number in range(1, MOST_RUNS + 1):
        run = run_consolidation(owner_id=actor.owner_id, trigger=RunTrigger.HAND, groups=GROUPS, seconds=SECONDS)
        if run is None or run.state != RunState.DONE or run.failed_writes:
            raise RuntimeError(f"consolidation ended as {run.state if run else 'busy'}")
        if not run.backlog_rows:
            return number
        if not run.rows_seen:
            break
    raise RuntimeError("consolidation leaves a backlog")


def drawn_from(actor: Actor) -> dict[UUID, list[UUID]]:
    """Give for each memory that consolidation has made the turns that it was drawn from."""
    found: dict[UUID, list[UUID]] = {}
    with owner_scope(actor.owner_id):
        sources = MemorySource.objects.filter(turn_id__isnull=False).order_by("memory_id", "turn_id")
        for memory_id, turn_id in sources.values_list("memory_id", "turn_id"):
            found.setdefault(memory_id, []).append(turn_id)
    return found
