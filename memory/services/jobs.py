"""The job queue: the schedules that must exist, waking the workers, and the worker's sign of life.

The queue only wakes workers; what there is to do stands in `DueWork` and in the jobs' own tables. No other module
knows which queue is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django_q.models import Schedule, Success
from django_q.tasks import async_task

from memory.models import DueWork
from memory.ports.request_id import current_request_id
from memory.services.clock import now

RUN_DUE_WORK: Final = "memory.tasks.run_due_work"
CLEAR_SESSIONS: Final = "memory.tasks.clear_sessions"
REMOVE_OUTDATED: Final = "memory.tasks.remove_outdated"
CONSOLIDATE_DUE: Final = "memory.tasks.consolidate_due"
CALL_FOR_CONSOLIDATION: Final = "memory.tasks.call_for_consolidation"
RUN_PURGES: Final = "memory.tasks.run_purges"
MISSING_TOKENS: Final = "memory.tasks.call_for_missing_tokens"
PROJECTION: Final = "memory.tasks.call_for_projection"
ROTATION: Final = "memory.tasks.call_for_rotation"
SEAL_AUDIT: Final = "memory.tasks.seal_audit"
SPACES: Final = "memory.tasks.look_after_spaces"
FETCH_MODEL: Final = "memory.tasks.fetch_model"
# Tasks of every minute, of which one that ends well shows that there is a worker.
SIGNS_OF_LIFE: Final = (RUN_DUE_WORK, CONSOLIDATE_DUE)
HOUR: Final = 60
DAY: Final = 24 * 60
OURS: Final = "loci: "
# A task of its own: a run takes long, and neither an erasure nor the sign of life waits for it.
CONSOLIDATION: Final = (DueWork.CONSOLIDATE_NOW, DueWork.CONSOLIDATE, DueWork.CONSOLIDATE_RETRY)


@dataclass(frozen=True, slots=True)
class Plan:
    """A task that runs again and again; `name` is shown to operators."""

    name: str
    task: str
    minutes: int


_plans: Final[list[Plan]] = [
    Plan(f"{OURS}due work", RUN_DUE_WORK, minutes=1),
    Plan(f"{OURS}due consolidation", CONSOLIDATE_DUE, minutes=1),
    Plan(f"{OURS}purges", RUN_PURGES, minutes=1),
    Plan(f"{OURS}consolidation not noted", CALL_FOR_CONSOLIDATION, minutes=HOUR),
    Plan(f"{OURS}seals of the audit", SEAL_AUDIT, minutes=5),
    Plan(f"{OURS}outdated records", REMOVE_OUTDATED, minutes=HOUR),
    Plan(f"{OURS}embedding spaces", SPACES, minutes=1),
    Plan(f"{OURS}missing token vectors", MISSING_TOKENS, minutes=HOUR),
    # Each minute only where there is something to look after: an owner who is new, a Neo4j that was emptied.
    Plan(f"{OURS}projection of graphs", PROJECTION, minutes=1 if settings.NEO4J_URI else HOUR),
    Plan(f"{OURS}rotation of text keys", ROTATION, minutes=DAY),
    Plan(f"{OURS}expired logins", CLEAR_SESSIONS, minutes=DAY),
]


def add_plan(plan: Plan) -> None:
    """Have a task of an app run again and again; for `AppConfig.ready`.

    Raises:
        ValueError: the name does not begin as those of Loci's own schedules do, or another plan has it.
    """
    if plan in _plans:
        return
    if not plan.name.startswith(OURS) or any(plan.name == other.name for other in _plans):
        raise ValueError(f"The name {plan.name!r} must begin with {OURS!r} and be of one plan only.")
    _plans.append(plan)


def plans() -> tuple[Plan, ...]:
    """Give all that runs again and again."""
    return tuple(_plans)


def ensure_schedules() -> None:
    """Make the schedules that must exist, put changed ones right, and remove those that are no longer planned.

    Repeating it changes nothing: the time of a schedule's next run is kept, but for one that runs more often from now
    on, which does not wait out its former period, and for one that has none and would never run: it runs at once.
    """
    with transaction.atomic():
        Schedule.objects.filter(name__startswith=OURS).exclude(name__in=[plan.name for plan in _plans]).delete()
        for plan in _plans:
            wanted: dict[str, Any] = {
                "func": plan.task,
                "schedule_type": Schedule.MINUTES,
                "minutes": plan.minutes,
                "repeats": -1,
            }
            rows = list(Schedule.objects.select_for_update().filter(name=plan.name).order_by("pk"))
            if not rows:
                Schedule.objects.create(name=plan.name, next_run=now(), **wanted)
                continue
            # The queue's table has no unique name, so two first starts at once can have made two.
            Schedule.objects.filter(pk__in=[row.pk for row in rows[1:]]).delete()
            wanted["next_run"] = _next_run(rows[0], plan)
            if any(getattr(rows[0], field) != value for field, value in wanted.items()):
                Schedule.objects.filter(pk=rows[0].pk).update(**wanted)


def _next_run(row: Schedule, plan: Plan) -> datetime:
    """Give when a schedule that is there runs next under its plan."""
    kept: datetime | None = row.next_run
    if kept is None:
        return now()
    if (row.schedule_type, row.minutes) == (Schedule.MINUTES, plan.minutes):
        return kept
    # A longer period than the former one leaves it as it is.
    return min(kept, now() + timedelta(minutes=plan.minutes))


def call_at_start() -> None:
    """Make the schedules and call the workers as soon as there are any.

    A sign of life is then there within seconds, and what the settings say of Neo4j now holds without waiting for a
    schedule.

    Raises:
        QueueUnavailable: the queue is in Redis, and that does not answer.
    """
    ensure_schedules()
    call_worker()
    if settings.NEO4J_URI:
        call_worker(PROJECTION)


def call_worker(task: str = RUN_DUE_WORK) -> str:
    """Ask the workers to look for due work now, as part of the request under way; gives the id of the queued task.

    Raises:
        QueueUnavailable: the queue is in Redis, and that does not answer. What is due stays due.
    """
    request = current_request_id()
    return str(async_task(task, **({"request_id": request} if request else {})))


def work_is_due() -> bool:
    """Tell whether any owner's work is due, other than consolidation."""
    return DueWork.objects.filter(due_at__lte=now()).exclude(job__in=CONSOLIDATION).exists()


