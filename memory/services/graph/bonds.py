"""What links a hit of the graph with a question: an entity that both speak of, or a link to a better hit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from memory.models import Entity, EntityMention, MemoryEdge, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.legible import legible

MOST_ENTITIES: Final = 200


@dataclass(frozen=True, slots=True)
class Shared:
    """What a memory shares: the name of an entity, or a memory to which it is linked."""

    entity: str = ""
    memory_id: UUID | None = None


def bonds_of(*, actor: Actor, found: Sequence[UUID], linked: Sequence[UUID], question: str) -> Mapping[UUID, Shared]:
    """Say for hits of the graph what links them with the question; those for which nothing can be named are left out.

    An entity that the question names goes first, then one that a better hit speaks of too, the one of fewest memories
    first, then a link to a better hit. Three statements, whatever the number of hits.

    Args:
        actor: who asks.
        found: all hits, best first.
        linked: those that the graph has led to.
        question: as it was asked.
    """
    actor.require(Permission.READ)
    if not linked:
        return {}
    with owner_scope(actor.owner_id):
        mentioned: dict[UUID, set[UUID]] = {}
        rows = EntityMention.objects.filter(memory_id__in=list(found)).values_list("memory_id", "entity_id")
        for memory_id, entity_id in rows:
            mentioned.setdefault(memory_id, set()).add(entity_id)
        entities = _entities(actor, {one for memory_id in linked for one in mentioned.get(memory_id, ())})
        edges = _edges(found)
    asked = question.casefold()
    bonds = {}
    for memory_id in linked:
        better = list(found[: found.index(memory_id)]) if memory_id in found else []
        spoken = {one for other in better for one in mentioned.get(other, ())}
        here = [one for one in entities if one[0] in mentioned.get(memory_id, ())]
        named = [name for _entity, name in here if name.casefold() in asked]
        shared = [name for entity_id, name in here if entity_id in spoken]
        if named or shared:
            bonds[memory_id] = Shared(entity=(named or shared)[0])
        elif near := next((other for other in better if other in edges.get(memory_id, ())), None):
            bonds[memory_id] = Shared(memory_id=near)
    return bonds


def _entities(actor: Actor, ids: set[UUID]) -> list[tuple[UUID, str]]:
    """Give the names of entities that the actor may see, those of fewest memories first."""
    rows = Entity.objects.filter(pk__in=ids)
    if actor.readable is not None:
        rows = rows.filter(scope__in=actor.readable)
    named = [(row.pk, legible(row, "name")) for row in rows.order_by("mention_count", "pk")[:MOST_ENTITIES]]
    return [(entity_id, name) for entity_id, name in named if name]


def _edges(found: Sequence[UUID]) -> Mapping[UUID, set[UUID]]:
    ends: dict[UUID, set[UUID]] = {}
    ids = list(found)
    for source, target in MemoryEdge.objects.filter(source_id__in=ids, target_id__in=ids).values_list(
        "source_id", "target_id"
    ):
        ends.setdefault(source, set()).add(target)
        ends.setdefault(target, set()).add(source)
    return ends
