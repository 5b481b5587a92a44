"""Communities as readers see them: sizes, names, members, what joins them; and what people call them.

A division is made over the owner's whole graph, but whoever may not read all of it is shown, counted and named only
what he may read, and a community of which he may read nothing is not there for him.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils.translation import gettext as _

from memory.errors import Conflict, NotFound
from memory.ids import new_id
from memory.models import Community, CommunityState, Entity, Memory, Relation, Status, current_owner, owner_scope
from memory.privacy.masking import masked_value
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads, rows_of
from memory.services.clock import now
from memory.services.consolidation import lease
from memory.services.consolidation.communities import Division, divide_graph
from memory.services.consolidation.stages import RunStopped
from memory.services.features import require_memory
from memory.services.graph.openings import openings
from memory.services.graph.relations import relations_by_id
from memory.services.graph.writing import checked_name, entities_by_id
from memory.services.memories import ListRequest, list_memories

SHOWN_ENTITIES: Final = 5
NAMING_ENTITIES: Final = 3
MOST_BRIDGES: Final = 50
SHOWN_RELATIONS: Final = 3

SIZES: Final = """
    SELECT c.id, c.number, n.entities, n.memories FROM (
        SELECT x.community, count(*) FILTER (WHERE x.entity) AS entities,
               count(*) FILTER (WHERE NOT x.entity) AS memories
        FROM (
            SELECT e.community, true AS entity FROM memory_entity e
            WHERE e.owner_id = %(owner)s AND e.community IS NOT NULL AND e.scope = ANY(%(scopes)s::uuid[])
            UNION ALL
            SELECT m.community, false FROM memory_memory m
            WHERE m.owner_id = %(owner)s AND m.community IS NOT NULL AND m.scope = ANY(%(scopes)s::uuid[])
              AND m.status = %(live)s
        ) x GROUP BY x.community
    ) n JOIN memory_community c ON c.owner_id = %(owner)s AND c.number = n.community
    WHERE (%(numbers)s::int[] IS NULL OR c.number = ANY(%(numbers)s::int[]))
      AND (%(after)s::int IS NULL OR (n.entities + n.memories, c.id) < (%(after)s::int, %(after_id)s::uuid))
    ORDER BY n.entities + n.memories DESC, c.id DESC LIMIT %(size)s
"""
STORED: Final = """
    SELECT c.id, c.number, c.entities, c.memories FROM memory_community c
    WHERE c.owner_id = %(owner)s
      AND (%(numbers)s::int[] IS NULL OR c.number = ANY(%(numbers)s::int[]))
      AND (%(after)s::int IS NULL OR (c.entities + c.memories, c.id) < (%(after)s::int, %(after_id)s::uuid))
    ORDER BY c.entities + c.memories DESC, c.id DESC LIMIT %(size)s
"""
FOREMOST: Final = """
    SELECT n.number, e.id FROM unnest(%(numbers)s::int[]) AS n (number)
    CROSS JOIN LATERAL (
        SELECT e.id, e.mention_count FROM memory_entity e
        WHERE e.owner_id = %(owner)s AND e.community = n.number {scope}
        ORDER BY e.mention_count DESC, e.importance DESC, e.id LIMIT %(most)s
    ) e ORDER BY n.number, e.mention_count DESC, e.id
"""
BRIDGES: Final = """
    SELECT least(s.community, t.community) AS one, greatest(s.community, t.community) AS other,
           sum(r.weight) AS weight, count(*), (array_agg(r.id ORDER BY r.weight DESC, r.id))[1:%(shown)s]
    FROM memory_relation r
    JOIN memory_entity s ON s.owner_id = r.owner_id AND s.id = r.source_id
    JOIN memory_entity t ON t.owner_id = r.owner_id AND t.id = r.target_id
    WHERE r.owner_id = %(owner)s AND r.retracted_at IS NULL AND r.valid_until IS NULL
      AND s.community <> t.community {scope}
    GROUP BY one, other ORDER BY weight DESC, one, other LIMIT %(size)s
