"""What summaries must not tell as what holds: sentences of turns whose statements others have taken the place of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Q

from memory.consolidation.summarising import Passage, sentences_of
from memory.models import Kind, Memory, MemorySource, Status, owner_scope
from memory.services.actors import Target
from memory.services.consolidation.stages import StageContext
from memory.services.opening import opened
from memory.services.retirement import CONTRADICTED

STATEMENTS: Final = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.INSTRUCTION)
MOST_TURNS: Final = 500
MOST_TOLD: Final = 20


@dataclass(frozen=True, slots=True)
class Outdated:
    """What does not hold any longer of what some summaries rest on.

    Attributes:
        turns: those from which no live statement is drawn and at least one that was contradicted, the newest first.
        quotes: their sentences as summaries quote them, by the day in UTC on which they were said.
        statements: the newest texts of what was drawn from them, to be told to a model.
    """

    turns: Sequence[UUID] = ()
    quotes: Mapping[date, frozenset[str]] = field(default_factory=dict)
    statements: Sequence[str] = ()

    def quoted(self, line: str, on: date | None) -> bool:
        """Tell whether a line of a summary quotes such a turn, with or without its speaker's name before it.

        Args:
            line: without bullet and date.
            on: the day that it tells of; any day counts where that is not known.
        """
        known = [self.quotes.get(on, frozenset())] if on is not None else list(self.quotes.values())
        return any(line == quote or line.endswith(f": {quote}") for quotes in known for quote in quotes)


def outdated_turns(context: StageContext, summaries: Sequence[UUID], target: Target, *, hops: int) -> list[UUID]:
    """List the turns under some summaries that say nothing that holds any longer, the newest first.

    Args:
        context: of the run.
        summaries: ids of summaries of one level.
        target: their scope.
        hops: how many steps lead from them to turns: one from summaries of days, two from those of weeks.

    Returns:
        At most 500 ids, by one query.
    """
    if not summaries:
        return []
    with owner_scope(context.actor.owner_id):
        under = MemorySource.objects.filter(memory_id__in=list(summaries))
        for _ in range(hops - 1):
            under = MemorySource.objects.filter(memory_id__in=under.filter(turn__isnull=False).values("turn_id"))
        turns = Memory.objects.filter(
            pk__in=under.filter(turn__isnull=False).values("turn_id"), scope=target.scope, kind=Kind.TURN
        )
        drawn = MemorySource.objects.filter(turn_id__in=turns.values("pk"), memory__kind__in=STATEMENTS)
        counted = drawn.values("turn_id", "turn__occurred_at").annotate(
            gone=Count("pk", filter=Q(memory__status=Status.SUPERSEDED, memory__archive_reason=CONTRADICTED)),
            live=Count("pk", filter=Q(memory__status=Status.LIVE)),
        )
        found = counted.filter(gone__gt=0, live=0).order_by("-turn__occurred_at", "-turn_id")
        return [one["turn_id"] for one in found[:MOST_TURNS]]


def open_outdated(context: StageContext, turns: Sequence[UUID], target: Target) -> Outdated:
    """Open what turns say that holds no longer, see `outdated_turns`; three short queries at most."""
    if not turns:
        return Outdated()
    with owner_scope(context.actor.owner_id):
        rows = opened(list(Memory.objects.filter(pk__in=list(turns), scope=target.scope)))
        drawn = MemorySource.objects.filter(turn_id__in=list(turns), memory__archive_reason=CONTRADICTED)
        gone = Memory.objects.filter(pk__in=drawn.values("memory_id"), scope=target.scope, status=Status.SUPERSEDED)
        statements = [row.text for row in opened(list(gone.order_by("-archived_at", "pk")[:MOST_TOLD]))]
    quotes: dict[date, set[str]] = defaultdict(set)
    for row in rows:
        passage = Passage(key=row.pk, text=str(row.text), speaker="", occurred_at=row.occurred_at)
        quotes[row.occurred_at.astimezone(UTC).date()].update(one.text for one in sentences_of([passage]))
    return Outdated(tuple(turns), {day: frozenset(said) for day, said in quotes.items()}, tuple(statements))


def said_before(context: StageContext, since: datetime | None) -> list[tuple[Target, datetime]]:
    """List scope and moment of the turns whose statements were contradicted since a moment, by one query."""
    with owner_scope(context.actor.owner_id):
        rows = MemorySource.objects.filter(
            memory__status=Status.SUPERSEDED, memory__archive_reason=CONTRADICTED, turn__kind=Kind.TURN
        )
        if since is not None:
            rows = rows.filter(memory__archived_at__gte=since)
        found = rows.values_list("turn__visibility", "turn__scope", "turn__group_id", "turn__occurred_at")
        return [(Target(*scope), at) for *scope, at in found.order_by("turn__occurred_at", "turn_id")]
