"""Whoever writes while a purge begins or runs: waited for, or refused, and never left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import close_old_connections, connection

from memory.errors import OwnerPurging
from memory.models import Owner, Purge, PurgeState, RunTrigger, owner_scope
from memory.services import reinforcement
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.consolidation.order import Group, Step
from memory.services.consolidation.runner import run_consolidation
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.drafts import Draft
from memory.services.due_work import run_due_work
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from tests.integration.purge.everything import everything_stored

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

PATIENCE = 30.0


def test_a_writer_that_began_before_is_waited_for(alice: Actor) -> None:
    written, may_end = threading.Event(), threading.Event()

    def write() -> None:
        with owner_scope(alice.owner_id):
            remember(actor=alice, draft=Draft(text="Written before, committed after."))
            written.set()
            assert may_end.wait(PATIENCE)

    with running(write), running(lambda: begin_purge(actor=alice), after=written) as beginning:
        until(lambda: waits_for_lock() or not beginning.is_alive())
        assert not Purge.objects.exists(), "the purge begins when the writer has ended"
        may_end.set()

    purge = Purge.objects.get()
    run_purge(purge_id=purge.pk)
    nothing_is_left(alice)


def test_a_writer_that_was_inside_already_is_waited_for_before_rows_go(alice: Actor) -> None:
    inside, may_write = threading.Event(), threading.Event()

    def write() -> None:
        with owner_scope(alice.owner_id):
            inside.set()
            assert may_write.wait(PATIENCE)
            # It came in before the door was closed, and is not asked again.
            remember(actor=alice, draft=Draft(text="Written after, from inside."))

    stages: list[str] = []
    with running(write):
        assert inside.wait(PATIENCE)
        made = begin_purge(actor=alice)
        with running(lambda: run_purge(purge_id=made.purge.pk, after_step=stages.append)):
            until(lambda: "settle" in stages)
            time.sleep(0.3)
            assert stages[-1] == "settle"
            may_write.set()

    done = Purge.objects.get(pk=made.purge.pk)
    assert done.state == PurgeState.DONE
    assert done.receipt is not None
    assert done.receipt["erased"]["memories"] == 1
    nothing_is_left(alice)


def test_writers_are_refused_during_and_after(alice: Actor, mallory: Actor) -> None:
    made = begin_purge(actor=alice)
    refused = 0

    def write(step: str) -> None:
        nonlocal refused
        with pytest.raises(OwnerPurging):
            remember(actor=alice, draft=Draft(text="too late"))
        refused += 1
        if refused % 20 == 0:
            remember(actor=mallory, draft=Draft(text=f"Nothing keeps me from writing, {step}."))

    # Until the owner's row has gone.
    run_purge(purge_id=made.purge.pk, after_step=write)

    assert refused > 60
    with pytest.raises(Exception, match=r"keys|memory_owner|foreign key"):
        remember(actor=alice, draft=Draft(text="much too late"))
    nothing_is_left(alice)


def test_gathered_uses_and_due_work_of_a_closed_owner_keep_nobody_waiting(alice: Actor, mallory: Actor) -> None:
    used = [(owner, remember(actor=owner, draft=Draft(text="Used.")).memory_id) for owner in (alice, mallory)]
    made = begin_purge(actor=alice)
    for owner, memory_id in used:
        reinforcement.reinforce(owner.owner_id, [memory_id], at=now())

    reinforcement.flush()
    run_due_work()
    run_purge(purge_id=made.purge.pk)
    reinforcement.flush()

    with owner_scope(mallory.owner_id), connection.cursor() as cursor:
        cursor.execute("SELECT sum(access_count) FROM memory_memoryaccess WHERE owner_id = %s", [mallory.owner_id])
        assert cursor.fetchone() == (1,)
    nothing_is_left(alice)


def test_a_consolidation_under_way(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Ann decided to go.", kind="decision"))

    def work(context: StageContext) -> list[StageReport]:
        begin_purge(actor=alice)
        remember(actor=context.actor, draft=Draft(text="Drawn too late."))
        return [StageReport("knowledge")]

    with pytest.raises(OwnerPurging):
        run_consolidation(
            owner_id=alice.owner_id,
            trigger=RunTrigger.SCHEDULE,
            groups=[Group.KNOWLEDGE],
            steps=(Step("knowledge", Group.KNOWLEDGE, work),),
        )

    purge = Purge.objects.get()
    done = run_purge(purge_id=purge.pk)
    assert done.receipt is not None
    assert done.receipt["erased"]["consolidation_runs"] == 1
    nothing_is_left(alice)


def nothing_is_left(owner: Actor) -> None:
    """See that no row of an owner is left."""
    assert not Owner.objects.filter(pk=owner.owner_id).exists()
    assert str(owner.owner_id) not in "\n".join(everything_stored(owner.owner_id))


@contextmanager
def running(work: Callable[[], object], *, after: threading.Event | None = None) -> Iterator[threading.Thread]:
    """Do something in a thread while the block runs, and wait for its end; its error fails the test."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            if after is not None:
                assert after.wait(PATIENCE)
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(PATIENCE)
        close_old_connections()
    assert not thread.is_alive()
    assert not errors, errors


def until(happened: Callable[[], bool]) -> None:
    """Wait until something has happened."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def waits_for_lock() -> bool:
    """Tell whether some connection waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
            " WHERE NOT l.granted AND a.datname = current_database())"
        )
        return bool(cursor.fetchone()[0])
