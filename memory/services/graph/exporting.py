"""The graph in an export: entities, relations in both times, events, causes and links, with what speaks for them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from memory.errors import KeysUnavailable
from memory.models import (
    CausalLink,
    Entity,
    EntityMention,
    EventParticipant,
    GraphEvidence,
    Memory,
    MemoryEdge,
    Relation,
    Status,
    TemporalEvent,
    owner_scope,
)
from memory.services.actors import Actor

logger = logging.getLogger(__name__)

PAGE: Final = 500

Item = dict[str, Any]
Describe = Callable[[Actor, Sequence[Any]], list[Item]]


def graph_parts(actor: Actor) -> Iterator[tuple[str, Iterator[Item]]]:
    """Give the parts of the graph that an actor may read, by name and page by page, in an order that an import can use.

    Entities and memories are referred to by their ids, which mean something within the document only.
    """
    for name, rows, describe in (
        ("entities", Entity.objects.all, _entities),
        ("relations", Relation.objects.all, _relations),
        ("events", TemporalEvent.objects.all, _events),
        ("causes", CausalLink.objects.all, _causes),
        ("edges", MemoryEdge.objects.all, _edges),
    ):
        yield name, _items(actor, rows, describe)


def readable_memories(actor: Actor) -> QuerySet[Memory]:
    """Give the memories that an export holds, within the owner's scope."""
    rows: QuerySet[Memory] = Memory.objects.filter(status__in=(Status.LIVE, Status.SUPERSEDED, Status.ARCHIVED))
    return rows if actor.readable is None else rows.filter(scope__in=actor.readable)


def _items(actor: Actor, rows: Callable[[], QuerySet[Any]], describe: Describe) -> Iterator[Item]:
    last: UUID | None = None
    while True:
        with owner_scope(actor.owner_id):
            found = rows().order_by("pk")
            if actor.readable is not None:
                found = found.filter(scope__in=actor.readable)
            page = list((found.filter(pk__gt=last) if last else found)[:PAGE])
            items = describe(actor, page) if page else []
        if not page:
            return
        yield from items
        last = page[-1].pk


def _entities(actor: Actor, rows: Sequence[Entity]) -> list[Item]:
    mentions: dict[UUID, list[str]] = defaultdict(list)
    pairs = EntityMention.objects.filter(entity_id__in=[row.pk for row in rows], memory__in=_ids(actor))
    for entity_id, memory_id in pairs.order_by("entity_id", "memory_id").values_list("entity_id", "memory_id"):
        mentions[entity_id].append(str(memory_id))

    def item(row: Entity) -> Item:
        return {
            "id": str(row.pk),
            "type": row.type,
            "name": row.name,
            "aliases": row.aliases,
            "properties": row.properties,
            "importance": row.importance,
            "mention_count": row.mention_count,
            "stated": row.stated,
            "first_seen": _moment(row.first_seen),
            "last_seen": _moment(row.last_seen),
            "mentions": mentions.get(row.pk),
        }

    return _described(rows, item)


def _relations(actor: Actor, rows: Sequence[Relation]) -> list[Item]:
    evidence = _evidence(actor, rows, "relation")
    known = _seen_entities(actor, [one for row in rows for one in (row.source_id, row.target_id)])

    def item(row: Relation) -> Item:
        moments = ("valid_from", "valid_until", "recorded_at", "closed_at", "retracted_at", "last_seen")
        return {
            "source": str(row.source_id),
            "label": row.label,
            "target": str(row.target_id),
            "weight": row.weight,
            "confidence": row.confidence,
            **{name: _moment(getattr(row, name)) for name in moments},
            "evidence": evidence[row.pk],
        }

    return _described([row for row in rows if {row.source_id, row.target_id} <= known], item)


