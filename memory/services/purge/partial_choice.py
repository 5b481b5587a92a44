"""What a partial purge takes: single memories, whatever came from a source, or all that an agent stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.keyring import keyring
from memory.models import Memory, MemorySource, PurgeSubject, current_owner
from memory.services.provenance import of_source_hash, resting_on

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
