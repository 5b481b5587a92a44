"""Links between memories: making them, listing them, taking them away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, NotFound
from memory.graph.edge_kinds import meaning_of
from memory.models import EdgeKind, Memory, MemoryEdge, Status, Visibility, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.writing import change_graph, checked_unit, cut_text
from memory.services.memories import visible_memory
from memory.services.opening import opened

MOST_EDGES: Final = 200

# From the widest to the narrowest, so that a link is filed under the narrower of its two ends.
WIDTH: Final = (Visibility.OWNER, Visibility.PROJECT, Visibility.SQUAD, Visibility.AGENT)


@dataclass(frozen=True, slots=True)
class Linked:
    """A link as it looks from one of its ends, with the memory at the other end."""

    edge: MemoryEdge
    outgoing: bool
    memory: Memory


def link_memories(
    *,
    actor: Actor,
    source_id: UUID,
    target_id: UUID,
    kind: Any = EdgeKind.RELATED_TO,
    weight: Any = 0.7,
    relationship: Any = None,
    insight_id: UUID | None = None,
) -> tuple[Linked, bool]:
    """Link one memory to another.

    The same link again, of the same kind and relationship, changes nothing but its weight, which may rise. The link
    from the other end is another link. A name of another system becomes one of the eight kinds, turned round where it
    is said from the other end, and stays as the relationship when no other is given.

    Args:
        actor: who links them.
        source_id: the memory that the link starts from.
        target_id: the memory that it leads to.
        kind: one of the eight, or another system's name for it.
        weight: how strong it is, from 0 to 1.
        relationship: how they belong together, in words; cut to 500 characters.
        insight_id: the insight that this link has led to.

    Returns:
        The link seen from the source that was named, and whether it is new.

    Raises:
        NotFound: one of the memories is not there or hidden; nothing was stored.
        InvalidInput: `edge.self`, or a kind, weight or text that cannot be used.
    """
    meaning, strength = meaning_of(kind), checked_unit(weight, field="weight")
    text = cut_text(relationship, field="relationship") if relationship is not None else None
    if text is None and meaning.foreign:
        text = str(kind)
    moment = now()
    with change_graph(actor, now=moment):
        ends = {one: visible_memory(actor, one) for one in sorted({source_id, target_id})}
        if source_id == target_id:
            raise InvalidInput("A memory cannot be linked to itself.", code="edge.self", field="target")
        insight = None if insight_id is None else visible_memory(actor, insight_id)
        first, second = (target_id, source_id) if meaning.reverse else (source_id, target_id)
        hashed = keyring().of(actor.owner_id).name(f"relationship\0{(text or '').casefold()}")
        edge = MemoryEdge.objects.filter(
            source_id=first, target_id=second, kind=meaning.kind, relationship_hash=hashed
        ).first()
        created = edge is None
        if edge is None:
            narrower = max(ends.values(), key=lambda row: WIDTH.index(Visibility(row.visibility)))
            edge = MemoryEdge(
                source_id=first,
                target_id=second,
                kind=meaning.kind,
                weight=strength,
                relationship=text,
                relationship_hash=hashed,
                scope=narrower.scope,
                sealed_for=narrower.sealing_agent_id,
                created_at=moment,
            )
        edge.weight = max(edge.weight, strength)
        edge.insight_id = insight.pk if insight else edge.insight_id
        edge.save(force_insert=created)
        other = opened([ends[target_id]])[0]
        return Linked(edge, first == source_id, other), created


def unlink_memories(*, actor: Actor, memory_id: UUID, edge_id: UUID) -> None:
    """Take a link of a memory away; raises NotFound when it is not there, or one of its ends is hidden."""
    with change_graph(actor, now=now()):
        visible_memory(actor, memory_id)
        edge = MemoryEdge.objects.filter(Q(source_id=memory_id) | Q(target_id=memory_id), pk=edge_id).first()
        if edge is None:
            raise NotFound("This memory has no link with this id.")
        visible_memory(actor, _other(edge, memory_id))
        edge.delete()


def _linked(answer: list[Linked], values: object) -> list[UUID]:
    return [one.memory.pk for one in answer]


@reads("edges", of="memory_id", memories=_linked)
def edges_of(*, actor: Actor, memory_id: UUID, size: int = MOST_EDGES) -> list[Linked]:
    """List the links of a memory on either side, the oldest first, with the memories at the other ends.

    Args:
        actor: who asks; links to memories that it may not see are left out.
        memory_id: whose links.
        size: most links.

    Raises:
        NotFound: the memory is not there or hidden.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        visible_memory(actor, memory_id)
        seen = Memory.objects.exclude(status=Status.ERASING)
        if actor.readable is not None:
            seen = seen.filter(scope__in=actor.readable)
        here = Q(source_id=memory_id, target_id__in=seen.values("pk"))
        there = Q(target_id=memory_id, source_id__in=seen.values("pk"))
        edges = list(MemoryEdge.objects.filter(here | there).order_by("created_at", "pk")[:size])
        ends = {_other(edge, memory_id) for edge in edges}
        rows = {row.pk: row for row in opened(list(Memory.objects.filter(pk__in=ends)))}
        return [Linked(edge, edge.source_id == memory_id, rows[_other(edge, memory_id)]) for edge in edges]


def _other(edge: MemoryEdge, memory_id: UUID) -> UUID:
    other: UUID = edge.target_id if edge.source_id == memory_id else edge.source_id
    return other
