"""Events in time, and what caused what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.errors import InvalidInput
from memory.models import CausalLink, Entity, EventParticipant, TemporalEvent, owner_scope
from memory.recall.filters import refuse_empty_span
from memory.services.actors import UNSET, Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import visible_entity
from memory.services.graph.recording import Causing, Happening, record_causes, record_events
from memory.services.graph.writing import (
    Reference,
    change_graph,
    checked_unit,
    cut_text,
    entities_by_id,
    resolve,
    source_memory,
    target_of,
)
from memory.text import limits

MOST_PARTICIPANTS: Final = 50

Shown = tuple[TemporalEvent, list[Entity]]


def merge_temporal_event(
    *,
    actor: Actor,
    text: Any,
    occurred_at: Any,
    participants: Sequence[Reference] = (),
    scope: Any = UNSET,
    memory_id: UUID | None = None,
) -> tuple[Shown, bool]:
    """Add an event, or add participants and a source to the same event.

    Two events are the same when they happened at the same moment and their texts are alike.

    Args:
        actor: who tells.
        text: what happened; cut to 500 characters.
        occurred_at: when.
        participants: entities that took part, at most 50; they have to be there.
        scope: who may read it; as the memory, or the key's default, when left out.
        memory_id: the memory that tells of it.

    Returns:
        The event with all its participants, and whether it is new.

    Raises:
        NotFound: a participant or the memory is not there or hidden; nothing was stored.
        InvalidInput, TooLarge, InvalidScope: the event cannot be used.
    """
    told, moment = cut_text(text, field="text"), now()
    happened = limits.checked_moment(occurred_at, field="occurred_at")
    if len(participants) > MOST_PARTICIPANTS:
        raise InvalidInput(
            f"An event has at most {MOST_PARTICIPANTS} participants.",
            code="participants.too_many",
            field="participants",
        )
    with change_graph(actor, now=moment):
        memory = source_memory(actor, memory_id)
        target = target_of(actor, scope, memory)
        took_part = frozenset(resolve(actor, one, target=target, field="participants").pk for one in participants)
        told_now = Happening(told, happened, took_part, memory)
        event, created = record_events([told_now], target=target, moment=moment)[0]
        return _with_participants([event])[0], created


@reads("events", of="entity_id")
def list_events(
    *,
    actor: Actor,
    entity_id: UUID | None = None,
    occurred_from: Any = None,
    occurred_until: Any = None,
    after: tuple[datetime, UUID] | None = None,
    size: int = 50,
) -> list[Shown]:
    """List events with their participants, the latest first.

    Args:
        actor: who asks.
        entity_id: those in which this entity took part.
        occurred_from: from this moment on.
        occurred_until: before this moment.
        after: moment and id of the last row of the page before.
        size: most rows.

    Raises:
        NotFound: no such entity here.
        InvalidInput: a moment cannot be used, or no moment lies between the two.
    """
    require_memory()
    actor.require(Permission.READ)
    start = None if occurred_from is None else limits.checked_moment(occurred_from, field="occurred_from")
    end = None if occurred_until is None else limits.checked_moment(occurred_until, field="occurred_until")
    refuse_empty_span(start, end, until="occurred_until")
    with owner_scope(actor.owner_id):
        rows: QuerySet[TemporalEvent] = TemporalEvent.objects.all()
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        if entity_id is not None:
            visible_entity(actor, entity_id)
            rows = rows.filter(
                pk__in=EventParticipant.objects.filter(entity_id=entity_id).values_list("event_id", flat=True)
            )
        if start is not None:
            rows = rows.filter(occurred_at__gte=start)
        if end is not None:
            rows = rows.filter(occurred_at__lt=end)
        if after is not None:
            rows = rows.filter(Q(occurred_at__lt=after[0]) | Q(occurred_at=after[0], pk__lt=after[1]))
        return _with_participants(rows.order_by("-occurred_at", "-pk")[:size])


def add_causal_link(
    *,
    actor: Actor,
    cause: Any,
    effect: Any,
    cause_entity: Reference | None = None,
    effect_entity: Reference | None = None,
    confidence: Any = 1.0,
    scope: Any = UNSET,
    memory_id: UUID | None = None,
) -> tuple[CausalLink, bool]:
    """Add that one thing caused another, or a source to the same cause and effect.

    Args:
        actor: who tells.
        cause: what caused it; cut to 500 characters.
        effect: what came of it; cut to 500 characters.
        cause_entity: what the cause is about, where that is known.
        effect_entity: what the effect is about.
        confidence: how sure it is, from 0 to 1; the highest that was ever given counts.
        scope: who may read it; as the memory, or the key's default, when left out.
        memory_id: the memory that says so.

    Returns:
        The row with its entities, and whether it is new.

    Raises:
        NotFound: an entity or the memory is not there or hidden; nothing was stored.
        InvalidInput, TooLarge, InvalidScope: the texts, the number or the scope cannot be used.
    """
    first, second, moment = cut_text(cause, field="cause"), cut_text(effect, field="effect"), now()
    sure = checked_unit(confidence, field="confidence")
    with change_graph(actor, now=moment):
        memory = source_memory(actor, memory_id)
        target = target_of(actor, scope, memory)
        about = {
            field: resolve(actor, reference, target=target, field=field).pk
            for field, reference in (("cause_entity", cause_entity), ("effect_entity", effect_entity))
            if reference is not None
        }
        causing = Causing(first, second, about.get("cause_entity"), about.get("effect_entity"), sure, memory)
        row, created = record_causes([causing], target=target, moment=moment)[0]
        return _with_entities([row])[0], created


@reads("causes", of="entity_id")
def list_causes(
    *,
    actor: Actor,
    entity_id: UUID | None = None,
    after: tuple[datetime, UUID] | None = None,
    size: int = 50,
) -> list[CausalLink]:
    """List causes and effects, the newest recorded first; of one entity when it is named, on either side.

    Raises NotFound when there is no such entity here.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        rows: QuerySet[CausalLink] = CausalLink.objects.all()
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        if entity_id is not None:
            visible_entity(actor, entity_id)
            rows = rows.filter(Q(cause_entity_id=entity_id) | Q(effect_entity_id=entity_id))
        if after is not None:
            rows = rows.filter(Q(recorded_at__lt=after[0]) | Q(recorded_at=after[0], pk__lt=after[1]))
        return _with_entities(rows.order_by("-recorded_at", "-pk")[:size])


def _with_participants(events: Iterable[TemporalEvent]) -> list[Shown]:
    found = list(events)
    pairs = list(
        EventParticipant.objects.filter(event_id__in=[event.pk for event in found]).values_list("event_id", "entity_id")
    )
    known = entities_by_id(entity_id for _, entity_id in pairs)
    took_part: dict[UUID, list[Entity]] = {event.pk: [] for event in found}
    for event_id, entity_id in sorted(pairs):
        took_part[event_id].append(known[entity_id])
    return [(event, took_part[event.pk]) for event in found]


def _with_entities(rows: Iterable[CausalLink]) -> list[CausalLink]:
    found = list(rows)
    known = entities_by_id(
        entity_id for row in found for entity_id in (row.cause_entity_id, row.effect_entity_id) if entity_id
    )
    for row in found:
        row.cause_entity = known.get(row.cause_entity_id) if row.cause_entity_id else None
        row.effect_entity = known.get(row.effect_entity_id) if row.effect_entity_id else None
    return found
