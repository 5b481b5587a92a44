"""The review queue as a person works through it: filtered, ordered, one at a time, and by where items come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Count, Q, QuerySet

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import InvalidInput
from memory.models import (
    LabelKind,
    Memory,
    MemoryLabel,
    ReviewEvidence,
    ReviewItem,
    ReviewKind,
    ReviewState,
    Session,
    owner_scope,
)
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.drafts import source_segments
from memory.services.features import require_memory
from memory.services.forgetting import checked_prefix
from memory.services.legible import legible
from memory.services.opening import opened
from memory.services.reviews import Reviewed, in_state, shown, visible_reviews

MOST_SOURCES: Final = 20
MOST_DAYS: Final = 3_650
MOST_ITEMS: Final = 100
# By the column of its first key; the id decides between two alike.
ORDERS: Final[Mapping[str, tuple[str, bool]]] = {
    "oldest": ("created_at", False),
    "newest": ("created_at", True),
    "doubtful": ("confidence", False),
    "surest": ("confidence", True),
}
"""What the items are ordered by, and whether from the greatest on."""


SOURCES_SQL: Final = """
    SELECT named.label, count(DISTINCT drawn.item_id), (array_agg(drawn.memory_id ORDER BY drawn.memory_id))[1]
    FROM ({drawn}) AS drawn
    JOIN memory_memorylabel AS named
      ON named.memory_id = drawn.memory_id AND named.owner_id = %s AND named.kind = %s
    GROUP BY named.label ORDER BY 2 DESC, 1 LIMIT %s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRequest:
    """Which items, in which order.

    Attributes:
        state: `open`, `snoozed`, `approved` or `rejected`.
        kinds: of these kinds; all when empty.
        agent_id: drawn from what this agent stored.
        session_id: drawn from this conversation.
        source: drawn from memories of this source, or of one below it.
        source_label: the same by the keyed label of a source, see `Origin`, for addresses that must not name it.
        least, most: the range of confidence, 0 to 1.
        newer_days: opened in the last so many days; all when None.
        older_days: opened before so many days; all when None.
        order: one of `ORDERS`.
    """

    state: str = ReviewState.OPEN
    kinds: tuple[str, ...] = ()
    agent_id: UUID | None = None
    session_id: UUID | None = None
    source: str = ""
    source_label: int | None = None
    least: float = 0.0
    most: float = 1.0
    newer_days: int | None = None
    older_days: int | None = None
    order: str = "oldest"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an item stands in a queue: its number from 1 on, how many there are, and its neighbours."""

    number: int
    total: int
    before: UUID | None
    after: UUID | None


@dataclass(frozen=True, slots=True)
class QueueItem:
    """An item in its place."""

    reviewed: Reviewed
    place: Place


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Items one after another, and how many the whole queue has."""

    items: tuple[Reviewed, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Origin:
    """Where items come from: `agent`, `session` or `source`, its id or name, its label, and how many items.

    A source has its keyed label beside its name.
    """

    sort: str
    value: str
    label: str | None
    items: int
    key: int | None = None


def _behind(answer: QueueItem | QueuePage | None, values: Mapping[str, Any]) -> list[UUID]:
    """Give the ids of the memories that an answer shows words of."""
    if answer is None:
        return []
    items = (answer.reviewed,) if isinstance(answer, QueueItem) else answer.items
    return sorted({one.memory_id for reviewed in items for one in reviewed.evidence})


@reads("review", memories=_behind)
def queue_item(*, actor: Actor, request: QueueRequest, item_id: UUID | None = None) -> QueueItem | None:
    """Give an item of the queue with its place; the first one when none is named or the named one left the queue.

    Returns:
        None when the queue is empty.

    Raises:
        InvalidInput: a filter or an order that there is not.
    """
    with _queue(actor, request) as rows:
        row = rows.filter(pk=item_id).first() if item_id is not None else None
        row = row or _ordered(rows, request).first()
        if row is None:
            return None
        earlier, later = rows.filter(_beside(row, request, later=False)), rows.filter(_beside(row, request, later=True))
        place = Place(
            number=earlier.count() + 1,
            total=rows.count(),
            before=_ordered(earlier, request, backwards=True).values_list("pk", flat=True).first(),
            after=_ordered(later, request).values_list("pk", flat=True).first(),
        )
        return QueueItem(shown(actor, [row], at=now())[0], place)


@reads("reviews", memories=_behind)
def queue_page(*, actor: Actor, request: QueueRequest, after: UUID | None = None, size: int = 50) -> QueuePage:
    """List items of the queue in its order, and count all of it.

    Args:
        actor: who asks.
        request: which items.
        after: the last item of the page before; from the beginning when it is not in the queue any more.
        size: most items, up to 101.

    Raises:
        InvalidInput: a filter or an order that there is not.
    """
    with _queue(actor, request) as rows:
        total = rows.count()
        last = rows.filter(pk=after).first() if after is not None else None
        following = rows.filter(_beside(last, request, later=True)) if last is not None else rows
        rows_here = list(_ordered(following, request)[: min(size, MOST_ITEMS + 1)])
        return QueuePage(tuple(shown(actor, rows_here, at=now())), total)


def queue_origins(*, actor: Actor, request: QueueRequest) -> list[Origin]:
    """Count the items of the queue by agent, conversation and source, the most frequent twenty of each.

    An item that was drawn from two of them counts for both.

    Raises:
        InvalidInput: a filter or an order that there is not.
    """
    with _queue(actor, request) as rows:
        evidence = ReviewEvidence.objects.filter(item_id__in=rows.values("pk"))
        if actor.readable is not None:
            evidence = evidence.filter(scope__in=actor.readable)
        of = evidence.filter(memory__owner_id=actor.owner_id)
        agents = [
            Origin("agent", str(agent), None, count)
            for agent, count in _counted(of.exclude(memory__agent_id=None), "memory__agent_id")
        ]
        sessions = _counted(of.exclude(memory__session_id=None), "memory__session_id")
        names = {row.pk: legible(row, "label") for row in Session.objects.filter(pk__in=[pk for pk, _ in sessions])}
        said = [Origin("session", str(session), names.get(session), count) for session, count in sessions]
        return [*agents, *said, *_sources(actor, evidence)]


def source_named(*, actor: Actor, label: int) -> str | None:
    """Give the name of the source that has a keyed label; None where no memory has it that the actor may read."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        memories = Memory.objects.filter(
            pk__in=MemoryLabel.objects.filter(kind=LabelKind.SOURCE, label=label).values("memory_id")
        )
        if actor.readable is not None:
            memories = memories.filter(scope__in=actor.readable)
        found = opened(list(memories.order_by("pk")[:1]))
        return _source_in(found[0], keyring().of(actor.owner_id), label) if found else None


@contextmanager
def _queue(actor: Actor, request: QueueRequest) -> Iterator[QuerySet[ReviewItem]]:
    """Give the items of a request, within the owner's scope."""
    require_memory()
    actor.require(Permission.READ)
    _check(request)
    with owner_scope(actor.owner_id):
        yield _filtered(actor, request, now())


def _check(request: QueueRequest) -> None:
    if request.state not in ReviewState.values:
        raise InvalidInput(f"state is one of {', '.join(ReviewState.values)}.", code="state.invalid", field="state")
    if any(kind not in ReviewKind.values for kind in request.kinds):
        raise InvalidInput(f"kind is one of {', '.join(ReviewKind.values)}.", code="kind.invalid", field="kind")
    if request.order not in ORDERS:
        raise InvalidInput(f"order is one of {', '.join(ORDERS)}.", code="order.invalid", field="order")
    if not 0 <= request.least <= request.most <= 1:
        raise InvalidInput(
            "The range of confidence lies between 0 and 1, the lower end first.",
            code="unit.invalid",
            field="confidence",
        )
    for days in (request.newer_days, request.older_days):
        if days is not None and not 0 < days <= MOST_DAYS:
            raise InvalidInput(f"The age is 1 to {MOST_DAYS} days.", code="limit.out_of_range", field="age")


def _filtered(actor: Actor, request: QueueRequest, moment: datetime) -> QuerySet[ReviewItem]:
    rows = visible_reviews(actor).filter(in_state(request.state, moment))
    rows = rows.filter(confidence__gte=request.least, confidence__lte=request.most)
    if request.kinds:
        rows = rows.filter(kind__in=request.kinds)
    if request.newer_days is not None:
        rows = rows.filter(created_at__gte=moment - timedelta(days=request.newer_days))
    if request.older_days is not None:
        rows = rows.filter(created_at__lt=moment - timedelta(days=request.older_days))
    memories = _memories(actor, request)
    if memories is None:
        return rows
    evidence = ReviewEvidence.objects.filter(memory_id__in=memories)
    if actor.readable is not None:
        evidence = evidence.filter(scope__in=actor.readable)
    return rows.filter(pk__in=evidence.values("item_id"))


def _memories(actor: Actor, request: QueueRequest) -> QuerySet[Any, Any] | None:
    """Give the memories from which the items must be drawn; None where it does not matter."""
    memories = Memory.objects.all()
    if actor.readable is not None:
        memories = memories.filter(scope__in=actor.readable)
    if request.agent_id is not None:
        memories = memories.filter(agent_id=request.agent_id)
    if request.session_id is not None:
        memories = memories.filter(session_id=request.session_id)
    if request.source:
        label = keyring().of(actor.owner_id).name(checked_prefix(request.source, field="source"))
        named = MemoryLabel.objects.filter(kind=LabelKind.SOURCE, label=label)
        memories = memories.filter(pk__in=named.values("memory_id"))
    if request.source_label is not None:
        named = MemoryLabel.objects.filter(kind=LabelKind.SOURCE, label=request.source_label)
        memories = memories.filter(pk__in=named.values("memory_id"))
    chosen_by = (request.agent_id, request.session_id, request.source or None, request.source_label)
    if all(one is None for one in chosen_by):
        return None
    chosen: QuerySet[Any, Any] = memories.values("pk")
    return chosen


def _ordered(rows: QuerySet[ReviewItem], request: QueueRequest, *, backwards: bool = False) -> QuerySet[ReviewItem]:
    column, falling = ORDERS[request.order]
    sign = "-" if falling != backwards else ""
    return rows.order_by(f"{sign}{column}", f"{sign}pk")


def _beside(row: ReviewItem, request: QueueRequest, *, later: bool) -> Q:
    """Give what stands before or after an item in the order."""
    column, falling = ORDERS[request.order]
    towards = "lt" if falling == later else "gt"
    value = getattr(row, column)
    return Q(**{f"{column}__{towards}": value}) | Q(**{column: value, f"pk__{towards}": row.pk})


def _counted(evidence: QuerySet[ReviewEvidence], column: str) -> list[tuple[UUID, int]]:
    found = evidence.order_by().values_list(column).annotate(n=Count("item_id", distinct=True))
    return list(found.order_by("-n", column)[:MOST_SOURCES])


def _sources(actor: Actor, evidence: QuerySet[ReviewEvidence]) -> list[Origin]:
    """Count by source; its name stands in the memories alone, so one of each is opened."""
    ring = keyring().of(actor.owner_id)
    drawn, parameters = evidence.order_by().values("item_id", "memory_id").query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(
            SOURCES_SQL.format(drawn=drawn), [*parameters, actor.owner_id, int(LabelKind.SOURCE), MOST_SOURCES]
        )
        counted = cursor.fetchall()
    memories = {row.pk: row for row in opened(list(Memory.objects.filter(pk__in={one[2] for one in counted})))}
    found = []
    for hashed, items, memory_id in counted:
        memory = memories.get(memory_id)
        name = _source_in(memory, ring, hashed) if memory is not None else None
        if name is not None:
            found.append(Origin("source", name, name, items, hashed))
    # Among as many by name: keyed hashes come in another order for each owner.
    return sorted(found, key=lambda one: (-one.items, one.value))


def _source_in(memory: Memory, ring: OwnerRing, label: int) -> str | None:
    """Find the source of a memory, or one above it, that has a keyed label."""
    return next((one for one in source_segments(memory.source or "") if one and ring.name(one) == label), None)
