"""Turning what writes bytes into what gives them: a thread of its own writes, and waits for whoever reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from typing import Final

from django.db import connections

from memory.services.archive.sink import Sink

WAITING: Final = 8
"""Pieces that stand ready at most."""

PATIENCE_SECONDS: Final = 120.0
"""How long a reader may take for one piece before the writing ends: the transaction is open all that time."""

_LOOK_SECONDS: Final = 0.2


class AbandonedError(Exception):
    """Nobody reads any more."""


def streamed(write: Callable[[Sink], object]) -> Iterator[bytes]:
    """Give the bytes that a function writes, as it writes them.

    The function runs in a thread of its own with its own database connection, so that its transaction neither depends
    on where and when the pieces are asked for nor touches the caller's. It begins with the first piece that is asked
    for, and ends early when the iterator is closed or nobody asks for two minutes.

    Raises:
        Exception: whatever the function raised, after the pieces that came before.
    """
    pipe = _Pipe()
    thread = threading.Thread(target=_run, args=(write, pipe), name="archive", daemon=True)
    thread.start()
    try:
        yield from pipe.pieces(thread)
    finally:
        pipe.abandoned.set()
        thread.join()


def _run(write: Callable[[Sink], object], pipe: _Pipe) -> None:
    try:
        write(pipe)
        pipe.end(None)
    except AbandonedError:
        return
    except BaseException as error:
        # Raised again where the pieces are read.
        pipe.end(error)
    finally:
        connections.close_all()


class _Pipe:
    """Takes pieces from one thread and gives them to another."""

    def __init__(self) -> None:
        self._queue: Queue[bytes | None] = Queue(WAITING)
        self._error: BaseException | None = None
        self.abandoned = threading.Event()

    def write(self, data: bytes, /) -> None:
        self._put(data)

    def end(self, error: BaseException | None) -> None:
        self._error = error
        try:
            self._put(None)
        except AbandonedError:
            return

    def _put(self, piece: bytes | None) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not self.abandoned.is_set() and time.monotonic() < until:
            try:
                self._queue.put(piece, timeout=_LOOK_SECONDS)
            except Full:
                continue
            return
        raise AbandonedError

    def pieces(self, thread: threading.Thread) -> Iterator[bytes]:
        while True:
            try:
                piece = self._queue.get(timeout=_LOOK_SECONDS)
            except Empty:
                if thread.is_alive() or not self._queue.empty():
                    continue
                raise AbandonedError("The file was not read in time and is incomplete.") from None
            if piece is not None:
                yield piece
                continue
            if self._error is not None:
                raise self._error
            return
