"""The queue: schedules, waking, what failed tasks leave behind, and a real worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils.module_loading import import_string
from django_q.models import OrmQ, Schedule, Success
from pytest_django import Settings

from memory import tasks
from memory.models import DueWork, Memory, owner_scope
from memory.services import due_work
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.health.work import waiting_work
from memory.services.job_runs import JobError
from memory.services.jobs import (
    PROJECTION,
    RUN_DUE_WORK,
    Waker,
    call_at_start,
    ensure_schedules,
    plans,
    work_is_due,
)
from memory.services.retirement import delete_memory
from memory.services.writing import call_for_work
from tests.environment import PROJECT

PATIENCE = 90.0


def make_due(owner_id: Any, moment: Any = None) -> None:
    DueWork.objects.create(owner_id=owner_id, job=DueWork.ERASE, due_at=moment or now() - timedelta(seconds=1))


class TestSchedules:
    def test_they_are_made_once(self, db: None) -> None:
        ensure_schedules()
        before = list(Schedule.objects.order_by("pk").values())
        ensure_schedules()
        assert list(Schedule.objects.order_by("pk").values()) == before
        assert {row["name"] for row in before} == {plan.name for plan in plans()}

    def test_a_changed_one_is_put_right_and_keeps_its_next_run(self, db: None) -> None:
        ensure_schedules()
        later = now() + timedelta(seconds=40)
        Schedule.objects.filter(func=RUN_DUE_WORK).update(minutes=7, next_run=later)
        ensure_schedules()
        row = Schedule.objects.get(func=RUN_DUE_WORK)
        assert row.minutes == 1
        assert row.next_run == later

    def test_one_that_runs_more_often_now_does_not_wait_out_its_former_period(self, db: None) -> None:
        ensure_schedules()
        Schedule.objects.filter(func=RUN_DUE_WORK).update(minutes=60, next_run=now() + timedelta(minutes=55))
        ensure_schedules()
        row = Schedule.objects.get(func=RUN_DUE_WORK)
        assert row.minutes == 1
        assert row.next_run <= now() + timedelta(minutes=1)

    @pytest.mark.parametrize("change", [{"func": "memory.tasks.former"}, {"repeats": 3}])
    def test_one_whose_period_is_the_same_keeps_its_next_run(self, db: None, change: dict[str, Any]) -> None:
        ensure_schedules()
        later = now() + timedelta(days=9)
        name = Schedule.objects.get(func=RUN_DUE_WORK).name
        Schedule.objects.filter(name=name).update(next_run=later, **change)
        ensure_schedules()
        row = Schedule.objects.get(name=name)
        assert (row.func, row.repeats, row.next_run) == (RUN_DUE_WORK, -1, later)

    @pytest.mark.parametrize("minutes", [1, 60])
    def test_one_without_a_next_run_gets_one(self, db: None, minutes: int) -> None:
        ensure_schedules()
        Schedule.objects.filter(func=RUN_DUE_WORK).update(minutes=minutes, next_run=None)
        ensure_schedules()
        row = Schedule.objects.get(func=RUN_DUE_WORK)
        assert row.minutes == 1
        assert row.next_run <= now()

    def test_doubled_and_former_ones_go_and_others_stay(self, db: None) -> None:
        ensure_schedules()
        for row in (Schedule.objects.get(func=RUN_DUE_WORK), Schedule(name="loci: former", func="x.y")):
            row.pk = None
            row.next_run = now()
            row.save()
        Schedule.objects.create(name="the operator's own", func="x.y", next_run=now())
        ensure_schedules()
        assert Schedule.objects.count() == len(plans()) + 1

    def test_every_planned_task_exists(self) -> None:
        for plan in plans():
            assert plan.task.split(".")[1] == "tasks"
            assert callable(import_string(plan.task))


class TestStart:
    def test_what_the_settings_say_of_neo4j_is_looked_at_at_once(self, db: None, settings: Settings) -> None:
        settings.NEO4J_URI = ""
        call_at_start()
        assert _called() == [RUN_DUE_WORK]
        settings.NEO4J_URI = "bolt://127.0.0.1:7687"
        call_at_start()
        assert _called() == [RUN_DUE_WORK, RUN_DUE_WORK, PROJECTION]
        assert Schedule.objects.count() == len(plans())


class TestWaker:
    def test_nothing_due_calls_nobody(self, alice: Actor) -> None:
        make_due(alice.owner_id, now() + timedelta(seconds=30))
        assert not work_is_due()
        assert not Waker().look()
        assert OrmQ.objects.count() == 0

    def test_due_work_calls_once_until_it_is_answered(self, alice: Actor) -> None:
        make_due(alice.owner_id)
        waker = Waker()
        assert waker.look()
        assert not waker.look()
        assert OrmQ.objects.count() == 1
        _answer(OrmQ.objects.get())
        assert waker.look()

    def test_a_call_that_nobody_answers_is_repeated(self, alice: Actor) -> None:
        make_due(alice.owner_id)
        waker = Waker(patience=timedelta(0))
        assert waker.look()
        assert waker.look()


class TestTasks:
    def test_a_failure_leaves_no_values(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail() -> dict[str, int]:
            raise ValueError("what somebody said")

        monkeypatch.setattr(due_work, "run_due_work", fail)
        with pytest.raises(JobError) as caught:
            tasks.run_due_work()
        assert "ValueError" in str(caught.value)
        assert caught.value.__suppress_context__
        assert "what somebody said" not in caplog.text + str(caught.value)

    def test_expired_logins_are_removed(self, db: None) -> None:
        from django.contrib.sessions.models import Session

        Session.objects.create(session_key="old", session_data="", expire_date=now() - timedelta(days=1))
        Session.objects.create(session_key="new", session_data="", expire_date=now() + timedelta(days=1))
        tasks.clear_sessions()
        assert [row.session_key for row in Session.objects.all()] == ["new"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_real_worker_erases_what_a_person_deleted(make_owner: Callable[..., Actor]) -> None:
    from memory.services.drafts import Draft
    from memory.services.remember import remember

    alice = make_owner("alice")
    gone = remember(actor=alice, draft=Draft(text="to be erased")).memory_id
    kept = remember(actor=alice, draft=Draft(text="to be kept")).memory_id
    delete_memory(actor=alice, memory_id=gone)
    with owner_scope(alice.owner_id):
        # As if its ten seconds had passed.
        Memory.objects.filter(pk=gone).update(erase_at=now())
        call_for_work(DueWork.ERASE, due_at=now())

    worker = subprocess.Popen(
        [sys.executable, "manage.py", "worker"],
        cwd=PROJECT,
        env={**os.environ, "LOCI_NO_BOOTSTRAP": "1", **_database_urls()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while _ids(alice) != {kept} or waiting_work().last_run is None:
            assert time.monotonic() < deadline, "the memory was not erased"
            assert worker.poll() is None, worker.stderr.read() if worker.stderr else ""
            time.sleep(0.2)
        assert Schedule.objects.filter(func=RUN_DUE_WORK).count() == 1
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=PATIENCE) == 0
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()


def _called() -> list[Any]:
    return [queued.func() for queued in OrmQ.objects.order_by("pk")]


def _ids(actor: Actor) -> set[Any]:
    with owner_scope(actor.owner_id):
        return set(Memory.objects.values_list("pk", flat=True))


def _database_urls() -> dict[str, str]:
    urls = {}
    for variable, alias in (("DATABASE_URL", "default"), ("DATABASE_SCHEMA_URL", "schema")):
        chosen = connections[alias].settings_dict
        urls[variable] = f"postgresql://{chosen['USER']}@/{chosen['NAME']}?host={chosen['HOST']}"
    return urls


def _answer(queued: OrmQ) -> None:
    moment = now()
    Success.objects.create(
        id=queued.task_id(), name="x", func=RUN_DUE_WORK, started=moment, stopped=moment, success=True
    )
    queued.delete()
