"""Runs that are due: taken up owner by owner, those that somebody asked for first, and noted again for later.

`DueWork` has up to three rows of an owner: `consolidate` when something may be due, `consolidate_now` while a run by
hand is asked for, and `consolidate_retry` after an error. A claim moves the time on, so a killed worker's owner comes
up again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings as installation
from django.db import connection

from memory.errors import LociError
from memory.models import ConsolidationRun, DueWork, RunState, RunTrigger, current_owner, owner_scope
from memory.services.announcing import run_changed
from memory.services.clock import now
from memory.services.consolidation import lease
from memory.services.consolidation.cadence import counts_full, due_groups, next_due, switched_on
from memory.services.consolidation.groups import Group
from memory.services.consolidation.reports import STOPPED, WAITING, groups_to_do
from memory.services.consolidation.runner import RUN_SECONDS, run_consolidation
from memory.services.consolidation.situation import DEFERRED_FOR, look
from memory.services.consolidation.waiting import user_work_waits
from memory.services.settings import current_settings
from memory.services.writing import call_for_work

logger = logging.getLogger(__name__)

CLAIMED_FOR: Final = timedelta(minutes=5)
# A task begins no run after this, so that with one run's time it stays far below the queue's time-out.
BEGIN_SECONDS: Final = 30.0
TRY_AGAIN: Final = timedelta(seconds=5)
BY_ITSELF: Final = (DueWork.CONSOLIDATE, DueWork.CONSOLIDATE_RETRY)
JOBS: Final = (DueWork.CONSOLIDATE_NOW, *BY_ITSELF)

CLAIM: Final = """
    UPDATE memory_duework SET due_at = %(until)s WHERE id = (
        SELECT id FROM memory_duework WHERE job = ANY(%(jobs)s) AND due_at <= %(now)s
        ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) RETURNING owner_id, job
"""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is to be run for an owner; `request` is the row of who asked, where somebody did."""

    trigger: RunTrigger
    groups: tuple[Group, ...]
    request: UUID | None = None


def consolidate_due(*, begin_seconds: float = BEGIN_SECONDS) -> dict[str, int]:
    """Run for owners whose runs are due, the longest waiting first, each for as long as one run may take.

    Runs that begin by themselves wait while users' work does. With nothing due it takes three statements, however many
    owners there are.

    Args:
        begin_seconds: after how long no further run begins.

    Returns:
        How many runs there were, and how many owners had to wait.
    """
    began = time.monotonic()
    done = {"runs": 0, "deferred": 0}
    if not installation.MEMORY_ENABLED:
        done["deferred"] = _defer(JOBS, now())
        return done
    while True:
        moment = now()
        claimed = _claim([DueWork.CONSOLIDATE_NOW], moment)
        if claimed is None:
            if user_work_waits(moment):
                done["deferred"] += _defer(BY_ITSELF, moment)
                break
            claimed = _claim(BY_ITSELF, moment)
        if claimed is None:
            break
        done["runs"] += _serve(*claimed, moment)
        if time.monotonic() - began >= begin_seconds:
            break
    return done


def assignment_of(moment: datetime) -> Assignment | None:
    """Say what is to be run for the current owner now: what somebody asked for, else what is due."""
    settings = current_settings()["values"]
    asked = _asked(settings, moment)
    if asked is not None:
        return asked
    situation = look(settings)
    groups = due_groups(situation, moment)
    if not groups:
        return None
    if settings["consolidation_on_write"]:
        return Assignment(RunTrigger.WRITE, groups)
    counted = counts_full(settings, situation.turns) and Group.KNOWLEDGE in groups
    return Assignment(RunTrigger.COUNT if counted else RunTrigger.SCHEDULE, groups)


def waiting_requests() -> list[ConsolidationRun]:
    """Give the current owner's runs that were asked for and have not begun, the oldest first."""
    rows = ConsolidationRun.objects.filter(state=RunState.DEFERRED, trigger=RunTrigger.HAND, finished_at=None)
    return list(rows.order_by("started_at", "pk"))


