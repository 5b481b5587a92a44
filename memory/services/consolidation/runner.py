"""One run for one owner: stage after stage under the owner's lease, with a row that tells how far it is."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Sequence, Set
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.models import F
from django.db.models.functions import Greatest

from memory.errors import LociError
from memory.ids import new_id
from memory.models import ConsolidationRun, OwnerActivity, RiskClass, RunState, RunTrigger, owner_scope
from memory.ports.outbound import on_behalf_of
from memory.services.actors import system
from memory.services.announcing import run_changed
from memory.services.clock import now
from memory.services.consolidation import lease, order
from memory.services.consolidation.cadence import Situation, pause_after_errors, week_over_at
from memory.services.consolidation.choices import Tools, tools_of
from memory.services.consolidation.groups import MORE, Group
from memory.services.consolidation.order import Step
from memory.services.consolidation.reports import STOPPED, Kept, kept, waiting
from memory.services.consolidation.situation import look
from memory.services.consolidation.stages import FAILED, SKIPPED, RunStopped, StageContext, StageReport
from memory.services.consolidation.waiting import user_work_waits
from memory.services.settings import current_settings

logger = logging.getLogger(__name__)

# Well below the queue's time-out, and short enough that the only worker there is shows that it lives.
RUN_SECONDS: Final = 90.0
BEAT_SECONDS: Final = 5.0
MOST_NOTES: Final = 50
COMPONENT: Final = "consolidation"
"""What it is, in the record of what leaves, where no component of a language model says more."""


def run_consolidation(
    *,
    owner_id: UUID,
    trigger: RunTrigger,
    groups: Sequence[Group],
    seconds: float = RUN_SECONDS,
    request_id: UUID | None = None,
    steps: Sequence[Step] | None = None,
) -> ConsolidationRun | None:
    """Run stages for one owner until they are done, time is up, or users' work waits; each commits on its own.

    What a stage raises is kept to it: its report says so and the next one goes on. A run that is killed loses nothing,
    since stages can be repeated; when its lease is silent for long enough, the next run takes over.

    Args:
        owner_id: for whom.
        trigger: what begins it; one by hand does not make way for users' work.
        groups: the groups of stages to run.
        seconds: after how long the rest is left to a later run; a stage that does not say that it lives can overrun it.
        request_id: the row of the request that it answers, which becomes the run's.
        steps: the stages in their order; those of the product when left out.

    Returns:
        The run's row when it has ended; None when another run works for the owner.

    Raises:
        DatabaseError: the database went away; the run counts as interrupted when its lease has run out.
    """
    chosen = [step for step in (order.STEPS if steps is None else steps) if step.group in groups]
    run = _begin(owner_id, trigger, chosen, request_id)
    if run is None:
        return None
    with on_behalf_of(owner_id, COMPONENT):
        return _Run(run, groups, chosen, seconds).work()


def _begin(
    owner_id: UUID, trigger: RunTrigger, steps: Sequence[Step], request_id: UUID | None
) -> ConsolidationRun | None:
    moment = now()
    run = ConsolidationRun(
        id=request_id or new_id(),
        owner_id=owner_id,
        trigger=trigger,
        state=RunState.RUNNING,
        stage=steps[0].name if steps else "",
        stages=waiting(steps),
        started_at=moment,
    )
    with owner_scope(owner_id):
        if not lease.take(run.pk, moment=moment):
            return None
        if request_id is not None and not _still_waits(request_id):
            lease.release(run.pk)
            return None
        run.save(force_update=request_id is not None, force_insert=request_id is None)
        run_changed(run.pk)
    return run


def _still_waits(request_id: UUID) -> bool:
    """Tell whether nobody has answered a request meanwhile."""
    rows = ConsolidationRun.objects.filter(pk=request_id, state=RunState.DEFERRED, finished_at=None)
    return bool(rows.exists())


class _Run:
    """A run at work."""

    def __init__(self, run: ConsolidationRun, groups: Sequence[Group], steps: Sequence[Step], seconds: float) -> None:
        self._run = run
        self._groups = frozenset(groups)
        self._owner_id = run.owner_id
        self._steps = list(steps)
        self._reports: list[Kept] = []
        self._by_hand = run.trigger == RunTrigger.HAND
        self._deadline = time.monotonic() + seconds
        self._next_beat = time.monotonic() + BEAT_SECONDS
        self._failed_code = ""
        # How many stages have a report, also when they were stopped.
        self._done = 0

    def work(self) -> ConsolidationRun:
        """Do the stages and end the run."""
        with owner_scope(self._owner_id):
            situation = look(current_settings()["values"])
        try:
            tools = tools_of(situation.settings)
        except LociError as error:
            return self._end_unbegun(situation, error.machine_code)
        context = StageContext(
            actor=system(self._owner_id),
            run_id=self._run.pk,
            moment=self._run.started_at,
            settings=situation.settings,
            extractor=tools.extractor,
            local=tools.local,
            by_hand=self._by_hand,
            beat=self._beat,
        )
        self._run.extractor = tools.extractor.name
        stopped = ""
        try:
            for place, step in enumerate(self._steps):
                if place:
                    self._between(context, place)
                self._done = place + 1
                self._do(step, context, tools)
        except RunStopped as stop:
            stopped = stop.reason
        if stopped != "lease.lost":
            self._end(context, situation, stopped)
        return self._as_stored()

    def _end_unbegun(self, situation: Situation, code: str) -> ConsolidationRun:
        """End a run whose tools cannot be had; what it was to do stays due."""
        self._failed_code = code
        moment = now()
        with owner_scope(self._owner_id):
            self._ours().update(state=RunState.FAILED, error_code=code[:64], finished_at=moment, stage="")
            run_changed(self._run.pk)
            self._note_activity(situation, self._groups, moment)
            lease.release(self._run.pk)
        return self._as_stored()

    def _as_stored(self) -> ConsolidationRun:
        with owner_scope(self._owner_id):
            self._run.refresh_from_db()
        return self._run

    def _between(self, context: StageContext, place: int) -> None:
        self._keep(context, self._steps[place].name, place)
        self._next_beat = 0.0
        self._beat()

    def _beat(self) -> None:
        """Renew the heartbeat; raises RunStopped when the run has to end."""
        if time.monotonic() >= self._deadline:
            raise RunStopped("time.up")
        if time.monotonic() < self._next_beat:
            return
        self._next_beat = time.monotonic() + BEAT_SECONDS
        with owner_scope(self._owner_id):
            lease.renew(self._run.pk, moment=now())
        if not self._by_hand and user_work_waits(now()):
            raise RunStopped("work.waiting")

    def _do(self, step: Step, context: StageContext, tools: Tools) -> None:
        reason = self._reason_to_skip(step, context)
        if reason:
            self._reports.append(kept(StageReport(step.name, state=SKIPPED, skipped_reason=reason), step.group))
            return
        context.model = tools.model_for(step.group)
        if context.model is not None or (step.group is Group.KNOWLEDGE and context.extractor.prompts):
            self._run.risk_class = RiskClass.READ
        try:
            reports = list(step.stage(context))
        except RunStopped as stop:
            self._reports.append(kept(StageReport(step.name, state=STOPPED, skipped_reason=stop.reason), step.group))
            raise
        except LociError as error:
            reports = [_failed(step, error.machine_code)]
        except DatabaseError as error:
            logger.warning("stage %s failed: %s", step.name, _place(error))
            reports = [_failed(step, "database.failed")]
            if not connection.in_atomic_block:
                connection.close_if_unusable_or_obsolete()
        except Exception as error:
            # A bug: the class and place tell where, and a message could carry what somebody said.
            logger.error("stage %s failed: %s", step.name, _place(error))
            reports = [_failed(step, "internal")]
        if step.group is Group.KNOWLEDGE and tools.notes and reports:
            reports[0].notes.extend(tools.notes)
        for report in reports:
            report.notes[:] = report.notes[:MOST_NOTES]
            if report.state == FAILED and not self._failed_code:
                self._failed_code = report.skipped_reason or next(iter(report.notes), "stage.failed")
        self._reports += [kept(report, step.group) for report in reports]

    def _reason_to_skip(self, step: Step, context: StageContext) -> str:
        """Say why the graph is not divided now: the run that draws from the backlog's rest will change it again."""
        if step.group is Group.COMMUNITIES and not self._by_hand and context.totals.backlog_rows:
            return "backlog"
        return ""

    def _keep(self, context: StageContext, stage: str, done: int) -> bool:
        """Write how far the run is; tell whether the run is still ours."""
        run, usage, totals = self._run, context.usage, context.totals
        run.stages = [*self._reports, *waiting(self._steps[done:])]
        values = {
            "stage": stage,
            "stages": run.stages,
            "risk_class": run.risk_class,
            "extractor": run.extractor[:64],
            "batches": totals.batches,
            "rows_seen": totals.rows_seen,
            "bytes_seen": totals.bytes_seen,
            "bytes_skipped": totals.bytes_skipped,
            "backlog_rows": totals.backlog_rows,
            "backlog_bytes": totals.backlog_bytes,
            "failed_writes": totals.failed_writes,
            "llm_calls": usage.calls,
            "llm_failures": usage.failures,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
        }
        with owner_scope(self._owner_id):
            run_changed(self._run.pk, stages_done=done)
            return bool(self._ours().update(**values))

    def _ours(self) -> Any:
        return ConsolidationRun.objects.filter(pk=self._run.pk, state=RunState.RUNNING)

    def _end(self, context: StageContext, situation: Situation, stopped: str) -> None:
        """Close the row, note what was done for the next runs, and give the lease back, all at once."""
        moment = now()
        undone = self._steps[self._done :] if stopped else []
        state = RunState.FAILED if self._failed_code else RunState.DEFERRED if stopped else RunState.DONE
        code = self._failed_code or stopped
        with owner_scope(self._owner_id):
            if not self._keep(context, "", len(self._steps) - len(undone)):
                return
            self._ours().update(state=state, error_code=code[:64], finished_at=moment)
            self._note_activity(situation, {step.group for step in undone}, moment)
            lease.release(self._run.pk)

    def _note_activity(self, situation: Situation, undone: Set[Group], moment: datetime) -> None:
        unfinished = undone | {
            Group(report["group"])
            for report in self._reports
            if report["state"] in (FAILED, STOPPED) or MORE in report["notes"]
        }
        finished = self._groups - unfinished
        changes: dict[str, Any] = {_MARKS[group]: self._run.started_at for group in finished if group in _MARKS}
        if Group.KNOWLEDGE in finished:
            # Turns that came meanwhile count for the next run.
            changes["turns_since_consolidation"] = Greatest(F("turns_since_consolidation") - situation.turns, 0)
        spoken = situation.last_turn_at
        week_over = week_over_at(spoken, situation.reflected_at) if spoken is not None else None
        if Group.SUMMARIES in finished and week_over is not None and week_over <= self._run.started_at:
            changes["last_reflected_at"] = self._run.started_at
        OwnerActivity.objects.bulk_create([OwnerActivity(owner_id=self._owner_id)], ignore_conflicts=True)
        activity = OwnerActivity.objects.select_for_update().get()
        if self._failed_code:
            errors = min(activity.consolidation_errors + 1, 1_000)
            changes["consolidation_errors"] = errors
            changes["consolidate_after"] = moment + pause_after_errors(errors, situation.settings)
        else:
            changes |= {"consolidation_errors": 0, "consolidate_after": None}
        OwnerActivity.objects.filter(pk=activity.pk).update(**changes)


_MARKS: Final = {
    Group.KNOWLEDGE: "last_consolidated_at",
    Group.SLEEP: "last_slept_at",
    Group.SUMMARIES: "last_summarised_at",
    Group.FORGETTING: "last_forgotten_at",
}


def _failed(step: Step, code: str) -> StageReport:
    return StageReport(step.name, state=FAILED, notes=[code], skipped_reason=code)


def _place(error: BaseException) -> str:
    """Say where an error came from, without its message, which could carry what somebody said."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(place.filename).name}, {place.name}, line {place.lineno}"
