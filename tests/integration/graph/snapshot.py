"""The whole graph of an owner as plain values, so that two states of it can be compared."""

from __future__ import annotations

from typing import Any

from memory.models import (
    CausalLink,
    EntitiesApart,
    Entity,
    EntityMention,
    EntityMerge,
    EntityName,
    EventParticipant,
    GraphEvidence,
    Relation,
    TemporalEvent,
    owner_scope,
)
from memory.services.actors import Actor
from memory.services.graph.row_records import recorded

TABLES: tuple[Any, ...] = (
    Entity, EntityName, EntityMention, Relation, TemporalEvent, EventParticipant, CausalLink, GraphEvidence,
    EntitiesApart,
)  # fmt: skip


def graph_of(actor: Actor) -> dict[str, list[dict[str, Any]]]:
    """Give every row of an owner's graph with its texts opened, and which entity each standing merge is of."""
    with owner_scope(actor.owner_id):
        found = {model.__name__: sorted((recorded(row) for row in model.objects.all()), key=str) for model in TABLES}
        found["merges"] = [
            {"id": str(row.pk), "kept": str(row.kept_id)}
            for row in EntityMerge.objects.filter(undone_at=None).order_by("pk")
        ]
        return found
