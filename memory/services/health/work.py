"""Whether background work is done: the workers' sign of life, what waits and how long, vectors, consolidation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from django.conf import settings
from django.db import connection

from memory.errors import RedisUnavailable
from memory.models import DueWork, SpaceState
from memory.services.amounts import owners
from memory.services.clock import now
from memory.services.findings import Finding
from memory.services.jobs import CONSOLIDATION, SIGNS_OF_LIFE
from memory.services.spaces.in_use import BESIDE

# The schedule comes every minute; one missed round is no sign of trouble yet.
SILENCE: Final = timedelta(minutes=3)
LATE: Final = timedelta(minutes=15)
# Runs make way for users' work and wait for one another.
RUNS_LATE: Final = timedelta(minutes=30)
# A task waits while every worker is busy, which a long one may be for ten minutes.
TASKS_LATE: Final = timedelta(minutes=15)

REDIS_REMEDY: Final = "Check that Redis runs and that REDIS_URL and REDIS_PASSWORD are right."

WORK_SQL: Final = """
    SELECT (SELECT count(*) FROM memory_duework WHERE job = %(vectors)s),
           (SELECT count(*) FROM memory_duework WHERE job = %(tokens)s),
           (SELECT min(due_at) FROM memory_duework WHERE job <> ALL(%(consolidation)s)),
           (SELECT min(due_at) FROM memory_duework WHERE job = ANY(%(consolidation)s)),
           (SELECT count(*) FROM memory_duework WHERE job = %(retry)s),
           (SELECT max(stopped) FROM django_q_task WHERE success AND func = ANY(%(tasks)s)),
           (SELECT count(*) FROM django_q_ormq WHERE lock <= %(now)s),
           (SELECT min(lock) FROM django_q_ormq WHERE lock <= %(now)s),
           (SELECT ARRAY[provider, model, dimension::text] FROM memory_embeddingspace WHERE state = %(active)s),
           EXISTS (SELECT FROM memory_owner),
           (SELECT ARRAY[s.state, s.provider, s.model, s.pause, coalesce(sum(f.done + f.closed), 0)::text,
                         coalesce(sum(f.total), 0)::text,
                         (count(f.owner_id) > 0
                          OR NOT EXISTS (SELECT FROM memory_duework WHERE job = %(spaces)s))::text]
            FROM memory_embeddingspace s LEFT JOIN memory_spacefill f ON f.space_id = s.id
            WHERE s.state = ANY(%(beside)s) GROUP BY s.id LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class Beside:
    """The embedding space beside the one in use: its state, its model, why it pauses, and how far it is.

    `counted` is False where everybody's turn is still to come.
    """

    state: str
    provider: str
    model: str
    pause: str
    done: int
    total: int
    counted: bool

    @property
    def share(self) -> float | None:
        """Give the share of the memories that have their vector in it, 0 to 1; None before anything was counted."""
        if not self.counted:
            return None
        return min(1.0, self.done / self.total) if self.total else 1.0


@dataclass(frozen=True, slots=True)
class Work:
    """What waits in the whole installation.

    `oldest_due`, `oldest_run_due` and `oldest_task` are moments since when something waits; a task that a worker holds
    does not wait. `space` is provider, model and width of the vectors that are used. `beside` is the
    space beside that, where there is one. `queue_answers` is False where the queue is elsewhere and cannot be asked.
    """

    owners_waiting_for_vectors: int
    owners_waiting_for_tokens: int
    oldest_due: datetime | None
    oldest_run_due: datetime | None
    owners_whose_run_failed: int
    last_run: datetime | None
    tasks: int
    oldest_task: datetime | None
    space: Sequence[str] | None
    owners: bool
    beside: Beside | None = None
    queue_answers: bool = True


class Cursor(Protocol):
    """What a question needs: a cursor of Django's, or one of the driver's own."""

    def execute(self, query: Any, params: Any = None, /) -> Any:
        """Send a statement."""

    def fetchone(self) -> Any:
        """Give the next row."""


def waiting_work(cursor: Cursor | None = None) -> Work:
    """Ask what waits, with one query.

    Args:
        cursor: where to ask, without what waits in Redis, which `with_queue` adds; the application's own connection
            when left out.
    """
    if cursor is None:
        with connection.cursor() as own:
            work = waiting_work(own)
        return with_queue(work)
    cursor.execute(
        WORK_SQL,
        {
            "vectors": DueWork.VECTORS,
            "tokens": DueWork.TOKENS,
            "spaces": DueWork.SPACES,
            "consolidation": list(CONSOLIDATION),
            "retry": DueWork.CONSOLIDATE_RETRY,
            "tasks": list(SIGNS_OF_LIFE),
            "active": str(SpaceState.ACTIVE),
            "beside": [str(state) for state in BESIDE],
            "now": now(),
        },
    )
    row = list(cursor.fetchone())
    if row[-1] is not None:
        state, provider, model, pause, done, total, some = row[-1]
        row[-1] = Beside(state, provider, model, pause, int(done), int(total), some == "true")
    return Work(*row)


def with_queue(work: Work) -> Work:
    """Add what waits in Redis, where the queue is there; not to be called in a transaction."""
    if settings.QUEUE_BROKER != "redis":
        return work
    from memory.redis.waiting import waiting_calls

    try:
        tasks, oldest = waiting_calls()
    except RedisUnavailable:
        return replace(work, tasks=0, oldest_task=None, queue_answers=False)
    return replace(work, tasks=tasks, oldest_task=oldest)


def work_findings(work: Work) -> list[Finding]:
    """Judge what waits."""
    beside = [_space_beside(work.beside)] if work.beside is not None else []
    return [_vectors(work), *beside, _worker(work), _queue(work), _consolidation(work)]


def _vectors(work: Work) -> Finding:
    waiting = work.owners_waiting_for_vectors
    if settings.EMBEDDING_PROVIDER == "none":
        without = f" Some memories of {owners(waiting)} have no vector." if waiting else ""
        return Finding("vectors", "ok", f"Words only, by choice.{without}")
    if waiting:
        return Finding("vectors", "degraded", f"Vectors of {owners(waiting)} are still to be made.")
    if work.owners_waiting_for_tokens:
        return Finding("vectors", "ok", f"Token vectors of {owners(work.owners_waiting_for_tokens)} are being made.")
    return Finding("vectors", "ok", "No vectors are waiting to be made.")


def _space_beside(space: Beside) -> Finding:
    name, this = "second space", f"{space.provider}/{space.model}"
    if space.pause:
        detail = f"No vectors are made for {this} now ({space.pause}). What is in use goes on."
        remedy = "Check the EMBEDDING_SECOND_ settings and the embedder's server; it is tried again every minute."
        if space.state == SpaceState.STANDBY:
            remedy = "Check the embedder that was used before, or give its space up: python3 manage.py spaces retire"
        return Finding(name, "degraded", detail, remedy)
    done = f"{space.done} of {space.total} memories" if space.counted else "not counted yet"
    if space.state == SpaceState.FILLING:
        return Finding(name, "ok", f"The space of {this} is being filled: {done}. Recall goes on in the one in use.")
    return Finding(name, "ok", f"The space of {this} stands by: {done}.")


def _worker(work: Work) -> Finding:
    name, remedy = "worker", "Run `python3 manage.py up` without --no-worker, or `python3 manage.py worker`."
    moment = now()
    if work.last_run is None:
        return Finding(name, "degraded", "No worker has reported yet.", remedy)
    silent = moment - work.last_run
    if silent > SILENCE:
        minutes = int(silent.total_seconds() // 60)
        return Finding(name, "degraded", f"No worker has reported for {minutes} minutes.", remedy)
    if work.oldest_due is not None and moment - work.oldest_due > LATE:
        minutes = int((moment - work.oldest_due).total_seconds() // 60)
        return Finding(name, "degraded", f"Work has been waiting for {minutes} minutes.", "See the worker's log lines.")
    return Finding(name, "ok", "The worker reports.")


def _queue(work: Work) -> Finding:
    name, moment = "queue", now()
    if not work.queue_answers:
        detail = "The queue in Redis does not answer: background work stands still, and what is due is done later."
        return Finding(name, "degraded", detail, REDIS_REMEDY)
    if work.oldest_task is not None and moment - work.oldest_task > TASKS_LATE:
        minutes = int((moment - work.oldest_task).total_seconds() // 60)
        detail = f"{_tasks(work)}, the oldest for {minutes} minutes."
        return Finding(name, "degraded", detail, "Look at the worker's log lines; raise LOCI_WORKERS if it is busy.")
    return Finding(name, "ok", f"{_tasks(work)}." if work.tasks else "No task waits.")


def _tasks(work: Work) -> str:
    return "1 task waits" if work.tasks == 1 else f"{work.tasks} tasks wait"


def _consolidation(work: Work) -> Finding:
    name, remedy = "consolidation", "python3 manage.py consolidation status"
    failed, moment = work.owners_whose_run_failed, now()
    if failed:
        return Finding(name, "degraded", f"The last run of {owners(failed)} failed and is tried again.", remedy)
    if work.oldest_run_due is not None and moment - work.oldest_run_due > RUNS_LATE:
        minutes = int((moment - work.oldest_run_due).total_seconds() // 60)
        return Finding(name, "degraded", f"A run has been waiting for {minutes} minutes.", remedy)
    return Finding(name, "ok", "No run is late.")
