"""What writes and what reads: errors come through, and whoever stops reading stops the writing."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from uuid import UUID

import pytest

from memory.errors import RateLimited, TooLarge
from memory.ids import new_id
from memory.services.archive import spool, streaming
from memory.services.archive.sink import Sink
from memory.services.archive.spool import AbandonedError, Spool
from memory.services.archive.streaming import Stream


def writers() -> list[threading.Thread]:
    """List the threads that write."""
    return [thread for thread in threading.enumerate() if thread.name == "archive"]


def endless(sink: Sink) -> None:
    """Write for ever, slowly."""
    while True:
        sink.write(b"x")
        time.sleep(0.001)


def streamed(write: Callable[[Sink], object], owner_id: UUID | None = None) -> Stream:
    """Give what a function writes to an owner of whom nothing else is asked."""
    return streaming.streamed(write, owner_id=owner_id or new_id())


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
    assert next(pieces).startswith(b"x")
    assert len(writers()) == 1
    pieces.close()
    assert writers() == []


def test_a_reader_that_is_forgotten_ends_the_writing() -> None:
    pieces = streamed(endless)
    next(pieces)
    del pieces
    assert writers() == []


@pytest.mark.parametrize(
    ("bound", "value"), [("PATIENCE_SECONDS", 0.3), ("GRACE_SECONDS", -1e9)], ids=["no piece", "too slow"]
)
def test_a_reader_that_waits_too_long_gets_an_incomplete_file(
    monkeypatch: pytest.MonkeyPatch, bound: str, value: float
) -> None:
    monkeypatch.setattr(streaming, bound, value)
    owner_id = new_id()
    pieces = streamed(lambda sink: sink.write(bytes(1_000_000)), owner_id)
    next(pieces)
    until(lambda: writers() == [])
    streamed(endless, owner_id).close()
    with pytest.raises(AbandonedError):
        list(pieces)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens soon."""
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("It has not happened.")


def test_the_writing_waits_for_no_reader() -> None:
    done = threading.Event()

    def writing(sink: Sink) -> None:
        for _ in range(200):
            sink.write(bytes(100_000))
        done.set()

    pieces = streamed(writing)
    first = next(pieces)
    until(done.is_set)
    assert len(first) + sum(len(piece) for piece in pieces) == 20_000_000


def test_an_owner_is_given_one_file_at_a_time_and_a_few_at_most_are() -> None:
    owner_id = new_id()
    held = [streamed(endless, owner_id), *(streamed(endless) for _ in range(streaming.MOST_AT_ONCE - 1))]
    for pieces in held:
        next(pieces)
    with pytest.raises(RateLimited) as refused:
        streamed(endless)
    assert refused.value.machine_code == "archive.busy"
    assert refused.value.details["retry_after"] > 0
    held.pop().close()
    with pytest.raises(RateLimited):
        streamed(endless, owner_id)
    held[0].close()
    held[0].close()
    assert list(streamed(lambda sink: sink.write(b"x"), owner_id)) == [b"x"]
    for pieces in held:
        pieces.close()
    assert writers() == []


def test_nothing_stands_on_the_disk_in_clear() -> None:
    made = Spool()
    made.write(b"a plain word" * 1000)
    number = made._file.fileno()
    assert os.fstat(number).st_nlink == 0
    assert os.fstat(number).st_mode & 0o777 == 0o600
    assert b"plain" not in os.pread(number, 12_000, 0)
    assert made.piece(whole=True) == b"a plain word" * 1000
    made.close()


def test_a_file_has_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_BYTES", 1000)
    with pytest.raises(TooLarge) as refused:
        list(streamed(lambda sink: [sink.write(b"x" * 100) for _ in range(11)]))
    assert refused.value.machine_code == "archive.no_room"
