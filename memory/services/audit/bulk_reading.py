"""Counting what an agent reads of files that hold all of its memories."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from memory.services.actors import Actor
from memory.services.audit.readers import note_reads
from memory.services.clock import now

BATCH: Final = 500


class Reader:
    """Counts memories that are written into a file for an agent as read, some hundred at a time.

    What a person takes along is told by the audit alone.
    """

    def __init__(self, actor: Actor) -> None:
        """Begin a file of an actor."""
        self._actor = actor
        self._ids: list[UUID] = []

    def read(self, memory_id: UUID) -> None:
        """Count a memory; costs no query."""
        if self._actor.agent_id is None:
            return
        self._ids.append(memory_id)
        if len(self._ids) >= BATCH:
            self.finish()

    def finish(self) -> None:
        """Hand on what is counted so far."""
        if self._ids:
            note_reads(self._actor.owner_id, self._ids, reader=self._actor.caller_id, at=now())
            self._ids = []
