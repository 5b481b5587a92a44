"""Counting of uses after the answer: gathered in the process and written in batches by one thread."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from memory.services.gathering import Gatherer, Gathering, write_at_end
from memory.services.writing import note_uses

Use = tuple[int, datetime]


def _merged(earlier: Use, later: Use) -> Use:
    return earlier[0] + later[0], max(earlier[1], later[1])


class UseCounter(Gatherer[Use]):
    """Gathers uses of memories and writes them; at most one batch is lost when the process is killed."""

    def __init__(self, *, writes_itself: bool = True) -> None:
        """Begin empty; the writing thread starts with the first use, unless the owner of the counter writes."""
        super().__init__(Gathering("uses of memories", _merged, note_uses), writes_itself=writes_itself)

    def add(self, owner_id: UUID, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        """Count one use of each memory; costs no query."""
        self.gather(owner_id, dict.fromkeys(memory_ids, (1, at)))


_counter = UseCounter()


def reinforce(owner_id: UUID, memory_ids: Sequence[UUID], *, at: datetime) -> None:
    """Count a use of each memory, after the answer."""
    _counter.add(owner_id, memory_ids, at=at)


def flush() -> None:
    """Write all gathered uses now; for shutdown and tests."""
    _counter.flush()


def forget(owner_id: UUID) -> None:
    """Drop the uses of an owner's memories that wait to be written."""
    _counter.forget(owner_id)


write_at_end(flush)
