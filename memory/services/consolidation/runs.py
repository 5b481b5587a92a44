"""What people see and ask of consolidation: how it stands, its runs, and a run by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Min, Q

from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import ConsolidationRun, DueWork, OwnerActivity, RunState, RunTrigger, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.announcing import run_changed
from memory.services.clock import now
from memory.services.consolidation import order
from memory.services.consolidation.cadence import switched_on
from memory.services.consolidation.due import JOBS, ask_for_the_rest, settle, waiting_requests
from memory.services.consolidation.groups import Group
from memory.services.consolidation.lease import longest_silence
from memory.services.consolidation.reports import groups_to_do, waiting
from memory.services.consolidation.runner import run_consolidation
from memory.services.consolidation.situation import backlog, last_run
from memory.services.features import require_memory
from memory.services.settings import current_settings
from memory.services.settings_table import CONSOLIDATION, OWNER_SETTINGS
from memory.services.writing import call_for_work

WAITED_SECONDS: Final = 30.0
NUMBERS: Final = (
    "batches",
    "rows_seen",
    "bytes_seen",
    "bytes_skipped",
    "backlog_rows",
    "backlog_bytes",
    "failed_writes",
    "llm_calls",
    "llm_failures",
    "prompt_tokens",
    "completion_tokens",
)


def consolidation_status(*, actor: Actor) -> dict[str, Any]:
    """Tell how consolidation stands: choices, backlog, the next run, the one that works, and the last one.

    Counts go over everything of the owner, so agents get None for them: one is not told what the others do.
    """
    require_memory()
    actor.require(Permission.READ)
    full = actor.readable is None
    with owner_scope(actor.owner_id):
        settings = current_settings()["values"]
        working = ConsolidationRun.objects.filter(state=RunState.RUNNING).first()
        asked = waiting_requests()
        due = DueWork.objects.filter(owner_id=actor.owner_id, job__in=JOBS).aggregate(first=Min("due_at"))["first"]
        activity = OwnerActivity.objects.first()
        rows, stored = backlog() if full else (None, None)
        last = last_run()
        return {
            "enabled": settings["consolidation"],
            "settings": group_settings(settings),
            "groups": [str(group) for group in Group if group in switched_on(settings)],
            "pending_rows": rows,
            "pending_bytes": stored,
            "next_run_at": due if settings["consolidation"] else None,
            "errors": activity.consolidation_errors if activity else 0,
            "running": described(working, full=full) if working else None,
            "asked": [row.pk for row in asked],
            "last_run": described(last, full=full) if last else None,
        }


def group_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Give the settings that belong to a group of stages."""
    return {name: settings[name] for name, setting in OWNER_SETTINGS.items() if setting.group in CONSOLIDATION}


def described(run: ConsolidationRun, *, full: bool) -> dict[str, Any]:
    """Describe a run; without its numbers for those who may not know what all agents do."""
    reports = run.stages if full else [{**report, "counts": {}, "notes": []} for report in run.stages]
    asked_for = run.state == RunState.DEFERRED and run.finished_at is None
    return {
        "id": run.pk,
        "trigger": run.trigger,
        "state": "waiting" if asked_for else run.state,
        "stage": run.stage,
        "stages": reports,
        "risk_class": run.risk_class,
        "extractor": run.extractor,
        "error_code": run.error_code,
        "started_at": None if asked_for else run.started_at,
        "asked_at": run.started_at if asked_for else None,
        "finished_at": run.finished_at,
        **{name: getattr(run, name) if full else None for name in NUMBERS},
    }


def list_runs(*, actor: Actor, after: tuple[datetime, UUID] | None, size: int) -> list[ConsolidationRun]:
    """List runs, the newest first, also those that were asked for and have not begun."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        rows = ConsolidationRun.objects.all()
        if after is not None:
            rows = rows.filter(Q(started_at__lt=after[0]) | Q(started_at=after[0], pk__lt=after[1]))
        return list(rows.order_by("-started_at", "-pk")[:size])


def get_run(*, actor: Actor, run_id: UUID) -> ConsolidationRun:
    """Give one run; raises NotFound when there is none of this id."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        row: ConsolidationRun | None = ConsolidationRun.objects.filter(pk=run_id).first()
        if row is None:
            raise NotFound("There is no run with this id here.")
        return row


