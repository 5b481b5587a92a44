"""Keeping one pattern of behaviour: a new memory, or more evidence for the one that says it already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.consolidation.reflecting import running_average
from memory.crypto.keyring import keyring
from memory.errors import Conflict
from memory.models import EdgeKind, Kind, Memory, MemorySource, Reflection, Status, Tier, owner_scope
from memory.services.actors import Target
from memory.services.changes import change_memory
from memory.services.consolidation.derived import (
    ABOUT,
    MOST_LINKS,
    ORIGIN,
    Derivation,
    link,
    note_sources,
    prepare,
    write,
)
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.drafts import Draft
from memory.services.graph.writing import change_graph
from memory.services.retirement import restore_memory

SOURCE: Final = f"{ORIGIN}/reflection"
MOST_SESSIONS: Final = 20
LONGEST: Final = 1_000
FADED: Final = "decay"
"""Why the retention policy archives; a pattern that shows again comes back from there, and from nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Insight:
    """A pattern to keep.

    Attributes:
        identity: tells it from others of its scope over time.
        text: how it is put now.
        confidence: by this evidence, 0 to 1.
        sources: the memories that speak for it, of which those not counted yet count.
        sessions: their conversations.
        tags: of the memory.
        fixed: keep the confidence as given instead of averaging it.
    """

    identity: str
    text: str
    confidence: float
    sources: Sequence[UUID]
    sessions: Sequence[UUID]
    tags: Sequence[str]
    fixed: bool = False


def keep(context: StageContext, report: StageReport, target: Target, insight: Insight) -> None:
    """Store a pattern or reinforce it; without effect when all of its evidence is counted already."""
    text = insight.text if len(insight.text) <= LONGEST else f"{insight.text[: LONGEST - 1].rstrip()}…"
    hashed = keyring().of(context.actor.owner_id).name(f"reflection\0{insight.identity.casefold()}")
    with owner_scope(context.actor.owner_id):
        known = Reflection.objects.filter(scope=target.scope, pattern_hash=hashed).first()
        memory = Memory.objects.filter(pk=known.memory_id).first() if known else None
        fresh = _fresh(memory, insight.sources) if memory else list(insight.sources)
    if known is None or memory is None:
        _make(context, report, target, insight, text, hashed)
        return
    if memory.status == Status.ARCHIVED and memory.archive_reason == FADED and fresh:
        try:
            restore_memory(actor=context.actor, memory_id=memory.pk)
        except Conflict:
            report.count("said_already")
            return
    elif memory.status != Status.LIVE:
        report.count("archived")
        return
    if memory.text != text:
        # Before the evidence is counted: a run that dies in between says it and counts with the next one.
        change_memory(actor=context.actor, memory_id=memory.pk, changes={"text": text})
    elif not fresh:
        report.count("unchanged")
        return
    _reinforce(context, target, insight, memory.pk)
    report.count("reinforced")


def _make(context: StageContext, report: StageReport, target: Target, insight: Insight, text: str, hashed: int) -> None:
    draft = Draft(
        text=text,
        kind=Kind.REFLECTION,
        tier=Tier.REFLECTION,
        category="observation",
        importance=0.6,
        confidence=insight.confidence,
        tags=insight.tags,
        source=SOURCE,
        metadata={ABOUT: f"reflection:{insight.tags[-1]}"},
        occurred_at=context.moment,
    )
    prepared = prepare(context.actor, Derivation(draft=draft, target=target, sources=insight.sources))
    with change_graph(context.actor, now=context.moment):
        if Reflection.objects.filter(scope=target.scope, pattern_hash=hashed).exists():
            return
        row = write(context.actor, prepared, moment=context.moment)
        if row is None or Reflection.objects.filter(memory_id=row.pk).exists():
            report.count("sources_gone" if row is None else "said_already")
            return
        Reflection(
            memory_id=row.pk,
            scope=row.scope,
            sealed_for=row.sealing_agent_id,
            pattern_hash=hashed,
            supporting_events=len(insight.sources),
            confidence=insight.confidence,
            sessions=[str(one) for one in insight.sessions][-MOST_SESSIONS:],
            last_reinforced_at=context.moment,
        ).save(force_insert=True)
    report.count("patterns")


def _reinforce(context: StageContext, target: Target, insight: Insight, memory_id: UUID) -> None:
    with change_graph(context.actor, now=context.moment):
        row = Memory.objects.select_for_update().filter(pk=memory_id, status=Status.LIVE).first()
        reflection = Reflection.objects.select_for_update().filter(memory_id=memory_id).first()
        if row is None or reflection is None:
            return
        fresh = _fresh(row, insight.sources)
        present = set(Memory.objects.filter(pk__in=fresh).values_list("pk", flat=True))
        fresh = [one for one in fresh if one in present]
        _count(reflection, insight, len(fresh), context.moment)
        row.confidence = reflection.confidence
        row.save(update_fields=["confidence"])
        note_sources(row, fresh, moment=context.moment)
        link(
            [(row.pk, one) for one in fresh[:MOST_LINKS]],
            kind=EdgeKind.DERIVED_FROM,
            target=target,
            moment=context.moment,
        )


def _count(reflection: Reflection, insight: Insight, events: int, moment: datetime) -> None:
    if not insight.fixed:
        mean = running_average(reflection.confidence, reflection.supporting_events, insight.confidence, events)
        reflection.confidence = min(1.0, max(0.0, mean))
    reflection.supporting_events += events
    sessions = [*(reflection.sessions or ()), *(str(one) for one in insight.sessions)]
    # The last time that each is named counts, so that the newest twenty stay.
    reflection.sessions = list(dict.fromkeys(reversed(sessions)))[:MOST_SESSIONS][::-1]
    reflection.last_reinforced_at = moment
    reflection.save()


def _fresh(row: Memory, sources: Sequence[UUID]) -> list[UUID]:
    known = set(MemorySource.objects.filter(memory_id=row.pk).values_list("turn_id", flat=True))
    return [one for one in sources if one not in known]
