"""Contradictions: the statement that was made last stands, and the other becomes history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Max

from memory.consolidation.contradiction import Claimant, Doubt, Held, Retirement, judge
from memory.models import (
    AuditEvent,
    Memory,
    MemorySource,
    MemoryVersion,
    ReviewKind,
    Status,
)
from memory.services.actors import Target
from memory.services.audit.recording import event_of
from memory.services.consolidation.claims import memories_against
from memory.services.consolidation.derived import made_here
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport
from memory.services.retirement import CONTRADICTED
from memory.services.reviews import open_review
from memory.services.superseding import Successor, supersede_contradicted

OFF: Final = "off"
ENFORCE: Final = "enforce"


def settle(context: StageContext, asserted: Iterable[UUID], target: Target, report: StageReport) -> None:
    """Judge what the memories that were stated now contradict, and carry it out where the setting says so.

    Turns claim nothing and stay as they are. Call it while the graph is the caller's.

    Args:
        context: of the run; the setting `consistency` is `enforce`, `log` to count only, or `off`.
        asserted: memories of the target's scope that claim something, stated or stated again.
        target: their scope.
        report: counts.
    """
    mode = context.settings["consistency"]
    stated = set(asserted)
    if mode == OFF:
        report.state, report.skipped_reason = SKIPPED, "setting.off"
        return
    claims = memories_against(stated, scope=target.scope) if stated else {}
    if len(claims) < 2:
        return
    verdict = judge(_claimants(claims), asserted=stated)
    report.count("conflicts", verdict.found)
    if mode != ENFORCE:
        return
    report.count("retired", _retire(context, verdict.retirements))
    report.count("contested", _ask(context, verdict.doubts, target))


def last_stated(rows: Sequence[Memory]) -> dict[UUID, datetime]:
    """Give when memories were last stated: when they occurred, or the newest turn that says the same."""
    turns = (
        MemorySource.objects.filter(memory_id__in=[row.pk for row in rows], turn__isnull=False)
        .values("memory_id")
        .annotate(at=Max("turn__occurred_at"))
    )
    newest = {one["memory_id"]: one["at"] for one in turns}
    return {row.pk: max(row.occurred_at, newest.get(row.pk) or row.occurred_at) for row in rows}


def _claimants(claims: Mapping[UUID, tuple[Held, ...]]) -> list[Claimant]:
    rows = list(
        Memory.objects.filter(pk__in=list(claims)).defer("text", "tags", "topics", "metadata", "speaker").order_by("pk")
    )
    stated_at = last_stated(rows)
    by_person = MemoryVersion.objects.filter(memory_id__in=list(claims), actor="person")
    confirmed = set(by_person.values_list("memory_id", flat=True))
    found: list[Claimant] = []
    for row in rows:
        extracted = made_here(row)
        found.append(
            Claimant(
                memory_id=row.pk,
                claims=claims[row.pk],
                begins=row.valid_from or row.occurred_at,
                stated_at=stated_at[row.pk],
                importance=row.importance,
                confidence=row.confidence,
                stated_by_person=row.pk in confirmed or (row.agent_id is None and not extracted),
                extracted=extracted,
            )
        )
    return found


def _retire(context: StageContext, retirements: Sequence[Retirement]) -> int:
    due = {one.older: Successor(one.newer, one.until) for one in retirements}
    if not due:
        return 0
    rows = list(Memory.objects.select_for_update(no_key=True).filter(pk__in=due, status=Status.LIVE).order_by("pk"))
    supersede_contradicted(actor=context.actor, rows=rows, successors=due, moment=context.moment)
    AuditEvent.objects.bulk_create(
        [
            event_of(
                actor=context.actor.label,
                verb="supersede",
                object_kind="memory",
                object_id=row.pk,
                reason=CONTRADICTED,
                at=context.moment,
            )
            for row in rows
        ]
    )
    return len(rows)


def _ask(context: StageContext, doubts: Sequence[Doubt], target: Target) -> int:
    opened = 0
    for doubt in doubts:
        item = open_review(
            actor=context.actor,
            kind=ReviewKind.CONTRADICTION,
            reason=doubt.reason,
            confidence=0.5,
            payload={"older": str(doubt.older), "newer": str(doubt.newer), "reason": doubt.reason},
            target=target,
            evidence=[(doubt.newer, ""), (doubt.older, "")],
            run_id=context.run_id,
        )
        opened += item is not None
    return opened