def ask_for_run(
    *, actor: Actor, groups: Sequence[str] | None = None, wait: bool = False, seconds: float = WAITED_SECONDS
) -> ConsolidationRun:
    """Ask for a run by hand; it does what it is asked for whether it is due or not, and makes way for nobody.

    The request is a row, so that a worker does it also after a restart. Who asks again before it has begun gets the
    same row, with his groups added.

    Args:
        actor: who asks.
        groups: names of groups; all that are switched on when left out.
        wait: run in this process before answering, where no other run works for the owner; what there is no time for
            is left to a worker.
        seconds: how long that may take.

    Returns:
        The run's row: ended, or still waiting for a worker.

    Raises:
        InvalidInput: an unknown group, or none.
        Conflict: `consolidation.disabled`: consolidation or a group is switched off; nothing was asked for.
        PermissionRefused, MemoryDisabled: nothing was asked for.
    """
    require_memory()
    actor.require(Permission.WRITE)
    moment = now()
    with owner_scope(actor.owner_id):
        chosen = _chosen(groups)
        # Before the look at what waits, so that two who ask at once wait for each other here.
        later = timedelta(seconds=seconds) + longest_silence() if wait else timedelta(0)
        call_for_work(DueWork.CONSOLIDATE_NOW, due_at=moment + later)
        row = _request(actor, chosen, moment)
        run_changed(row.pk)
    if not wait:
        return row
    run = run_consolidation(
        owner_id=actor.owner_id,
        trigger=RunTrigger.HAND,
        groups=groups_to_do(row.stages),
        request_id=row.pk,
        seconds=seconds,
    )
    with owner_scope(actor.owner_id):
        if run is None:
            call_for_work(DueWork.CONSOLIDATE_NOW, due_at=now())
            return row
        ask_for_the_rest(run)
        DueWork.objects.filter(owner_id=actor.owner_id, job=DueWork.CONSOLIDATE_NOW).delete()
        settle(now())
        return run


def _chosen(groups: Sequence[str] | None) -> tuple[Group, ...]:
    settings = current_settings()["values"]
    on = switched_on(settings)
    if not on:
        raise Conflict("Consolidation is disabled. Nothing was asked for.", code="consolidation.disabled")
    if groups is None:
        return tuple(group for group in Group if group in on)
    named = set(groups)
    unknown = sorted(named - {str(group) for group in Group})
    if unknown or not named:
        raise InvalidInput(
            f"groups names at least one of {', '.join(Group)}.", code="consolidation.group", field="groups"
        )
    off = sorted(named - {str(group) for group in on})
    if off:
        raise Conflict(
            f"The group {off[0]} is switched off in the settings, so its run is disabled. Nothing was asked for.",
            code="consolidation.disabled",
            groups=off,
        )
    return tuple(group for group in Group if str(group) in named)


def _request(actor: Actor, groups: tuple[Group, ...], moment: datetime) -> ConsolidationRun:
    """Make the row of a request, or add to the one that waits."""
    standing = next(iter(waiting_requests()), None)
    if standing is not None:
        wanted = {*groups, *groups_to_do(standing.stages)}
        standing.stages = _plan(wanted)
        standing.save(update_fields=["stages"])
        return standing
    row: ConsolidationRun = ConsolidationRun.objects.create(
        owner_id=actor.owner_id,
        trigger=RunTrigger.HAND,
        state=RunState.DEFERRED,
        stages=_plan(set(groups)),
        started_at=moment,
    )
    return row


def _plan(groups: set[Group]) -> list[dict[str, Any]]:
    return waiting(step for step in order.STEPS if step.group in groups)
