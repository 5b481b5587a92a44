"""Stages for tests of runs, and short ways to look at what a run leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memory.models import ConsolidationRun, DueWork, Memory, OwnerActivity, owner_scope
from memory.services.actors import Actor, person
from memory.services.consolidation import order
from memory.services.consolidation.order import Group, Step
from memory.services.consolidation.stages import Stage, StageContext, StageReport
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.settings import change_settings

QUIET = {
    "sleep": "off",
    "summaries": False,
    "reflection": False,
    "skills": False,
    "forgetting": False,
    "communities": False,
}


def stages(monkeypatch: pytest.MonkeyPatch, *steps: Step) -> None:
    """Let runs have these stages and no other."""
    monkeypatch.setattr(order, "STEPS", steps)


def knowledge(stage: Stage, name: str = "draw") -> Step:
    return Step(name, Group.KNOWLEDGE, stage)


def quiet(owner: Actor, **settings: Any) -> None:
    """Switch everything off but what draws from texts, and choose further settings."""
    change_settings(actor=owner, changes={**QUIET, **settings})
    DueWork.objects.filter(owner_id=owner.owner_id).delete()


def draws_all(context: StageContext) -> Sequence[StageReport]:
    """Mark every waiting row as drawn from."""
    with owner_scope(context.actor.owner_id):
        rows = Memory.objects.filter(extracted_at=None).update(extracted_at=context.moment)
    context.totals.rows_seen += rows
    return [StageReport("draw", counts={"rows": rows})]


def draws(most: int) -> Stage:
    """Make a stage that draws from so many rows and leaves the others to the next run."""

    def stage(context: StageContext) -> Sequence[StageReport]:
        with owner_scope(context.actor.owner_id):
            waiting = Memory.objects.filter(extracted_at=None).order_by("created_at", "pk")
            chosen = list(waiting.values_list("pk", flat=True)[:most])
            Memory.objects.filter(pk__in=chosen).update(extracted_at=context.moment)
            context.totals.backlog_rows = Memory.objects.filter(extracted_at=None).count()
        context.totals.rows_seen += len(chosen)
        context.totals.batches += 1
        return [StageReport("draw", counts={"rows": len(chosen)})]

    return stage


def raises(error: Exception) -> Stage:
    def stage(context: StageContext) -> Sequence[StageReport]:
        raise error

    return stage


def does(action: Callable[[StageContext], object]) -> Stage:
    def stage(context: StageContext) -> Sequence[StageReport]:
        action(context)
        return [StageReport("did")]

    return stage


def state(owner: Actor, text: str) -> None:
    remember(actor=person(owner.owner_id), draft=Draft(text=text))


def runs_of(owner: Actor) -> list[ConsolidationRun]:
    """Give an owner's runs, the oldest first."""
    with owner_scope(owner.owner_id):
        return list(ConsolidationRun.objects.order_by("started_at", "pk"))


def activity_of(owner: Actor) -> OwnerActivity:
    with owner_scope(owner.owner_id):
        found: OwnerActivity = OwnerActivity.objects.get()
        return found


def due_of(owner: Actor) -> dict[str, Any]:
    """Give when an owner's work of consolidation is due, by job."""
    rows = DueWork.objects.filter(owner_id=owner.owner_id, job__startswith=DueWork.CONSOLIDATE)
    return dict(rows.values_list("job", "due_at"))


def undrawn(owner: Actor) -> int:
    with owner_scope(owner.owner_id):
        return int(Memory.objects.filter(extracted_at=None).count())