"""


@dataclass(frozen=True, slots=True)
class CommunityView:
    """A community as one reader sees it.

    Attributes:
        id: of its row.
        number: by which filters name it; it stays from one division to the next.
        name: what a person has called it; None for readers who may not read everything.
        title: the name, or else the names of the entities most spoken of in it, or else how its strongest memory
            begins, masked; its number where this reader can read none of these.
        entities, memories: how many of each this reader may read.
        foremost: the entities most spoken of, of those that this reader may read.
        inner_weight, outer_weight: of the edges within it and out of it; None for readers who may not read everything.
    """

    id: UUID
    number: int
    name: str | None
    title: str
    entities: int
    memories: int
    foremost: Sequence[Entity]
    inner_weight: float | None
    outer_weight: float | None

    @property
    def size(self) -> int:
        """Give how many members it has."""
        return self.entities + self.memories


@dataclass(frozen=True, slots=True)
class Bridge:
    """What joins two communities: the summed weight and number of relations between them, and the heaviest of these."""

    first: int
    second: int
    weight: float
    count: int
    relations: Sequence[Relation]


def division(*, actor: Actor) -> CommunityState | None:
    """Give what is known of the last division; None before the first, and for who may not read everything."""
    require_memory()
    actor.require(Permission.READ)
    if actor.readable is not None:
        return None
    with owner_scope(actor.owner_id):
        state: CommunityState | None = CommunityState.objects.first()
        return state


@reads("communities")
def list_communities(*, actor: Actor, after: tuple[int, UUID] | None = None, size: int = 50) -> list[CommunityView]:
    """List communities, the largest first.

    Args:
        actor: who asks.
        after: size and id of the last one of the page before.
        size: most communities.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return _seen(actor, numbers=None, after=after, size=size)


@reads("community")
def get_community(*, actor: Actor, number: int) -> CommunityView:
    """Give one community; raises NotFound where there is none of that number, or nothing in it that may be read."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        found = _seen(actor, numbers=[number], after=None, size=1)
    if not found:
        raise NotFound
    return found[0]


@reads("entities")
def entities_of(*, actor: Actor, number: int, after: tuple[int, UUID] | None, size: int) -> list[Entity]:
    """List the entities of a community, the most mentioned first; raises NotFound as `get_community`."""
    get_community(actor=actor, number=number)
    with owner_scope(actor.owner_id):
        rows = Entity.objects.filter(community=number)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        if after is not None:
            rows = rows.filter(Q(mention_count__lt=after[0]) | Q(mention_count=after[0], pk__lt=after[1]))
        return list(rows.order_by("-mention_count", "-pk")[:size])


@reads("memories", memories=rows_of)
def memories_in(*, actor: Actor, number: int, after: tuple[datetime, UUID] | None, size: int) -> list[Memory]:
    """List the live memories of a community, newest first; raises NotFound as `get_community`."""
    get_community(actor=actor, number=number)
    return list_memories(actor=actor, request=ListRequest(filter={"community": number}), after=after, size=size)


def rename_community(*, actor: Actor, number: int, name: object) -> CommunityView:
    """Call a community by a name, or by none again.

    It is about all that is in it, so it needs the permission of those who decide for the owner.

    Raises:
        PermissionRefused: the actor may not decide.
        NotFound: no such community.
        InvalidInput, TooLarge: not a name of at most 200 characters.
    """
    require_memory()
    actor.require(Permission.REVIEW)
    called = None if name is None else checked_name(name)
    with owner_scope(actor.owner_id):
        row = Community.objects.select_for_update().filter(number=number).first()
        if row is None:
            raise NotFound
        row.name, row.updated_at = called, now()
        row.save(update_fields=["name", "updated_at"])
    return get_community(actor=actor, number=number)


@reads("bridges")
def bridges(*, actor: Actor, size: int = 20) -> list[Bridge]:
    """List the pairs of communities that are joined most, by the weight of the relations between them.

    Reads all open relations that the actor may read: some 300 ms for 200,000.

    Args:
        actor: who asks.
        size: most pairs, at most 50.
    """
    require_memory()
    actor.require(Permission.READ)
    scope = "" if actor.readable is None else "AND r.scope = ANY(%(scopes)s::uuid[])"
    with owner_scope(actor.owner_id):
        with connection.cursor() as cursor:
            cursor.execute(
                BRIDGES.format(scope=scope),
                {**_parameters(actor), "size": min(size, MOST_BRIDGES), "shown": SHOWN_RELATIONS},
            )
            rows = cursor.fetchall()
        relations = relations_by_id([one for row in rows for one in row[4]], known_at=None)
        return [
            Bridge(first, second, weight, count, [relations[one] for one in heaviest])
            for first, second, weight, count, heaviest in rows
        ]


def titles(actor: Actor, numbers: Sequence[int]) -> dict[int, str]:
    """Give what communities are called, by number, as far as the actor may know; within the owner's scope."""
    if not numbers:
        return {}
    found = _seen(actor, numbers=numbers, after=None, size=len(numbers))
    return {one.number: str(masked_value(one.title)) for one in found}