def consolidation_is_due() -> bool:
    """Tell whether any owner's consolidation is due."""
    return DueWork.objects.filter(due_at__lte=now(), job__in=CONSOLIDATION).exists()


class Waker:
    """Calls the workers within seconds of one kind of work becoming due; the queue's own schedules are minutes apart.

    Asks one cheap question at a time. A call that no worker has answered yet is not repeated for a while, so that a
    long job does not let calls pile up.
    """

    def __init__(
        self,
        *,
        is_due: Callable[[], bool] = work_is_due,
        task: str = RUN_DUE_WORK,
        patience: timedelta = timedelta(seconds=60),
    ) -> None:
        """Build it.

        Args:
            is_due: the question.
            task: what the workers are called for.
            patience: how long an unanswered call counts as under way.
        """
        self._is_due, self._calls_for = is_due, task
        self._patience = patience
        self._called_at: datetime | None = None
        self._task = ""

    def look(self) -> bool:
        """Call the workers when work is due and no call is under way; tell whether they were called.

        Raises:
            QueueUnavailable: they cannot be called now.
        """
        if not self._is_due() or self._under_way():
            return False
        self._task, self._called_at = call_worker(self._calls_for), now()
        return True

    def _under_way(self) -> bool:
        if self._called_at is None or now() - self._called_at >= self._patience:
            return False
        return not Success.objects.filter(pk=self._task).exists()
