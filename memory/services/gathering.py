"""Rows of owners that are gathered in the process and written in batches by one thread, after the answer.

What is written so costs its caller no query, and does not go back with the caller's transaction.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from uuid import UUID

from django.db import DatabaseError, connection

from memory.errors import KeysUnavailable, OwnerPurging
from memory.models import Owner, owner_scope

logger = logging.getLogger(__name__)

V = TypeVar("V")

FLUSH_COUNT: Final = 500

_writers: list[Callable[[], None]] = []


@dataclass(frozen=True, slots=True)
class Gathering(Generic[V]):
    """How rows of one sort are gathered.

    Attributes:
        what: what they are, for the log.
        merge: makes one value of an earlier and a later one of the same row.
        write: writes an owner's rows, within the owner's scope; it may be repeated with the same rows.
        seconds: how long they wait at most.
        most: how many may wait while the database stays away; more are dropped, and that is logged.
        most_of_one: how many of one owner may wait; the oldest make room.
    """

    what: str
    merge: Callable[[V, V], V]
    write: Callable[[Mapping[UUID, V]], None]
    seconds: float = 1.0
    most: int = 100_000
    most_of_one: int = 100_000


class Gatherer(Generic[V]):
    """Gathers rows and writes them; what waits is lost when the process is killed."""

    def __init__(self, gathering: Gathering[V], *, writes_itself: bool = True) -> None:
        """Begin empty; the writing thread starts with the first row, unless the owner of the gatherer writes."""
        self._gathering = gathering
        self._writes_itself = writes_itself
        self._empty()
        if hasattr(os, "register_at_fork"):
            reference = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _forget(reference))

    def _empty(self) -> None:
        self._waiting: dict[UUID, dict[UUID, V]] = defaultdict(dict)
        self._count = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def gather(self, owner_id: UUID, rows: Mapping[UUID, V]) -> None:
        """Take rows of an owner; costs no query."""
        if not rows:
            return
        with self._lock:
            if self._count >= self._gathering.most:
                logger.warning("%s are dropped: %d wait for the database", self._gathering.what, self._count)
                return
            self._take(owner_id, rows)
            if self._writes_itself and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._run, name=self._gathering.what, daemon=True)
                self._thread.start()
        if self._count >= FLUSH_COUNT:
            self._wake.set()

    def flush(self) -> None:
        """Write what has been gathered, now; what the database refuses stays for the next time.

        Rows of an owner who is being erased, or is gone, are dropped.
        """
        with self._lock:
            batch, self._waiting, self._count = self._waiting, defaultdict(dict), 0
        for owner_id, rows in batch.items():
            try:
                with owner_scope(owner_id):
                    if Owner.objects.filter(pk=owner_id).exists():
                        self._gathering.write(rows)
            except OwnerPurging:
                continue
            except (DatabaseError, KeysUnavailable) as error:
                logger.warning("%s wait for the database: %s", self._gathering.what, type(error).__name__)
                with self._lock:
                    newer = self._waiting.pop(owner_id, {})
                    self._count -= len(newer)
                    self._take(owner_id, rows)
                    self._take(owner_id, newer)

    def forget(self, owner_id: UUID) -> None:
        """Drop an owner's rows that wait to be written."""
        with self._lock:
            self._count -= len(self._waiting.pop(owner_id, {}))

    def _take(self, owner_id: UUID, rows: Mapping[UUID, V]) -> None:
        waiting = self._waiting[owner_id]
        before = len(waiting)
        for row_id, value in rows.items():
            waiting[row_id] = self._gathering.merge(waiting[row_id], value) if row_id in waiting else value
        while len(waiting) > self._gathering.most_of_one:
            waiting.pop(next(iter(waiting)))
        self._count += len(waiting) - before

    def _run(self) -> None:
        while True:
            self._wake.wait(self._gathering.seconds)
            self._wake.clear()
            try:
                self.flush()
            finally:
                connection.close()
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return


def write_at_end(flush: Callable[[], None]) -> None:
    """Let a function write what waits when the process ends, and whenever `write_gathered` is called."""
    _writers.append(flush)
    atexit.register(flush)


def write_gathered() -> None:
    """Write all that waits in this process.

    For the ends that Python's own exit does not see: that of a job, whose process may be ended by the queue, and that
    of the web process, which ends by a signal.
    """
    for flush in _writers:
        flush()


def _forget(reference: weakref.ref[Gatherer[V]]) -> None:
    """Leave a parent's rows to the parent, with a fresh lock: a thread may have held the old one at the fork."""
    gatherer = reference()
    if gatherer is not None:
        gatherer._empty()
