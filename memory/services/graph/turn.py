"""The owner's turn at the graph: who changes it, or takes memories out of it, waits for all others who do.

Whoever needs both takes the turn first and locks memories, skills and whatever else then; in the other order two could
wait for each other. Taking it raises the graph's version, by which matrices are kept.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection

from memory.models import current_owner

TURN: Final = """
    UPDATE memory_graphstate SET version = version + 1, changed_at = %(at)s WHERE owner_id = %(owner)s
"""
# Each of these goes along an index that begins with the memory.
KNOWN: Final = """
    AND (EXISTS (SELECT FROM memory_entitymention WHERE owner_id = %(owner)s AND memory_id = ANY(%(ids)s::uuid[]))
         OR EXISTS (SELECT FROM memory_memoryedge WHERE owner_id = %(owner)s AND source_id = ANY(%(ids)s::uuid[]))
         OR EXISTS (SELECT FROM memory_memoryedge WHERE owner_id = %(owner)s AND target_id = ANY(%(ids)s::uuid[])))
"""


def take_turn(*, at: datetime) -> None:
    """Wait for the owner's other writers of the graph, before any memory is locked, and raise the graph's version.

    Call it within the owner's scope. Without effect where the owner has no graph yet.
    """
    with connection.cursor() as cursor:
        cursor.execute(TURN, {"at": at, "owner": current_owner()})


def take_turn_for(memory_ids: Collection[UUID], *, at: datetime) -> None:
    """Take the turn if some memories have mentions or links, before they are locked to go, come back or change hands.

    Where the graph says nothing of them nobody waits and the version stays. One of which the graph speaks for the first
    time at this very moment is missed; a matrix that has it is read anew within minutes, and recall looks at the row.

    Args:
        memory_ids: memories of the current owner.
        at: the moment that counts as now.
    """
    if not memory_ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(f"{TURN} {KNOWN}", {"at": at, "owner": current_owner(), "ids": list(memory_ids)})
