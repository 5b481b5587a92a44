"""What writes and what reads: errors come through, and whoever stops reading stops the writing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from memory.services.archive import streaming
from memory.services.archive.sink import Sink
from memory.services.archive.streaming import AbandonedError, streamed


def writers() -> list[threading.Thread]:
    """List the threads that write."""
    return [thread for thread in threading.enumerate() if thread.name == "archive"]


def endless(sink: Sink) -> None:
    """Write for ever."""
    while True:
        sink.write(b"x")


def test_pieces_come_in_order_and_the_thread_ends() -> None:
    pieces = streamed(lambda sink: [sink.write(bytes([number])) for number in range(100)])
    assert writers() == []
    assert b"".join(pieces) == bytes(range(100))
    assert writers() == []


def test_nothing_begins_before_it_is_asked_for() -> None:
    begun = threading.Event()
    pieces = streamed(lambda sink: begun.set())
    assert not begun.is_set()
    assert list(pieces) == []
    assert begun.is_set()


def test_an_error_comes_after_the_pieces_before_it() -> None:
    def failing(sink: Sink) -> None:
        sink.write(b"one")
        raise RuntimeError("the disk is gone")

    pieces = streamed(failing)
    assert next(pieces) == b"one"
    with pytest.raises(RuntimeError, match="the disk is gone"):
        next(pieces)
    assert writers() == []


def test_whoever_stops_reading_ends_the_writing() -> None:
    pieces = streamed(endless)
    assert next(pieces) == b"x"
    assert len(writers()) == 1
    pieces.close()  # type: ignore[attr-defined]
    assert writers() == []


def test_a_reader_that_is_forgotten_ends_the_writing() -> None:
    pieces = streamed(endless)
    next(pieces)
    del pieces
    assert writers() == []


def test_a_reader_that_waits_too_long_gets_an_incomplete_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PATIENCE_SECONDS", 0.3)
    pieces = streamed(endless)
    next(pieces)
    until(lambda: writers() == [])
    with pytest.raises(AbandonedError):
        list(pieces)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens soon."""
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("It has not happened.")


def test_no_more_than_a_few_pieces_stand_ready() -> None:
    written = []

    def counting(sink: Sink) -> None:
        for number in range(1000):
            sink.write(b"x")
            written.append(number)

    pieces = streamed(counting)
    next(pieces)
    until(lambda: len(written) >= streaming.WAITING)
    assert len(written) <= streaming.WAITING + 2
    assert len(list(pieces)) == 999
