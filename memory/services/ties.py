"""What a memory is tied to: whom and what it speaks of, what was drawn from it, and what it could be linked to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from memory.crypto.keyring import keyring
from memory.errors import NotFound
from memory.graph.names import name_hash
from memory.graph.traversal import by_whole_name
from memory.models import Entity, EntityMention, Memory, MemoryEdge, MemorySource, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import mention, visible_entity
from memory.services.graph.writing import change_graph
from memory.services.legible import legible
from memory.services.memories import visible_memory
from memory.services.opening import opened

MOST_ENTITIES: Final = 30
MOST_DRAWN: Final = 20
MOST_OFFERED: Final = 6
RARE: Final = 12
"""Mentions up to which a name is rare enough that two memories which speak of it belong together."""

LONGEST_NAME: Final = 4
"""Words of the longest name that is looked for in a text."""

READ_CHARACTERS: Final = 4_000
_WORD: Final = re.compile(r"\w+(?:[.+#&’'-]+\w+)*[+#]*")
_POSSESSIVE: Final = re.compile(r"[’']s$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spoken:
    """Somebody or something that a memory speaks of; `name` is None where it does not open."""

    id: UUID
    name: str | None
    type: str
    mentions: int
    community: int | None


@dataclass(frozen=True, slots=True)
class Sharing:
    """A memory that speaks of the same rare name and is not linked."""

    memory: Memory
    name: str


@dataclass(frozen=True, slots=True)
class Ties:
    """What a memory is tied to.

    Attributes:
        spoken: whom and what it speaks of, the rarest first.
        named: those whose name stands in its text without being noted.
        drawn: memories that were drawn from it.
        sharing: memories that it could be linked to.
    """

    spoken: Sequence[Spoken]
    named: Sequence[Spoken]
    drawn: Sequence[Memory]
    sharing: Sequence[Sharing]


def _shown(answer: Ties, values: Any) -> list[UUID]:
    return [row.pk for row in answer.drawn] + [one.memory.pk for one in answer.sharing]


@reads("memory", of="memory_id", memories=_shown)
def ties_of(*, actor: Actor, memory_id: UUID) -> Ties:
    """Tell what a memory is tied to, as far as the actor may read it; the number of statements is fixed.

    Raises:
        NotFound: not there or hidden.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        [row] = opened([visible_memory(actor, memory_id)])
        spoken = _spoken(actor, memory_id)
        known = {one.id for one in spoken}
        return Ties(
            spoken=spoken,
            named=[one for one in _named(actor, row) if one.id not in known][:MOST_OFFERED],
            drawn=_drawn(actor, memory_id),
            sharing=_sharing(actor, memory_id, [one for one in spoken if one.name and one.mentions <= RARE]),
        )


def note_mention(*, actor: Actor, memory_id: UUID, entity_id: UUID) -> None:
    """Note that a memory speaks of somebody or something that is known; without effect when it is noted already.

    Raises:
        NotFound: one of them is not there, hidden, or of another scope than the memory.
        PermissionRefused: the actor may not write.
    """
    require_memory()
    actor.require(Permission.WRITE)
    with change_graph(actor, now=now()):
        row = visible_memory(actor, memory_id)
        entity = visible_entity(actor, entity_id)
        if entity.scope != row.scope:
            raise NotFound("There is no entity with this id where the memory is.")
        mention([(entity.pk, row.pk)])


def _spoken(actor: Actor, memory_id: UUID) -> list[Spoken]:
    rows = Entity.objects.filter(pk__in=EntityMention.objects.filter(memory_id=memory_id).values("entity_id"))
    return _described(actor, rows.order_by("mention_count", "pk")[:MOST_ENTITIES])


def _named(actor: Actor, row: Memory) -> list[Spoken]:
    """Find what is known by a name that stands in a text, in the memory's own scope."""
    ring = keyring().of(actor.owner_id)
    words = [_POSSESSIVE.sub("", word) for word in _WORD.findall(row.text[:READ_CHARACTERS])]
    names = {
        name_hash(ring, " ".join(words[start : start + length]))
        for length in range(1, LONGEST_NAME + 1)
        for start in range(len(words) - length + 1)
    }
    found = by_whole_name(names, scopes=[row.scope]) if names else {}
    ids = {one.entity_id for every in found.values() for one in every}
    return _described(actor, Entity.objects.filter(pk__in=ids).order_by("mention_count", "pk")[:MOST_ENTITIES])


def _described(actor: Actor, rows: Any) -> list[Spoken]:
    return [
        Spoken(row.pk, legible(row, "name"), row.type, row.mention_count, row.community)
        for row in rows
        if actor.may_read(row.scope)
    ]


def _readable(actor: Actor) -> Any:
    rows = Memory.objects.exclude(status=Status.ERASING)
    return rows if actor.readable is None else rows.filter(scope__in=actor.readable)


def _drawn(actor: Actor, memory_id: UUID) -> list[Memory]:
    said = MemorySource.objects.filter(turn_id=memory_id).exclude(memory_id=memory_id).values("memory_id")
    return opened(list(_readable(actor).filter(pk__in=said).order_by("-created_at", "-pk")[:MOST_DRAWN]))


def _sharing(actor: Actor, memory_id: UUID, rare: Sequence[Spoken]) -> list[Sharing]:
    if not rare:
        return []
    names = {one.id: one.name or "" for one in rare}
    edges = MemoryEdge.objects.filter(Q(source_id=memory_id) | Q(target_id=memory_id))
    linked = {one for pair in edges.values_list("source_id", "target_id") for one in pair} | {memory_id}
    pairs = EntityMention.objects.filter(entity_id__in=list(names)).exclude(memory_id__in=linked)
    by_memory: dict[UUID, UUID] = {}
    for found_id, entity_id in pairs.order_by("-memory_id").values_list("memory_id", "entity_id"):
        by_memory.setdefault(found_id, entity_id)
    rows = _readable(actor).filter(pk__in=list(by_memory), status=Status.LIVE).order_by("-created_at", "-pk")
    return [Sharing(row, names[by_memory[row.pk]]) for row in opened(list(rows[:MOST_OFFERED]))]
