"""A resource is made once per process, and again in a forked child."""

from __future__ import annotations

import os
import threading

import pytest

from memory.providers.per_process import PerProcess


def test_threads_that_ask_together_share_one_resource() -> None:
    made: list[object] = []
    gate = threading.Barrier(8)

    def make() -> object:
        made.append(object())
        return made[-1]

    holder = PerProcess(make)
    seen: list[object] = []

    def ask() -> None:
        gate.wait()
        seen.append(holder.get())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert seen == made * 8


def test_a_failed_making_is_tried_again() -> None:
    attempts: list[int] = []

    def make() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError
        return "made"

    holder = PerProcess(make)
    with pytest.raises(OSError):
        holder.get()
    assert holder.get() == "made"


def test_taking_leaves_nothing_behind() -> None:
    holder = PerProcess(object)
    first = holder.get()
    assert holder.take() is first
    assert holder.take() is None
    assert holder.get() is not first


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_makes_its_own() -> None:
    holder = PerProcess(os.getpid)
    assert holder.get() == os.getpid()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, str(holder.get()).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        assert int(pipe.read()) == child
    assert holder.get() == os.getpid()
