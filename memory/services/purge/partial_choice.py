"""What a partial purge takes: single memories, whatever came from a source, or all that an agent stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.keyring import keyring
from memory.models import BusMessage, Memory, MemorySource, PurgeSubject, current_owner
from memory.services.bus.accepting import ORIGIN
from memory.services.erasing import would_go_with
from memory.services.provenance import of_source_hash, resting_on
from memory.services.remains import ID
from memory.services.sealed_values import is_closed

Target = Mapping[str, Any]
"""What `Purge.target` of a partial purge holds: `memories`, `source` or `agent`; `within`, the scopes that whoever
asked may read, null for all; and `seal`.
"""


@dataclass(slots=True)
class Chosen:
    """What is to go.

    Attributes:
        memories: those that go themselves, in order.
        drawn: those that rest on them and on nothing else, as far as the choice tells.
        staying: memories for which others speak too, with the rows of `MemorySource` that they lose.
    """

    memories: list[UUID] = field(default_factory=list)
    drawn: list[UUID] = field(default_factory=list)
    staying: dict[UUID, set[UUID]] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Tell whether there is nothing to do."""
        return not (self.memories or self.drawn or self.staying)


def choose(subject: str, target: Target, *, until: datetime) -> Chosen:
    """Find what a partial purge takes now, within the owner's scope; what it has taken already is not found again.

    Args:
        subject: `memory`, `source` or `agent`.
        target: see `Target`.
        until: of memories and sources only what was stored by then counts; an agent stores nothing any more.
    """
    if subject == PurgeSubject.AGENT:
        return _of_agent(UUID(target["agent"]))
    rows = _within(target).filter(created_at__lte=until)
    if subject == PurgeSubject.MEMORY:
        named = [UUID(one) for one in target["memories"]]
        return Chosen(memories=sorted(rows.filter(pk__in=named).values_list("pk", flat=True)))
    found = of_source_hash(target["source"], ring=keyring().of(current_owner()), rows=rows)
    return Chosen(found.forgotten, found.drawn, found.staying)


def is_told_all(target: Target) -> bool:
    """Tell whether whoever asked may know of everything that goes; an agent may not."""
    return target.get("within") is None


def going_with(memory_ids: Sequence[UUID]) -> set[UUID]:
    """Find all that goes when some memories are erased, these included; call it within the owner's scope, before."""
    return {*memory_ids, *would_go_with(memory_ids)}


def told_of(going: Collection[UUID], target: Target) -> set[UUID]:
    """Find of what is about to go that which whoever asked may know of, within the owner's scope.

    Nothing may quote what is erased, so what was drawn from it alone goes too where it is hidden from the one who
    asked; that one is not told that there was such a memory.
    """
    return set(_within(target).filter(pk__in=going).values_list("pk", flat=True))


def accepted_as(going: Collection[UUID], target: Target | None = None) -> QuerySet[BusMessage]:
    """Find the messages of the bus from which some memories were accepted, within the owner's scope.

    Args:
        going: the memories.
        target: whether only messages count that whoever asked may read; all of them when left out.
    """
    publishers: dict[UUID, set[UUID]] = defaultdict(set)
    for one in MemorySource.objects.filter(memory_id__in=going).exclude(source=None).iterator():
        origin, _, agent_id = ("" if is_closed(one, "source") else one.source or "").partition("/")
        if origin == ORIGIN and ID.fullmatch(agent_id):
            publishers[one.memory_id].add(UUID(agent_id))
    said = {
        (row.pk, publisher): (row.occurred_at, None if is_closed(row, "text") else row.text)
        for row in Memory.objects.filter(pk__in=publishers)
        for publisher in publishers[row.pk]
    }
    rows: QuerySet[BusMessage] = BusMessage.objects.filter(publisher_id__in={one for _, one in said})
    found = [
        message.pk
        for message in rows
        if not is_closed(message, "text")
        and any(
            publisher == message.publisher_id and (at == message.published_at or text == message.text)
            for (_, publisher), (at, text) in said.items()
        )
    ]
    scopes = None if target is None else target.get("within")
    rows = BusMessage.objects.filter(pk__in=found)
    return rows if scopes is None else rows.filter(scope__in=[UUID(one) for one in scopes])


def _within(target: Target) -> QuerySet[Memory]:
    rows: QuerySet[Memory] = Memory.objects.all()
    scopes = target.get("within")
    return rows if scopes is None else rows.filter(scope__in=[UUID(one) for one in scopes])


def _of_agent(agent_id: UUID) -> Chosen:
    """Find all that an agent stored; what others stated too stays, unless nobody else may read it."""
    own = set(Memory.objects.filter(Q(scope=agent_id) | Q(session__agent_id=agent_id)).values_list("pk", flat=True))
    lost: dict[UUID, set[UUID]] = defaultdict(set)
    stated = MemorySource.objects.filter(Q(agent_id=agent_id) | Q(memory_id__in=own))
    for memory_id, pk in stated.values_list("memory_id", "pk"):
        lost[memory_id].add(pk)
    for pk in own | set(Memory.objects.filter(agent_id=agent_id).values_list("pk", flat=True)):
        lost.setdefault(pk, set())
    found = resting_on(dict(lost), allowed=set(Memory.objects.values_list("pk", flat=True)))
    staying = {one: rows for one, rows in found.staying.items() if rows}
    return Chosen(found.forgotten, found.drawn, staying)
