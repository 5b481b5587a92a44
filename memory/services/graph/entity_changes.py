"""Changing and deleting an entity, and the memories that speak of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput
from memory.graph.names import canonical, name_hash
from memory.models import (
    CausalLink,
    Entity,
    EntityMention,
    EntityName,
    EntityType,
    EventParticipant,
    Memory,
    NameKind,
    Relation,
    Status,
    owner_scope,
)
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads, rows_of
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import MOST_ALIASES, visible_entity
from memory.services.graph.naming import name_anew
from memory.services.graph.writing import change_graph, checked_name, checked_properties, checked_unit
from memory.services.opening import opened

CHANGEABLE: Final = frozenset({"name", "type", "properties", "importance"})


def change_entity(*, actor: Actor, entity_id: UUID, changes: Mapping[str, Any]) -> Entity:
    """Change fields of an entity; under its former name it is still found.

    Args:
        actor: who changes it.
        entity_id: which.
        changes: `name`, `type`, `importance`, or `properties`, which replace those that it had.

    Raises:
        NotFound: not there or hidden.
        InvalidInput, TooLarge: a field that cannot be changed, or its value; nothing was changed.
        Conflict: `alias.taken`, another entity of this scope and the type bears one of the names.
    """
    unknown = sorted(set(changes) - CHANGEABLE)
    if unknown:
        raise InvalidInput(
            f"These fields cannot be changed: {', '.join(name[:40] for name in unknown[:5])}.", code="field.unknown"
        )
    moment = now()
    with change_graph(actor, now=moment):
        row = visible_entity(actor, entity_id)
        if "type" in changes and changes["type"] not in EntityType.values:
            raise InvalidInput(f"type is one of {', '.join(EntityType.values)}.", code="type.invalid", field="type")
        row.type = str(changes.get("type", row.type))
        if "importance" in changes:
            row.importance = checked_unit(changes["importance"], field="importance")
        if "properties" in changes:
            row.properties = checked_properties(changes["properties"])
        if "name" in changes:
            _rename(row, checked_name(changes["name"]))
        _refuse_taken(actor, row)
        row.save()
        name_anew(row, keyring().of(actor.owner_id))
        record(actor=actor.label, verb="change", object_kind="entity", object_id=row.pk, at=moment)
        return row


def delete_entity(*, actor: Actor, entity_id: UUID) -> int:
    """Delete an entity with its names, relations and mentions; events and causes stay without it.

    It cannot be undone, so people do it and agents whose keys may decide.

    Memories stay as they are; one that speaks of it brings it back when it is consolidated anew.

    Returns:
        How many relations went with it.

    Raises:
        NotFound: not there or hidden.
        PermissionRefused: the actor may not decide.
    """
    actor.require(Permission.REVIEW)
    moment = now()
    with change_graph(actor, now=moment):
        row = visible_entity(actor, entity_id)
        gone: int = Relation.objects.filter(Q(source_id=row.pk) | Q(target_id=row.pk)).count()
        EventParticipant.objects.filter(entity_id=row.pk).delete()
        for end in ("cause_entity", "effect_entity"):
            CausalLink.objects.filter(**{f"{end}_id": row.pk}).update(**{f"{end}_id": None})
        row.delete()
        record(
            actor=actor.label,
            verb="delete",
            object_kind="entity",
            object_id=entity_id,
            count=1 + gone,
            at=moment,
        )
        return gone


@reads("mentions", of="entity_id", memories=rows_of)
def memories_of(
    *, actor: Actor, entity_id: UUID, after: tuple[datetime, UUID] | None = None, size: int = 50
) -> list[Memory]:
    """List the live memories that speak of an entity and that the actor may read, the newest first.

    Raises NotFound when there is no such entity here.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        visible_entity(actor, entity_id)
        mentioned = EntityMention.objects.filter(entity_id=entity_id).values("memory_id")
        rows = Memory.objects.filter(pk__in=mentioned, status=Status.LIVE)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        if after is not None:
            rows = rows.filter(Q(created_at__lt=after[0]) | Q(created_at=after[0], pk__lt=after[1]))
        return opened(list(rows.order_by("-created_at", "-pk")[:size]))


def _rename(row: Entity, name: str) -> None:
    former, row.name = row.name, name
    aliases = {canonical(alias): alias for alias in (*(row.aliases or ()), former)}
    aliases.pop(canonical(name), None)
    if len(aliases) > MOST_ALIASES:
        raise InvalidInput(f"An entity has at most {MOST_ALIASES} aliases.", code="aliases.too_many", field="name")
    row.aliases = list(aliases.values()) or None


def _refuse_taken(actor: Actor, row: Entity) -> None:
    ring = keyring().of(actor.owner_id)
    hashes = {name_hash(ring, name) for name in (row.name, *(row.aliases or ()))}
    bearer = (
        EntityName.objects.filter(
            kind__in=[NameKind.CANONICAL, NameKind.ALIAS], name__in=sorted(hashes), scope=row.scope, type=row.type
        )
        .exclude(entity_id=row.pk)
        .first()
    )
    if bearer is not None:
        raise Conflict(
            "Another entity of this type bears that name. Nothing was changed.",
            code="alias.taken",
            entity_id=str(bearer.entity_id),
        )
