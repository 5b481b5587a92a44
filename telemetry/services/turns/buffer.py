"""Turn events that wait in the process and are written in batches by one thread.

At most one batch waits, what is being written included, so that a killed process loses no more than that. Whoever
records when there is no room waits a moment for some; while the database stays away, nobody waits, and what does not
fit is lost and counted.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection

from memory.errors import OwnerPurging
from memory.models import Owner
from telemetry.metrics.counting import increase, set_to
from telemetry.metrics.definitions import EVENTS_DROPPED, EVENTS_RECORDED, EVENTS_WAITING
from telemetry.services.turns.storing import Recorded, Stored, store

logger = logging.getLogger(__name__)

MOST_WAITING: Final = 5_000
AT_ONCE: Final = 1_000
"""Events of one transaction, so that room is made soon."""
WRITE_SECONDS: Final = 0.2
PAUSE_SECONDS: Final = 1.0
"""Between attempts after one that failed."""
PATIENCE_SECONDS: Final = 10.0
"""How long whoever records waits for room."""
MOST_ATTEMPTS: Final = 10
"""Attempts to write events that fail although the database answers."""

Store = Callable[[Sequence[Recorded]], list[Stored]]


@dataclass(frozen=True, slots=True)
class RecordingCounts:
    """What this process has done with events since it began.

    Attributes:
        taken: events that `record` has taken.
        written: of these, new rows.
        duplicates: of these, known under their ids before.
        refused: events that were none, or that came without the permission; nothing of them was kept.
        gone: events whose owner, agent or test was gone when they were to be written.
        lost: events for which there was no room, or which could not be written.
        waiting: events that wait to be written now.
        stalled: whether the last attempt to write has failed.
    """

    taken: int
    written: int
    duplicates: int
    refused: int
    gone: int
    lost: int
    waiting: int
    stalled: bool


def _write(events: Sequence[Recorded]) -> list[Stored]:
    return store(events, waited=True)


class TurnBuffer:
    """Takes events at once and writes them; safe to use from several threads, and empty after a fork."""

    def __init__(self, *, writes_itself: bool = True, write: Store = _write) -> None:
        """Begin empty; the writing thread starts with the first event, unless the owner of the buffer writes."""
        self._writes_itself = writes_itself
        self._write = write
        self._empty()
        if hasattr(os, "register_at_fork"):
            reference = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _forget(reference))

    def _empty(self) -> None:
        self._waiting: deque[Recorded] = deque()
        self._writing = 0
        self._stalled = False
        self._attempts: Counter[UUID] = Counter()
        self._counts: Counter[str] = Counter()
        self._room = threading.Condition()
        self._turn = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def put(self, event: Recorded) -> bool:
        """Take an event; costs no query. Tells whether there was room."""
        with self._room:
            if not self._has_room() and not self._waits_for_room():
                self._count("lost", "full")
                return False
            self._waiting.append(event)
            self._counts["taken"] += 1
            full = len(self._waiting) >= AT_ONCE
            self._has_writer()
        if full:
            self._wake.set()
        return True

    def refuse(self, reason: str) -> None:
        """Count an event that is not taken, under `invalid` or `forbidden`."""
        with self._room:
            self._count("refused", reason)

    def flush(self) -> None:
        """Write what waits now; what the database refuses stays for the next time."""
        with self._turn:
            with self._room:
                number = len(self._waiting)
            while number > 0:
                number -= AT_ONCE
                if not self._write_some():
                    return

    def forget(self, owner_id: UUID) -> None:
        """Drop the events of an owner that wait to be written."""
        with self._room:
            self._waiting = deque(one for one in self._waiting if one.owner_id != owner_id)
            self._room.notify_all()

    def counts(self) -> RecordingCounts:
        """Tell what was done with events."""
        with self._room:
            return RecordingCounts(
                taken=self._counts["taken"],
                written=self._counts["written"],
                duplicates=self._counts["duplicates"],
                refused=self._counts["refused"],
                gone=self._counts["gone"],
                lost=self._counts["lost"],
                waiting=len(self._waiting) + self._writing,
                stalled=self._stalled,
            )

    def _has_writer(self) -> bool:
        """Start the writing thread where there is none, within the lock; tell whether one runs.

        Where the system gives none, events wait until the next one comes, and for the end of the process.
        """
        if not self._writes_itself:
            return False
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name="turn events", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                self._count("without a thread")
                return False
            self._thread = thread
        return True

    def _has_room(self) -> bool:
        return len(self._waiting) + self._writing < MOST_WAITING

    def _waits_for_room(self) -> bool:
        """Wait for room, within the lock; nobody waits for a database that is away, nor holds an event loop up."""
        if self._stalled or _in_event_loop() or not self._has_writer():
            return False
        self._wake.set()
        self._room.wait_for(lambda: self._has_room() or self._stalled, timeout=PATIENCE_SECONDS)
        return self._has_room()

    def _count(self, name: str, reason: str = "") -> None:
        """Count what should not be, and log it the more rarely the more often it comes.

        Args:
            name: what happened.
            reason: why an event was dropped; blank where none was.
        """
        self._counts[name] += 1
        if reason:
            increase(EVENTS_DROPPED, reason)
        if self._counts[name].bit_count() == 1:
            logger.warning("turn events that were %s so far: %d", name, self._counts[name])

    def _write_some(self) -> bool:
        """Write the oldest that wait, owner by owner; tells whether all of them have gone."""
        with self._room:
            batch = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
            self._writing = len(batch)
        kept: list[Recorded] = []
        try:
            while batch:
                owner_id = batch[0].owner_id
                of_owner = [one for one in batch if one.owner_id == owner_id]
                if not self._is_written(owner_id, of_owner):
                    kept += of_owner
                batch = [one for one in batch if one.owner_id != owner_id]
        finally:
            with self._room:
                # Whatever went wrong, nothing is dropped that was not counted.
                self._waiting.extendleft(reversed([*kept, *batch]))
                self._writing, self._stalled = 0, bool(kept)
                set_to(EVENTS_WAITING, len(self._waiting))
                self._room.notify_all()
        return not kept

    def _is_written(self, owner_id: UUID, events: Sequence[Recorded]) -> bool:
        """Write events of one owner; tells whether nothing of them is to be written any more."""
        try:
            if not Owner.objects.filter(pk=owner_id, purging_at=None).exists():
                self._add(gone=len(events))
                return True
            stored = self._write(events)
        except OwnerPurging:
            self._add(gone=len(events))
            return True
        except (OperationalError, InterfaceError) as error:
            logger.warning("turn events wait for the database: %s", type(error).__name__)
            connection.close()
            return False
        except Exception as error:
            # One owner's trouble must not keep the events of others waiting for ever.
            self._attempts[owner_id] += 1
            logger.warning("turn events cannot be written: %s", type(error).__name__)
            if self._attempts[owner_id] < MOST_ATTEMPTS:
                return False
            self._add(lost=len(events))
            logger.exception("turn events of owner %s are lost: %d", owner_id, len(events))
            del self._attempts[owner_id]
            return True
        self._attempts.pop(owner_id, None)
        new = sum(one.created for one in stored)
        gone = sum(one.stream is None for one in stored)
        self._add(written=new, gone=gone, duplicates=len(stored) - new - gone)
        return True

    def _add(self, *, written: int = 0, duplicates: int = 0, gone: int = 0, lost: int = 0) -> None:
        with self._room:
            self._counts.update(written=written, duplicates=duplicates, gone=gone, lost=lost)
        increase(EVENTS_RECORDED, by=written)
        increase(EVENTS_DROPPED, "gone", by=gone)
        increase(EVENTS_DROPPED, "failed", by=lost)

    def _run(self) -> None:
        while True:
            self._wake.wait(WRITE_SECONDS)
            self._wake.clear()
            try:
                self.flush()
            finally:
                connection.close()
            with self._room:
                if not self._waiting:
                    self._thread = None
                    return
                stalled = self._stalled
            if stalled:
                time.sleep(PAUSE_SECONDS)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _forget(reference: weakref.ref[TurnBuffer]) -> None:
    """Leave a parent's events to the parent, with fresh locks: a thread may have held the old ones at the fork."""
    buffer = reference()
    if buffer is not None:
        buffer._empty()
