"""Turning what writes bytes into what gives them: a thread of its own writes into a spool, whoever reads it or not.

So no transaction waits for a reader. What a slow reader holds is a file and one of a few places, and both not for long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Final
from uuid import UUID

from django.db import connections

from memory.errors import RateLimited
from memory.services.archive.limits import KIB
from memory.services.archive.sink import Sink
from memory.services.archive.spool import AbandonedError, Spool

MOST_AT_ONCE: Final = 4
"""Files that are given by this process at once, one to each owner."""

PATIENCE_SECONDS: Final = 120.0
"""How long a reader may take for one piece."""

GRACE_SECONDS: Final = 60.0
LEAST_RATE: Final = 32 * KIB
"""Bytes a second that a reader takes on average once all is written, measured after the first minute."""

_RETRY_SECONDS: Final = 60
_LOOK_SECONDS: Final = 0.2

_busy: set[UUID] = set()
_busy_lock = threading.Lock()


def streamed(write: Callable[[Sink], object], *, owner_id: UUID) -> Stream:
    """Give the bytes that a function writes, while it writes them.

    The function runs in a thread of its own with its own database connection, so that its transaction neither depends
    on where and when the pieces are asked for nor touches the caller's. It begins with the first piece that is asked
    for, and ends early when the stream is closed. Once all is written, whoever asks for nothing for two minutes, or for
    less than 32 KiB a second, gets no more.

    Args:
        write: is given where its bytes go.
        owner_id: whose file it is.

    Raises:
        RateLimited: `archive.busy`, this owner is being given a file, or four others are.
    """
    return Stream(write, owner_id)


class Stream(Iterator[bytes]):
    """The pieces of one file; raises whatever the function raised, after the pieces that came before.

    It holds its place among those that are given at once until it has ended or is closed.
    """

    def __init__(self, write: Callable[[Sink], object], owner_id: UUID) -> None:
        """Take a place."""
        self._run: _Run | None = None
        self._ended = False
        self._write, self._place = write, _Place(owner_id)

    def __next__(self) -> bytes:
        """Give the next piece."""
        if self._ended:
            raise StopIteration
        if self._run is None:
            self._run = _Run(self._write, self._place)
        try:
            return self._run.piece()
        except BaseException:
            self._ended = True
            self.close()
            raise

    def close(self) -> None:
        """End the writing and leave the place."""
        if self._run is not None:
            self._run.close()
        self._place.leave()

    def __del__(self) -> None:
        """Close what was forgotten."""
        if hasattr(self, "_place"):
            self.close()


class _Place:
    """One of the places of those that are given a file at once."""

    def __init__(self, owner_id: UUID) -> None:
        with _busy_lock:
            if owner_id in _busy or len(_busy) >= MOST_AT_ONCE:
                raise RateLimited(
                    "A file of yours, or several of others, are being given at this moment. Nothing was written.",
                    code="archive.busy",
                    retry_after=_RETRY_SECONDS,
                )
            _busy.add(owner_id)
        self._owner_id: UUID | None = owner_id

    def leave(self) -> None:
        """Make room; once only, since somebody else may have come."""
        with _busy_lock:
            if self._owner_id is not None:
                _busy.discard(self._owner_id)
            self._owner_id = None


class _Run:
    """A writing under way, and its reader."""

    def __init__(self, write: Callable[[Sink], object], place: _Place) -> None:
        self._spool = Spool()
        self._place = place
        self._done = False
        self._error: BaseException | None = None
        self._asked = time.monotonic()
        self._thread = threading.Thread(target=self._work, args=(write,), name="archive", daemon=True)
        self._thread.start()

    def piece(self) -> bytes:
        while True:
            self._asked = time.monotonic()
            # Looked at first: what was written before the end is there by then.
            done = self._done
            if piece := self._spool.piece(whole=done):
                self._asked = time.monotonic()
                return piece
            if done:
                raise self._error or StopIteration

    def close(self) -> None:
        self._spool.close()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self, write: Callable[[Sink], object]) -> None:
        try:
            write(self._spool)
        except AbandonedError:
            return
        except BaseException as error:
            # Raised again where the pieces are read.
            self._error = error
        finally:
            connections.close_all()
            self._done = True
            self._spool.wake()
        self._watch()

    def _watch(self) -> None:
        """Give up the file and the place of a reader that is too slow."""
        began, read = time.monotonic(), self._spool.read
        while not self._spool.wait(_LOOK_SECONDS):
            moment = time.monotonic()
            due = LEAST_RATE * (moment - began - GRACE_SECONDS)
            if moment - self._asked > PATIENCE_SECONDS or self._spool.read - read < due:
                self._spool.close()
                self._place.leave()
                return
