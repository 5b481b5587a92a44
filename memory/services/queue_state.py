"""The job queue as its operators see it: what runs when, what waits, what has failed, and a run at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection
from django_q.models import Failure, OrmQ, Schedule, Task

from memory.errors import NotFound, RedisUnavailable
from memory.services.clock import now
from memory.services.jobs import OURS, SIGNS_OF_LIFE, call_worker, plans

MOST_FAILURES: Final = 100
A_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Planned:
    """A task that runs again and again: when next, and how it went last; None where it has not run."""

    name: str
    task: str
    minutes: int
    next_run: datetime | None
    last_ended: datetime | None
    last_ok: bool | None


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A task that failed: its name, when, and the class and place of the error, without any value."""

    name: str
    task: str
    ended: datetime
    error: str


@dataclass(frozen=True, slots=True)
class QueueState:
    """How the queue stands: tasks that wait, since when, failures of a day, and when a worker was last heard of.

    `waiting` is None where the queue is in Redis, and that does not answer.
    """

    waiting: int | None
    oldest: datetime | None
    failed: int
    worker_seen: datetime | None


def queue_state() -> QueueState:
    """Tell how the queue stands, with one statement, and two questions to Redis where the queue is there."""
    moment = now()
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT (SELECT count(*) FROM {OrmQ._meta.db_table} WHERE lock <= %(now)s),
                (SELECT min(lock) FROM {OrmQ._meta.db_table} WHERE lock <= %(now)s),
                (SELECT count(*) FROM {Task._meta.db_table} WHERE NOT success AND stopped >= %(day)s),
                (SELECT max(stopped) FROM {Task._meta.db_table} WHERE success AND func = ANY(%(tasks)s))""",
            {"now": moment, "day": moment - A_DAY, "tasks": list(SIGNS_OF_LIFE)},
        )
        state = QueueState(*cursor.fetchone())
    if settings.QUEUE_BROKER != "redis":
        return state
    from memory.redis.waiting import waiting_calls

    try:
        waiting, oldest = waiting_calls()
    except RedisUnavailable:
        return replace(state, waiting=None, oldest=None)
    return replace(state, waiting=waiting, oldest=oldest)


def schedules() -> list[Planned]:
    """List what is planned, with the next run and the end of the last one; two statements."""
    rows = {row.name: row for row in Schedule.objects.filter(name__startswith=OURS)}
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT ON (func) func, stopped, success FROM {Task._meta.db_table}"
            " WHERE func = ANY(%s) ORDER BY func, stopped DESC",
            [[plan.task for plan in plans()]],
        )
        last = {func: (stopped, success) for func, stopped, success in cursor.fetchall()}
    return [
        Planned(
            plan.name.removeprefix(OURS),
            plan.task,
            plan.minutes,
            rows[plan.name].next_run if plan.name in rows else None,
            *last.get(plan.task, (None, None)),
        )
        for plan in plans()
    ]


def run_now(*, task: str) -> str:
    """Have a worker run a planned task at once; gives the id of the queued task.

    Raises:
        NotFound: `job.unknown`, nothing of this name is planned.
        QueueUnavailable: the queue is in Redis, and that does not answer.
    """
    if task not in {plan.task for plan in plans()}:
        raise NotFound("Nothing of this name is planned. Nothing was started.", code="job.unknown")
    return call_worker(task)


def failed_jobs(*, most: int = MOST_FAILURES) -> list[FailedJob]:
    """List the tasks that failed, the newest first; the queue keeps the place of an error and no value."""
    rows = Failure.objects.order_by("-stopped")[:most]
    return [FailedJob(row.name, row.func, row.stopped, _last_line(row.result)) for row in rows]


def _last_line(result: object) -> str:
    # The queue appends the traceback to the message; its last line names the error alone.
    lines = [line for line in str(result or "").splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""