def _events(actor: Actor, rows: Sequence[TemporalEvent]) -> list[Item]:
    evidence = _evidence(actor, rows, "event")
    pairs = list(
        EventParticipant.objects.filter(event_id__in=[row.pk for row in rows]).values_list("event_id", "entity_id")
    )
    known = _seen_entities(actor, [entity_id for _, entity_id in pairs])
    took_part: dict[UUID, list[str]] = defaultdict(list)
    for event_id, entity_id in sorted(pairs):
        if entity_id in known:
            took_part[event_id].append(str(entity_id))

    def item(row: TemporalEvent) -> Item:
        return {
            "text": row.text,
            "occurred_at": _moment(row.occurred_at),
            "recorded_at": _moment(row.recorded_at),
            "participants": took_part.get(row.pk),
            "evidence": evidence[row.pk],
        }

    return _described(rows, item)


def _causes(actor: Actor, rows: Sequence[CausalLink]) -> list[Item]:
    evidence = _evidence(actor, rows, "cause")
    known = _seen_entities(actor, [one for row in rows for one in (row.cause_entity_id, row.effect_entity_id) if one])

    def item(row: CausalLink) -> Item:
        return {
            "cause": row.cause,
            "effect": row.effect,
            "cause_entity": str(row.cause_entity_id) if row.cause_entity_id in known else None,
            "effect_entity": str(row.effect_entity_id) if row.effect_entity_id in known else None,
            "confidence": row.confidence,
            "recorded_at": _moment(row.recorded_at),
            "evidence": evidence[row.pk],
        }

    return _described(rows, item)


def _edges(actor: Actor, rows: Sequence[MemoryEdge]) -> list[Item]:
    ends = {one for row in rows for one in (row.source_id, row.target_id, row.insight_id) if one}
    known = set(readable_memories(actor).filter(pk__in=ends).values_list("pk", flat=True))

    def item(row: MemoryEdge) -> Item:
        return {
            "source": str(row.source_id),
            "target": str(row.target_id),
            "kind": row.kind,
            "weight": row.weight,
            "relationship": row.relationship,
            "insight": str(row.insight_id) if row.insight_id in known else None,
            "created_at": _moment(row.created_at),
        }

    return _described([row for row in rows if {row.source_id, row.target_id} <= known], item)


def _evidence(actor: Actor, rows: Sequence[Any], part: str) -> Mapping[UUID, list[Item]]:
    """Give the reasons for rows, oldest first, without those from memories that are not exported."""
    found: dict[UUID, list[Item]] = defaultdict(list)
    reasons = GraphEvidence.objects.filter(**{f"{part}_id__in": [row.pk for row in rows]}).order_by("created_at", "pk")
    if actor.readable is not None:
        reasons = reasons.filter(scope__in=actor.readable)
    standing = list(reasons)
    asked = {one.memory_id for one in standing if one.memory_id}
    known = set(readable_memories(actor).filter(pk__in=asked).values_list("pk", flat=True))
    for one in standing:
        if one.memory_id is None or one.memory_id in known:
            row_id: UUID = getattr(one, f"{part}_id")
            found[row_id].append({"memory": str(one.memory_id) if one.memory_id else None, "text": one.text})
    return found


def _seen_entities(actor: Actor, ids: Sequence[UUID]) -> set[UUID]:
    rows = Entity.objects.filter(pk__in=set(ids))
    if actor.readable is not None:
        rows = rows.filter(scope__in=actor.readable)
    return set(rows.values_list("pk", flat=True))


def _ids(actor: Actor) -> Any:
    return readable_memories(actor).values("pk")


def _described(rows: Sequence[Any], item: Callable[[Any], Item]) -> list[Item]:
    """Describe rows without their empty members; one that does not open with its owner's key is left out and logged."""
    found = []
    for row in rows:
        try:
            described = item(row)
        except KeysUnavailable:
            logger.error("%s %s does not open with its owner's key", row._meta.verbose_name, row.pk)
            continue
        found.append({name: value for name, value in described.items() if value is not None})
    return found


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat().replace("+00:00", "Z")
