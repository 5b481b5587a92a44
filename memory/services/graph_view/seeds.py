"""What a view starts from: one thing, a community, what words find, or today."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.errors import InvalidInput, NotFound
from memory.models import owner_scope
from memory.services.actors import Actor
from memory.services.agent_settings import settings_for
from memory.services.graph.entities import visible_entity
from memory.services.graph.searching import search_entities
from memory.services.graph_view.request import ViewRequest
from memory.services.graph_view.walking import Sight
from memory.services.memories import visible_memory
from memory.services.questions import RecallRequest
from memory.services.recall import recall

FOUND_MEMORIES: Final = 12
FOUND_ENTITIES: Final = 4
OPENING: Final = 24
"""Memories that a view without a seed starts from, at most."""

OF_COMMUNITY: Final = 40
DAY: Final = timedelta(days=1)

NEWEST: Final = """
    SELECT m.id, m.created_at FROM memory_memory m
    WHERE m.owner_id = %(owner)s AND {seen} ORDER BY m.created_at DESC, m.id DESC LIMIT %(most)s
"""
FOREMOST: Final = """
    SELECT e.id FROM memory_entity e WHERE e.owner_id = %(owner)s {readable}
    ORDER BY e.mention_count DESC, e.id DESC LIMIT %(most)s
"""
MEMBERS: Final = """
    (SELECT e.id, true FROM memory_entity e WHERE e.owner_id = %(owner)s AND e.community = %(community)s {readable}
     ORDER BY e.mention_count DESC, e.id LIMIT %(most)s)
    UNION ALL
    (SELECT m.id, false FROM memory_memory m WHERE m.owner_id = %(owner)s AND m.community = %(community)s AND {seen}
     ORDER BY m.importance DESC, m.id LIMIT %(most)s)
"""


@dataclass(frozen=True, slots=True)
class Seeds:
    """What a view starts from; `sort` is `memory`, `entity`, `community`, `words`, `today`, `newest` or `nothing`."""

    sort: str
    memories: tuple[UUID, ...] = ()
    entities: tuple[UUID, ...] = ()


def seeds_of_words(actor: Actor, query: str) -> Seeds:
    """Find what words name; asks the embedder, so it is called outside of transactions.

    Something of like meaning is nearly always found, so only what is relevant enough to be given to an agent counts.
    """
    with owner_scope(actor.owner_id):
        threshold = settings_for(actor)["recall_threshold"]
    asked = RecallRequest(query=query, limit=FOUND_MEMORIES, threshold=threshold, reinforce=False, record=False)
    memories = tuple(hit.memory.pk for hit in recall(actor=actor, request=asked).hits)
    try:
        entities = tuple(row.pk for row in search_entities(actor=actor, query=query, size=FOUND_ENTITIES))
    except InvalidInput:
        # Signs without a word name no entity, and may still stand in a memory.
        entities = ()
    return Seeds("words", memories, entities)


def stored_seeds(actor: Actor, request: ViewRequest, sight: Sight) -> Seeds:
    """Give the seeds of a request without words, within the owner's scope.

    Raises:
        NotFound: the thing, or anything of the community, is not there or hidden.
    """
    if request.memory_id is not None:
        return Seeds("memory", memories=(visible_memory(actor, request.memory_id).pk,))
    if request.entity_id is not None:
        return Seeds("entity", entities=(visible_entity(actor, request.entity_id).pk,))
    if request.community is not None:
        return _community(request.community, sight)
    return _today(sight)


def _community(number: int, sight: Sight) -> Seeds:
    rows = _rows(MEMBERS, sight, most=OF_COMMUNITY, community=number)
    if not rows:
        raise NotFound("There is no community with this number here.")
    return Seeds(
        "community",
        memories=tuple(one for one, is_entity in rows if not is_entity),
        entities=tuple(one for one, is_entity in rows if is_entity),
    )


def _today(sight: Sight) -> Seeds:
    rows = _rows(NEWEST, sight, most=OPENING)
    moment = sight.times.known or sight.now
    fresh = tuple(one for one, created in rows if created > moment - DAY)
    if fresh:
        return Seeds("today", memories=fresh)
    if rows:
        return Seeds("newest", memories=tuple(one for one, _ in rows))
    entities = tuple(one for (one,) in _rows(FOREMOST, sight, most=OPENING))
    return Seeds("newest" if entities else "nothing", entities=entities)


def _rows(statement: str, sight: Sight, **parameters: int) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            statement.format(seen=sight.memories(), readable=sight.readable()), {**sight.parameters, **parameters}
        )
        return list(cursor.fetchall())
