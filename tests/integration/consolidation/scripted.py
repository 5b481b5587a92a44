"""An extractor that says what a test tells it to, and short ways to run the stages of knowledge with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from memory.models import ConsolidationRun, Memory, MemorySource, RunTrigger, Status, owner_scope
from memory.ports import (
    Claim,
    Extract,
    ExtractedCause,
    ExtractedEntity,
    ExtractedEvent,
    ExtractedFact,
    ExtractedRelation,
    Extractor,
    Passage,
)
from memory.services.actors import Actor, system
from memory.services.consolidation.knowledge import run
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.settings_table import OWNER_SETTINGS

MAY = datetime(2026, 5, 4, 9, tzinfo=UTC)

Item = ExtractedEntity | ExtractedRelation | ExtractedFact | ExtractedEvent | ExtractedCause
Script = Mapping[str, Sequence[Item | str]]


class Scripted:
    """Draws from each text what its script says; a word in place of an item is the code with which it fails."""

    name = "scripted"
    prompts = False

    def __init__(self, script: Script) -> None:
        self.script = script
        self.seen: list[Passage] = []
        self.calls = 0

    def extract(self, passages: Sequence[Passage]) -> Extract:
        self.calls += 1
        self.seen += passages
        found: dict[type, list[Any]] = {}
        failed: dict[str, str] = {}
        for passage in passages:
            for item in self.script.get(passage.text, ()):
                if isinstance(item, str):
                    failed[passage.key] = item
                elif isinstance(item, ExtractedEntity):
                    found.setdefault(ExtractedEntity, []).append(replace(item, passages=(passage.key,)))
                else:
                    found.setdefault(type(item), []).append(replace(item, passage=passage.key))
        return Extract(
            entities=found.get(ExtractedEntity, []),
            relations=found.get(ExtractedRelation, []),
            facts=found.get(ExtractedFact, []),
            events=found.get(ExtractedEvent, []),
            causes=found.get(ExtractedCause, []),
            failed=failed,
        )


class Everything:
    """Draws one fact from every text: the text itself."""

    name = "everything"
    prompts = False

    def extract(self, passages: Sequence[Passage]) -> Extract:
        return Extract(facts=[ExtractedFact(text=one.text, passage=one.key) for one in passages])


def consolidate(
    owner: Actor,
    extractor: Extractor,
    *,
    at: datetime = MAY,
    beat: Callable[[], None] = lambda: None,
    **settings: Any,
) -> tuple[dict[str, StageReport], StageContext]:
    """Run the stages of knowledge for an owner and give their reports by name, and the context."""
    with owner_scope(owner.owner_id):
        begun = ConsolidationRun.objects.create(trigger=RunTrigger.HAND, started_at=at)
    context = StageContext(
        actor=system(owner.owner_id),
        run_id=begun.pk,
        moment=at,
        settings={name: one.default for name, one in OWNER_SETTINGS.items()} | settings,
        extractor=extractor,
        beat=beat,
    )
    return {report.name: report for report in run(context)}, context


def facts_of(owner: Actor, status: str = Status.LIVE) -> list[Memory]:
    """List what consolidation has stored, opened, oldest first."""
    with owner_scope(owner.owner_id):
        rows = Memory.objects.filter(status=status, session__isnull=True).order_by("created_at", "pk")
        found = [row for row in rows if (row.source or "").startswith("consolidation/")]
        for row in found:
            _ = row.text
        return found


def texts_of(owner: Actor, status: str = Status.LIVE) -> list[str]:
    """List the texts of what consolidation has stored, in alphabetical order."""
    return sorted(row.text for row in facts_of(owner, status))


def turns_of(owner: Actor, memory_id: UUID) -> list[UUID | None]:
    """List the sources of a memory by the turns that they are."""
    with owner_scope(owner.owner_id):
        rows = MemorySource.objects.filter(memory_id=memory_id).order_by("created_at", "pk")
        return list(rows.values_list("turn_id", flat=True))


def preference(text: str, value: str, polarity: int = 1, subject: str = "user", **options: Any) -> ExtractedFact:
    """Make a fact that claims what somebody likes."""
    claim = Claim(subject=subject, attribute="likes", value=value, polarity=polarity)
    return ExtractedFact(text=text, kind="preference", category="preference", claim=claim, **options)


def home(text: str, place: str, subject: str = "user", **options: Any) -> ExtractedFact:
    """Make a fact that claims where somebody lives."""
    return ExtractedFact(
        text=text, claim=Claim(subject=subject, attribute="lives_in", value=place, single=True), **options
    )