def settle(moment: datetime) -> None:
    """Note when the current owner's next run is due, after one has ended or there was nothing to do."""
    situation = look(current_settings()["values"])
    following = next_due(situation)
    if following is not None:
        call_for_work(DueWork.CONSOLIDATE, due_at=following)
    if waiting_requests():
        call_for_work(DueWork.CONSOLIDATE_NOW, due_at=moment + TRY_AGAIN)
    retries = DueWork.objects.filter(owner_id=current_owner(), job=DueWork.CONSOLIDATE_RETRY)
    pause_ends = situation.not_before
    if pause_ends is None or pause_ends <= moment or following is None:
        retries.delete()
    elif not retries.update(due_at=pause_ends):
        call_for_work(DueWork.CONSOLIDATE_RETRY, due_at=pause_ends)


def _asked(settings: Mapping[str, Any], moment: datetime) -> Assignment | None:
    on = switched_on(settings)
    for row in waiting_requests():
        groups = tuple(group for group in groups_to_do(row.stages) if group in on)
        if groups:
            return Assignment(RunTrigger.HAND, groups, row.pk)
        # Switched off meanwhile.
        row.state, row.error_code, row.finished_at = RunState.FAILED, "consolidation.disabled", moment
        row.save(update_fields=["state", "error_code", "finished_at"])
        run_changed(row.pk)
    # One that was killed at its work is done to its end.
    broken = ConsolidationRun.objects.filter(state=RunState.RUNNING, trigger=RunTrigger.HAND).first()
    if broken is not None and not lease.held(moment=moment):
        groups = tuple(group for group in groups_to_do(broken.stages) if group in on)
        if groups:
            return Assignment(RunTrigger.HAND, groups)
    return None


def _serve(owner_id: UUID, job: str, moment: datetime) -> int:
    """Run what is due for an owner; gives how many runs that were."""
    try:
        with owner_scope(owner_id):
            wanted = assignment_of(moment)
        if wanted is None:
            _note(owner_id, job, moment)
            return 0
        run = run_consolidation(
            owner_id=owner_id,
            trigger=wanted.trigger,
            groups=wanted.groups,
            request_id=wanted.request,
            seconds=RUN_SECONDS,
        )
        if run is None:
            # Somebody else works for the owner; the row comes up again when that run is done.
            _postpone(owner_id, job, moment)
            return 0
        _note(owner_id, job, moment, run=run)
        return 1
    except LociError as error:
        logger.warning("consolidation for owner %s failed: %s", owner_id, error.machine_code)
        return 0


def _note(owner_id: UUID, job: str, moment: datetime, *, run: ConsolidationRun | None = None) -> None:
    with owner_scope(owner_id):
        DueWork.objects.filter(owner_id=owner_id, job=job, due_at=moment + CLAIMED_FOR).delete()
        if run is not None:
            ask_for_the_rest(run)
        settle(now())


def ask_for_the_rest(run: ConsolidationRun) -> None:
    """Ask again for what a run by hand of the current owner had no time for, provided that it came forward."""
    if run.trigger != RunTrigger.HAND or run.error_code != "time.up":
        return
    undone = [{**report, "state": WAITING} for report in run.stages if report["state"] in (WAITING, STOPPED)]
    if len(undone) < len(run.stages):
        ConsolidationRun.objects.create(
            owner_id=run.owner_id,
            trigger=RunTrigger.HAND,
            state=RunState.DEFERRED,
            stages=undone,
            started_at=now(),
        )


def _claim(jobs: Sequence[str], moment: datetime) -> tuple[UUID, str] | None:
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, {"jobs": list(jobs), "now": moment, "until": moment + CLAIMED_FOR})
        found: tuple[UUID, str] | None = cursor.fetchone()
    return found


def _defer(jobs: Sequence[str], moment: datetime) -> int:
    due = DueWork.objects.filter(job__in=jobs, due_at__lte=moment)
    return due.update(due_at=moment + DEFERRED_FOR)


def _postpone(owner_id: UUID, job: str, moment: datetime) -> None:
    pause = TRY_AGAIN if job == DueWork.CONSOLIDATE_NOW else DEFERRED_FOR
    claimed = DueWork.objects.filter(owner_id=owner_id, job=job, due_at=moment + CLAIMED_FOR)
    claimed.update(due_at=moment + pause)
