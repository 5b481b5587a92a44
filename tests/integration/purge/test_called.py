"""Workers are called for purges: at once, again and again while one waits, and once a minute in any case."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django_q.models import OrmQ, Schedule

from memory import tasks
from memory.errors import Conflict
from memory.models import Owner, Purge, PurgeState, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.job_runs import JobError
from memory.services.jobs import RUN_PURGES, Waker, ensure_schedules
from memory.services.purge import requests
from memory.services.purge.requests import begin_purge, request_purge
from memory.services.purge.runner import purge_is_due
from memory.services.remember import remember

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def queued() -> list[str]:
    return [row.func() for row in OrmQ.objects.all()]


def test_a_request_calls_the_workers_once_it_stands(alice: Actor) -> None:
    with transaction.atomic():
        begin_purge(actor=alice)
        assert queued() == []
    assert queued() == [RUN_PURGES]


def test_the_worker_calls_while_a_purge_waits(alice: Actor) -> None:
    waker = Waker(is_due=purge_is_due, task=RUN_PURGES)
    assert not waker.look()
    begin_purge(actor=alice)
    OrmQ.objects.all().delete()

    assert waker.look()
    assert queued() == [RUN_PURGES]
    assert not waker.look(), "one call at a time"


def test_the_task_does_it_and_is_planned(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Soon gone."))
    begin_purge(actor=alice)

    assert tasks.run_purges() == 1
    assert tasks.run_purges() == 0
    assert Purge.objects.get().state == PurgeState.DONE
    ensure_schedules()
    assert Schedule.objects.get(func=RUN_PURGES).minutes == 1


def test_what_failed_shows_in_the_queue_without_values(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_purge(actor=alice)

    def fail(*_: object, **__: object) -> None:
        raise ValueError("what somebody said")

    monkeypatch.setattr("memory.services.purge.owner_purge.take_samples", fail)
    with pytest.raises(JobError) as caught:
        tasks.run_purges()
    assert "what somebody said" not in str(caught.value)
    failed = Purge.objects.get()
    assert (failed.state, failed.stage, failed.error_code) == (
        PurgeState.WAITING,
        "collect",
        "internal.ValueError",
    )


def test_the_same_partial_purge_is_asked_for_once(alice: Actor) -> None:
    def ask(target: dict[str, str]) -> Purge:
        return request_purge(
            owner_id=alice.owner_id,
            subject="memory",
            target=target,
            requested_by="person",
            expected={},
            at=now(),
            call=lambda: None,
        ).purge

    first = ask({"memories": "a"})
    ask({"memories": "b"})
    with pytest.raises(Conflict) as refused:
        ask({"memories": "a"})
    assert refused.value.machine_code == "purge.under_way"
    Purge.objects.filter(pk=first.pk).update(state=PurgeState.DONE)
    ask({"memories": "a"})

    # The whole owner ends what is open of it.
    made = begin_purge(actor=alice)
    assert tasks.run_purges() == 1
    rest = Purge.objects.exclude(pk=made.purge.pk)
    assert set(rest.values_list("of_owner", "state", "error_code")) == {
        (None, PurgeState.DONE, ""),
        (None, PurgeState.FAILED, "purge.superseded"),
    }
    assert all(row.target == {} for row in rest)


def test_a_writer_without_end_is_named_and_nothing_is_begun(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "PATIENCE", "100ms")
    writing, may_end = threading.Event(), threading.Event()

    def write() -> None:
        with owner_scope(alice.owner_id):
            remember(actor=alice, draft=Draft(text="Not done yet."))
            writing.set()
            may_end.wait(60)
        connection.close()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert writing.wait(60)
        with pytest.raises(Conflict) as refused:
            begin_purge(actor=alice)
        assert refused.value.machine_code == "owner.busy"
    finally:
        may_end.set()
        thread.join(60)
    assert not Purge.objects.exists()
    assert Owner.objects.get(pk=alice.owner_id).purging_at is None
    assert not purge_is_due(at=now() + timedelta(days=1))
