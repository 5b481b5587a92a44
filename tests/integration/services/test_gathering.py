"""Rows gathered in the process: written by one thread, kept while the database is away, and not doubled by a fork."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import DatabaseError, connection

from memory.ids import new_id
from memory.models import Memory, MemoryAccess, owner_scope
from memory.models.tenancy import current_owner
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.gathering import Gatherer, Gathering
from memory.services.reinforcement import UseCounter
from memory.services.remember import remember

AT = datetime(2026, 3, 1, tzinfo=UTC)


class Ledger:
    """Writes into a list, as long as it is not away."""

    def __init__(self) -> None:
        self.away = False
        self.written: list[tuple[UUID, Mapping[UUID, int]]] = []

    def write(self, rows: Mapping[UUID, int]) -> None:
        if self.away:
            raise DatabaseError
        assert connection.in_atomic_block
        self.written.append((current_owner(), dict(rows)))


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def gatherer(ledger: Ledger, **given: int) -> Gatherer[int]:
    return Gatherer(Gathering("numbers", lambda old, new: old + new, ledger.write, **given), writes_itself=False)


@pytest.mark.django_db
class TestGathering:
    def test_what_the_database_refuses_is_merged_with_what_comes_later(self, alice: Actor, ledger: Ledger) -> None:
        row, other = new_id(), new_id()
        made = gatherer(ledger)
        made.gather(alice.owner_id, {row: 1})
        ledger.away = True
        made.flush()
        made.gather(alice.owner_id, {row: 2, other: 5})
        ledger.away = False
        made.flush()
        made.flush()
        assert ledger.written == [(alice.owner_id, {row: 3, other: 5})]

    def test_one_owner_does_not_hold_up_another(self, alice: Actor, mallory: Actor, ledger: Ledger) -> None:
        class Picky(Ledger):
            def write(self, rows: Mapping[UUID, int]) -> None:
                if current_owner() == alice.owner_id:
                    raise DatabaseError
                super().write(rows)

        picky = Picky()
        made = gatherer(picky)
        for owner in (alice, mallory):
            made.gather(owner.owner_id, {new_id(): 1})
        made.flush()
        assert [owner_id for owner_id, _ in picky.written] == [mallory.owner_id]

    def test_more_than_may_wait_are_dropped_and_that_is_said(
        self, alice: Actor, ledger: Ledger, caplog: pytest.LogCaptureFixture
    ) -> None:
        made = gatherer(ledger, most=3)
        for number in range(5):
            made.gather(alice.owner_id, {new_id(): number})
        made.flush()
        assert sorted(ledger.written[0][1].values()) == [0, 1, 2]
        assert "numbers are dropped: 3 wait" in caplog.text

    def test_the_oldest_of_one_owner_make_room(self, alice: Actor, mallory: Actor, ledger: Ledger) -> None:
        made = gatherer(ledger, most_of_one=2)
        made.gather(mallory.owner_id, {new_id(): 9})
        for number in range(5):
            made.gather(alice.owner_id, {new_id(): number})
        made.flush()
        assert [sorted(rows.values()) for _, rows in ledger.written] == [[9], [3, 4]]

    def test_a_forked_child_leaves_the_rows_to_its_parent(self, alice: Actor, ledger: Ledger) -> None:
        made = gatherer(ledger)
        made.gather(alice.owner_id, {new_id(): 1})
        with made._lock:
            child = os.fork()
            if child == 0:
                # The parent's lock is held, and its rows are its own.
                free = made._lock.acquire(timeout=5)
                os._exit(0 if free and not made._waiting and made._count == 0 else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        made.flush()
        assert len(ledger.written) == 1


@pytest.mark.django_db(transaction=True)
def test_the_thread_writes_by_itself_and_ends_when_nothing_waits(alice: Actor) -> None:
    memory_id = remember(actor=alice, draft=Draft(text="Tea.")).memory_id
    counter = UseCounter()
    for _ in range(3):
        counter.add(alice.owner_id, [memory_id], at=AT)
    thread = counter._thread
    if thread is not None:
        thread.join(20)
        assert not thread.is_alive()
    with owner_scope(alice.owner_id):
        assert Memory.objects.count() == 1
        assert MemoryAccess.objects.get().access_count == 3