def divide_now(*, actor: Actor) -> Division:
    """Divide the owner's graph at once, whether or not it has changed.

    Some seconds for 200,000 relations.

    Raises:
        PermissionRefused: the actor may not decide for the owner.
        Conflict: `consolidation.running`, a run works for the owner.
    """
    require_memory()
    actor.require(Permission.REVIEW)
    run_id, moment = new_id(), now()
    with owner_scope(actor.owner_id):
        if not lease.take(run_id, moment=moment):
            raise Conflict(
                "A run of consolidation is at work. Nothing was changed; try again when it has ended.",
                code="consolidation.running",
            )
    try:
        found = divide_graph(actor.owner_id, at=moment, again=True, beat=lambda: _renew(actor.owner_id, run_id))
    except RunStopped as stop:
        raise Conflict(
            "A run of consolidation took over. What was labelled stays; try again when it has ended.",
            code="consolidation.running",
        ) from stop
    finally:
        with owner_scope(actor.owner_id):
            lease.release(run_id)
    assert found is not None
    return found


def _renew(owner_id: UUID, run_id: UUID) -> None:
    with owner_scope(owner_id):
        lease.renew(run_id, moment=now())


def _seen(
    actor: Actor, *, numbers: Sequence[int] | None, after: tuple[int, UUID] | None, size: int
) -> list[CommunityView]:
    with connection.cursor() as cursor:
        cursor.execute(
            STORED if actor.readable is None else SIZES,
            {
                **_parameters(actor),
                "numbers": None if numbers is None else list(numbers),
                "after": after[0] if after else None,
                "after_id": after[1] if after else None,
                "size": size,
            },
        )
        rows = cursor.fetchall()
    foremost = _foremost(actor, [row[1] for row in rows])
    stored = {row.pk: row for row in Community.objects.filter(pk__in=[row[0] for row in rows])}
    # What a person has called it may speak of what this reader must not know of.
    names = {row.number: row.name for row in stored.values()} if actor.readable is None else {}
    nameless = [row[1] for row in rows if row[1] not in foremost and not names.get(row[1])]
    begins = openings(actor, nameless)
    return [
        _view(actor, stored[row[0]], row[2], row[3], foremost.get(row[1], []), names.get(row[1]), begins.get(row[1]))
        for row in rows
    ]


def _view(
    actor: Actor,
    row: Community,
    entities: int,
    memories: int,
    foremost: Sequence[Entity],
    name: str | None,
    begins: str | None,
) -> CommunityView:
    whole = actor.readable is None
    members = ", ".join(entity.name for entity in foremost[:NAMING_ENTITIES])
    return CommunityView(
        id=row.pk,
        number=row.number,
        name=name,
        title=name or members or begins or _("Community %(number)s") % {"number": row.number},
        entities=entities,
        memories=memories,
        foremost=foremost,
        inner_weight=row.inner_weight if whole else None,
        outer_weight=row.outer_weight if whole else None,
    )


def _foremost(actor: Actor, numbers: Iterable[int]) -> Mapping[int, list[Entity]]:
    scope = "" if actor.readable is None else "AND e.scope = ANY(%(scopes)s::uuid[])"
    with connection.cursor() as cursor:
        cursor.execute(
            FOREMOST.format(scope=scope), {**_parameters(actor), "numbers": list(numbers), "most": SHOWN_ENTITIES}
        )
        pairs = cursor.fetchall()
    entities = entities_by_id(entity_id for _, entity_id in pairs)
    found: dict[int, list[Entity]] = {}
    for number, entity_id in pairs:
        found.setdefault(number, []).append(entities[entity_id])
    return found


def _parameters(actor: Actor) -> dict[str, Any]:
    return {"owner": current_owner(), "scopes": list(actor.readable or ()), "live": Status.LIVE}
