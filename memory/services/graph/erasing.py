"""What goes from the graph when memories are erased: everything that nothing else speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import connection

from memory.models import Entity, EntityMention, GraphEvidence, current_owner

# Something of which a memory that goes is a reason, and which no other row gives a reason for.
BEREFT: Final = """
    DELETE FROM {table} t WHERE t.owner_id = %(owner)s AND t.id IN (
        SELECT g.{part} FROM memory_graphevidence g WHERE g.owner_id = %(owner)s AND g.memory_id = ANY(%(gone)s::uuid[])
    ) AND NOT EXISTS (
        SELECT FROM memory_graphevidence o WHERE o.owner_id = %(owner)s AND o.{part} = t.id
        AND (o.memory_id IS NULL OR NOT o.memory_id = ANY(%(gone)s::uuid[]))
    )
"""
# An entity that memories alone brought in stays while another memory speaks of it or something is said of it.
UNMENTIONED: Final = """
    DELETE FROM memory_entity e WHERE e.owner_id = %(owner)s AND NOT e.stated AND e.id = ANY(%(entities)s::uuid[])
      AND NOT EXISTS (SELECT FROM memory_entitymention x WHERE x.owner_id = e.owner_id AND x.entity_id = e.id
                      AND NOT x.memory_id = ANY(%(gone)s::uuid[]))
      AND NOT EXISTS (SELECT FROM memory_relation r WHERE r.owner_id = e.owner_id AND r.source_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_relation r WHERE r.owner_id = e.owner_id AND r.target_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_eventparticipant p WHERE p.owner_id = e.owner_id AND p.entity_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_causallink c WHERE c.owner_id = e.owner_id AND c.cause_entity_id = e.id)
      AND NOT EXISTS (SELECT FROM memory_causallink c WHERE c.owner_id = e.owner_id AND c.effect_entity_id = e.id)
"""
PARTS: Final = (
    ("memory_relation", "relation_id"),
    ("memory_temporalevent", "event_id"),
    ("memory_causallink", "cause_id"),
)


def forget_in_graph(memory_ids: Sequence[UUID]) -> None:
    """Delete what is in the graph because of some memories alone, just before these are deleted.

    Call it within the owner's scope and after `take_turn`. Mentions, links and reasons of the memories go with their
    rows, by foreign keys.

    Args:
        memory_ids: memories of the current owner that are about to be erased.
    """
    gone = list(memory_ids)
    owner_id = current_owner()
    entities = list(
        EntityMention.objects.filter(memory_id__in=gone)
        .order_by("entity_id")
        .values_list("entity_id", flat=True)
        .distinct()
    )
    if not entities and not GraphEvidence.objects.filter(memory_id__in=gone).exists():
        return
    with connection.cursor() as cursor:
        for table, part in PARTS:
            cursor.execute(BEREFT.format(table=table, part=part), {"owner": owner_id, "gone": gone})
        cursor.execute(UNMENTIONED, {"owner": owner_id, "gone": gone, "entities": entities})
    _count_less(entities, gone)


def _count_less(entities: Sequence[UUID], gone: Sequence[UUID]) -> None:
    """Take the mentions of the erased memories off the counts of the entities that stay."""
    lost: dict[UUID, int] = {}
    for entity_id in EntityMention.objects.filter(memory_id__in=gone, entity_id__in=entities).values_list(
        "entity_id", flat=True
    ):
        lost[entity_id] = lost.get(entity_id, 0) + 1
    for row in Entity.objects.filter(pk__in=lost).order_by("pk").only("owner_id", "mention_count"):
        row.mention_count = max(row.mention_count - lost[row.pk], 0)
        row.save(update_fields=["mention_count"])
