"""Salience re-rated by a sleep pass: it rises with links and use, never falls, and never passes 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from memory.models import Memory, MemoryAccess
from memory.services.consolidation.connections import Connection

BY_CONNECTION: Final = 0.1
MOST_BY_CONNECTIONS: Final = 0.3
"""Gained in one pass, so that one memory at the middle of a window is not raised to the top at once."""

BY_USE: Final = 0.05


def rerate(present: Mapping[UUID, Memory], connections: Sequence[Connection]) -> int:
    """Raise the salience of memories; call it while they are locked.

    `+0.1` for each link at either end, at most `+0.3`, and `+0.05` where the memory was used since the last pass over
    it (Praxis). Salience never feeds strength, so that a wrong link keeps nothing alive.

    Returns:
        How many memories were raised.
    """
    touching: Counter[UUID] = Counter()
    for one in connections:
        if one.source in present and one.target in present:
            touching.update((one.source, one.target))
    used = dict(MemoryAccess.objects.filter(memory_id__in=present).values_list("memory_id", "last_accessed"))
    raised = 0
    for key in sorted(present):
        row = present[key]
        gain = min(MOST_BY_CONNECTIONS, BY_CONNECTION * touching[key])
        if key in used and (row.slept_at is None or used[key] > row.slept_at):
            gain += BY_USE
        salience = min(1.0, row.salience + gain)
        if salience > row.salience:
            Memory.objects.filter(pk=key).update(salience=salience)
            raised += 1
    return raised
