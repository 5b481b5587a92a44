"""Telling open pages that something of the current owner has changed: once in a transaction, however much of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from memory.models import current_owner
from memory.ports.live import announce_change

MEMORIES: Final = "memories"
"""The sort of memories that came, changed, were put away or erased."""

CONSOLIDATION: Final = "consolidation"
"""The sort of runs of consolidation: asked for, begun, a stage further, ended."""

REVIEWS: Final = "reviews"
"""The sort of doubts that wait for a person, or were decided."""


@dataclass(frozen=True, slots=True)
class _Announced:
    """What stands among the things to do after a commit for as long as an announcement counts.

    Django forgets it with the savepoint or transaction whose rollback also takes the announcement back.
    """

    change: tuple[UUID, str, str, int]

    def __call__(self) -> None:
        """Do nothing: the announcement travels with the commit itself."""


def memories_changed() -> None:
    """Announce that memories of the current owner came, changed, were put away or erased."""
    _once(MEMORIES)


def reviews_changed() -> None:
    """Announce that doubts were put before the owner, decided or forgotten."""
    _once(REVIEWS)


def run_changed(run_id: UUID, *, stages_done: int = 0) -> None:
    """Announce how far a run of consolidation is.

    Args:
        run_id: which run.
        stages_done: how many of its stages have a report.
    """
    _once(CONSOLIDATION, str(run_id), stages_done)


def _once(sort: str, object_id: str = "", version: int = 0) -> None:
    announced = _Announced((current_owner(), sort, object_id, version))
    if any(waiting[1] == announced for waiting in connection.run_on_commit):
        return
    announce_change(*announced.change)
    transaction.on_commit(announced)
