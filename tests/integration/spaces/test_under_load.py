"""From 384 to 768 dimensions while threads store, change, forget and recall: all recalls answer, nothing is lost."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

import pytest
from django.db import connections

from memory.models import SpaceState
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.retirement import archive_memory, restore_memory
from memory.services.spaces.moving import open_space, retire_space, switch_space
from tests.integration.spaces.looking import (
    NEW,
    OLD,
    active,
    found_by_vectors,
    indexes,
    live,
    quiet,
    space_of,
    states,
    stored,
    with_vector,
    work,
)

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True, databases=["default", "schema"])]

BEFORE = 150
ROUNDS = 25
"""So many times each thread does its work after a switch, at least."""


class Load:
    """Threads that work until they are told to stop; what fails in one is kept."""

    def __init__(self) -> None:
        self.stop = Event()
        self.failures: list[BaseException] = []
        self.done = [0]
        self._lock = Lock()

    def run(self, step: Callable[[int], None]) -> Thread:
        def loop() -> None:
            try:
                for number in itertools.count():
                    if self.stop.is_set():
                        return
                    step(number)
                    with self._lock:
                        self.done[0] += 1
            except BaseException as error:
                self.failures.append(error)
                self.stop.set()
            finally:
                connections.close_all()

        thread = Thread(target=loop)
        thread.start()
        return thread

    def goes_on(self, threads: int) -> None:
        """Wait until every thread can have done some more, or one has failed."""
        wanted = self.done[0] + threads * ROUNDS
        while self.done[0] < wanted and not self.stop.wait(0.01):
            pass
        assert not self.failures, self.failures


@contextmanager
def under_load(*steps: Callable[[int], None]) -> Iterator[Load]:
    load = Load()
    threads = [load.run(step) for step in steps]
    try:
        yield load
    finally:
        load.stop.set()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    assert not load.failures, load.failures


def test_live_switch_there_and_back(make_owner: Callable[..., Actor]) -> None:
    alice, other = make_owner("alice"), make_owner("mallory")
    texts = [f"The heron number {number} stands at the lake." for number in range(BEFORE)]
    first = stored(alice, *texts)
    stored(other, "A quite different sentence.")
    changed = iter(first[:100])

    def recalls(number: int) -> None:
        text = texts[100 + number % 50]
        assert text in found_by_vectors(alice, text)

    def recalls_of_another(number: int) -> None:
        assert found_by_vectors(other, "A quite different sentence.")[0] == "A quite different sentence."

    def writes(number: int) -> None:
        text = f"Boat {number} left the harbour in the morning."
        (memory_id,) = stored(alice, text)
        # What is stored can be recalled at once, in whichever space.
        assert text in found_by_vectors(alice, text)
        if number % 3 == 0:
            archive_memory(actor=alice, memory_id=memory_id)
        if number % 6 == 0:
            restore_memory(actor=alice, memory_id=memory_id)

    def changes(number: int) -> None:
        memory_id = next(changed, None)
        if memory_id is not None:
            change_memory(actor=alice, memory_id=memory_id, changes={"text": f"Changed sentence about {memory_id}."})

    steps = (recalls, recalls_of_another, writes, changes)
    with under_load(*steps) as load:
        open_space(tell=quiet)
        load.goes_on(len(steps))
        assert active().model == OLD
        work()
        load.goes_on(len(steps))
        switched = switch_space(tell=quiet)
        assert (switched.active.model, switched.missing) == (NEW, 0)
        load.goes_on(len(steps))
        work()
        back = switch_space(tell=quiet)
        assert back.active.model == OLD
        load.goes_on(len(steps))
        work()
        switch_space(tell=quiet)
        load.goes_on(len(steps))
    work()
    assert states() == {NEW: SpaceState.ACTIVE, OLD: SpaceState.STANDBY}
    for owner in (alice, other):
        everything = live(owner)
        assert everything
        assert with_vector(owner, NEW) == everything
        assert with_vector(owner, OLD) == everything
    # Through the index, which was made while all of them wrote.
    assert len(indexes(space_of(NEW).pk)) == 16
    with under_load(*steps) as load:
        retire_space(tell=quiet)
        load.goes_on(len(steps))
    assert states() == {NEW: SpaceState.ACTIVE, OLD: SpaceState.RETIRED}
    assert with_vector(alice, OLD) == set()
    assert with_vector(alice, NEW) == live(alice)
    assert indexes(space_of(OLD).pk) == []
