"""What a run of consolidation has made and archived, found by its time, since runs of an owner never overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, QuerySet

from memory.crypto.keyring import keyring
from memory.models import (
    ConsolidationRun,
    Kind,
    LabelKind,
    Memory,
    MemoryLabel,
    ReviewItem,
    Status,
    owner_scope,
)
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.consolidation.forgetting import REASON as FADED
from memory.services.consolidation.runs import get_run
from memory.services.features import require_memory
from memory.services.opening import opened
from memory.services.retirement import CONTRADICTED

SOURCE: Final = "consolidation"
MOST_SHOWN: Final = 20
CONCLUDED: Final = (Kind.INSIGHT, Kind.PATTERN, Kind.REFLECTION, Kind.SUMMARY)


@dataclass(frozen=True, slots=True)
class Some:
    """The first of some memories, and how many there are."""

    rows: tuple[Memory, ...] = ()
    count: int = 0


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a run that still stands.

    Attributes:
        facts: statements drawn from what was said.
        concluded: insights, patterns, reflections and summaries.
        archived: what has faded and was archived; each can be restored.
        superseded: statements that made way for newer ones; each can be restored.
        reviews: items that it put before a person, by kind.
    """

    facts: Some = field(default_factory=Some)
    concluded: Some = field(default_factory=Some)
    archived: Some = field(default_factory=Some)
    superseded: Some = field(default_factory=Some)
    reviews: dict[str, int] = field(default_factory=dict)


def made_by(*, actor: Actor, run_id: UUID) -> Made:
    """Find what a run has made; for persons, since it goes over everything of the owner. Raises NotFound."""
    require_memory()
    actor.require(Permission.READ)
    run = get_run(actor=actor, run_id=run_id)
    if run.started_at is None or (run.finished_at is None and run.stage == ""):
        return Made()
    with owner_scope(actor.owner_id):
        span = (run.started_at, run.finished_at or now())
        drawn = _drawn(actor)
        made = Memory.objects.filter(created_at__range=span, status=Status.LIVE)
        archived = Memory.objects.filter(archived_at__range=span)
        return Made(
            facts=_some(made.filter(pk__in=drawn).exclude(kind__in=CONCLUDED)),
            concluded=_some(made.filter(kind__in=CONCLUDED)),
            archived=_some(archived.filter(status=Status.ARCHIVED, archive_reason=FADED)),
            superseded=_some(archived.filter(status=Status.SUPERSEDED, archive_reason=CONTRADICTED)),
            reviews=_reviews(run),
        )


def list_concluded(
    *, actor: Actor, kinds: Sequence[str], after: tuple[datetime, UUID] | None, size: int
) -> tuple[list[Memory], dict[str, int]]:
    """List what was concluded that stands, the newest first, and count all of it by kind.

    Args:
        actor: who asks; a person.
        kinds: of these kinds only, all of `CONCLUDED` when empty.
        after: creation time and id of the last row of the page before.
        size: most rows.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        standing = Memory.objects.filter(status=Status.LIVE, kind__in=CONCLUDED)
        if actor.readable is not None:
            standing = standing.filter(scope__in=actor.readable)
        counts = dict(standing.order_by().values_list("kind").annotate(n=Count("pk")))
        rows = standing.filter(kind__in=kinds) if kinds else standing
        if after is not None:
            rows = rows.filter(created_at__lte=after[0]).exclude(created_at=after[0], pk__gte=after[1])
        return opened(list(rows.order_by("-created_at", "-pk")[:size])), counts


def _drawn(actor: Actor) -> QuerySet[MemoryLabel, UUID]:
    """Give the memories whose source is consolidation."""
    label = keyring().of(actor.owner_id).name(SOURCE)
    found: QuerySet[MemoryLabel, UUID] = MemoryLabel.objects.filter(kind=LabelKind.SOURCE, label=label).values_list(
        "memory_id", flat=True
    )
    return found


def _some(rows: QuerySet[Memory]) -> Some:
    first = opened(list(rows.order_by("-created_at", "-pk")[: MOST_SHOWN + 1]))
    count = len(first) if len(first) <= MOST_SHOWN else rows.count()
    return Some(tuple(first[:MOST_SHOWN]), count)


def _reviews(run: ConsolidationRun) -> dict[str, int]:
    rows = ReviewItem.objects.filter(run_id=run.pk)
    return dict(rows.order_by().values_list("kind").annotate(n=Count("pk")))
