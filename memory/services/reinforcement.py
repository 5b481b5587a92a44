"""Counting of uses after the answer: gathered in the process and written in batches by one thread."""

from __future__ import annotations

import atexit
import logging
import threading
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import DatabaseError, connection

from memory.models import owner_scope
from memory.services.writing import note_uses

logger = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 1.0
FLUSH_COUNT: Final = 500
# Uses are dropped, and that is logged, when the database stays away for so long that this many wait.
MOST_WAITING: Final = 100_000


class UseCounter:
    """Gathers uses of memories and writes them; at most one batch is lost when the process is killed."""

    def __init__(self, *, writes_itself: bool = True) -> None:
        """Begin empty; the writing thread starts with the first use, unless the owner of the counter writes."""
        self._writes_itself = writes_itself
        self._waiting: dict[UUID, dict[UUID, tuple[int, datetime]]] = defaultdict(dict)
        self._count = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, owner_id: UUID, memory_ids: Sequence[UUID], *, at: datetime) -> None:
        """Count one use of each memory; costs no query."""
        if not memory_ids:
            return
        with self._lock:
            if self._count >= MOST_WAITING:
                logger.warning("uses of memories are dropped: %d wait for the database", self._count)
                return
            waiting = self._waiting[owner_id]
            for memory_id in memory_ids:
                count, _ = waiting.get(memory_id, (0, at))
                waiting[memory_id] = (count + 1, at)
            self._count += len(memory_ids)
            if self._writes_itself and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name="reinforcement", daemon=True)
                self._thread.start()
        if self._count >= FLUSH_COUNT:
            self._wake.set()

    def flush(self) -> None:
        """Write what has been gathered, now; what the database refuses stays for the next time."""
        with self._lock:
            batch, self._waiting, self._count = self._waiting, defaultdict(dict), 0
        for owner_id, uses in batch.items():
            try:
                with owner_scope(owner_id):
                    note_uses(uses)
            except DatabaseError as error:
                logger.warning("uses of memories wait for the database: %s", type(error).__name__)
                with self._lock:
                    for memory_id, use in uses.items():
                        self._waiting[owner_id].setdefault(memory_id, use)
                    self._count += len(uses)

    def _run(self) -> None:
        while True:
            self._wake.wait(FLUSH_SECONDS)
            self._wake.clear()
            try:
                self.flush()
            finally:
                connection.close()
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return


_counter = UseCounter()
atexit.register(lambda: _counter.flush())


def reinforce(owner_id: UUID, memory_ids: Sequence[UUID], *, at: datetime) -> None:
    """Count a use of each memory, after the answer."""
    _counter.add(owner_id, memory_ids, at=at)


def flush() -> None:
    """Write all gathered uses now; for shutdown and tests."""
    _counter.flush()
