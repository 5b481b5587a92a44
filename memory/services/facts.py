"""Facts in both times: what held at a moment, as far as it was known at another, and what took whose place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Q

from memory.errors import InvalidInput
from memory.models import EdgeKind, Kind, Memory, MemoryEdge, Status, Tier, owner_scope
from memory.services.actors import UNSET, Actor, Permission, read_scopes
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import visible_entity
from memory.services.memories import visible_memory
from memory.services.opening import opened
from memory.services.past import as_then
from memory.text import limits

KINDS: Final = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.INSTRUCTION)
MOST_REPLACED: Final = 20

LISTED: Final = """
    SELECT m.id, coalesce(m.valid_from, m.occurred_at) AS begins FROM memory_memory m
    WHERE m.owner_id = %(owner)s AND m.session_id IS NULL AND m.tier = %(tier)s AND m.kind = ANY(%(kinds)s)
      AND {conditions}
    ORDER BY begins DESC, m.id DESC LIMIT %(size)s
"""
BELIEVED_NOW: Final = "m.status IN (%(live)s, %(superseded)s) AND (m.expires_at IS NULL OR m.expires_at > %(known_at)s)"
# What was archived since was live then, and what is retired since had no end then. A text of then is shown to those
# who could read it then, as in the history.
BELIEVED_THEN: Final = """
    m.recorded_at <= %(known_at)s AND (m.expires_at IS NULL OR m.expires_at > %(known_at)s)
    AND (m.status IN (%(live)s, %(superseded)s) OR (m.status = %(archived)s AND m.archived_at > %(known_at)s))
"""
READABLE_THEN: Final = """
    coalesce((SELECT v.scope FROM memory_memoryversion v WHERE v.owner_id = m.owner_id AND v.memory_id = m.id
              AND v.created_at > %(known_at)s ORDER BY v.number LIMIT 1), m.scope) = ANY(%(readable)s::uuid[])
"""
HELD: Final = """
    coalesce(m.valid_from, m.occurred_at) <= %(as_of)s
    AND (m.valid_until IS NULL OR m.valid_until > %(as_of)s OR m.retracted_at > %(known_at)s)
"""
ABOUT: Final = """
    EXISTS (SELECT FROM memory_entitymention x WHERE x.owner_id = m.owner_id AND x.entity_id = %(about)s
            AND x.memory_id = m.id)
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement as it was known at a moment.

    Attributes:
        memory: its row, not to be saved.
        begins: since when it held: what it says itself, else when it was said.
        superseded_by: statements that took its place.
        supersedes: statements whose place it took.
    """

    memory: Memory
    begins: datetime
    superseded_by: tuple[UUID, ...] = ()
    supersedes: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Replacements:
    """The statements that took a statement's place, and those whose place it took, the oldest link first."""

    newer: Sequence[Memory]
    older: Sequence[Memory]


def _stated(answer: list[Fact], values: object) -> list[UUID]:
    return [fact.memory.pk for fact in answer]


@reads("facts", memories=_stated)
def facts(
    *,
    actor: Actor,
    as_of: Any = None,
    known_at: Any = None,
    about: UUID | None = None,
    kinds: Sequence[str] = (),
    superseded: bool = False,
    scope: Any = UNSET,
    after: tuple[datetime, UUID] | None = None,
    size: int = 50,
) -> list[Fact]:
    """List facts, preferences, decisions and instructions, those first that began last.

    Two times are kept apart. Asked for March, what held in March is given, with all that is known today, also of ends
    that were learned of later. Known in March, it is what Loci believed then, without what it has learned since.

    Args:
        actor: who asks.
        as_of: what held at this moment; what was known last, or now, when left out.
        known_at: what was believed at this moment; now when left out.
        about: of memories that speak of this entity.
        kinds: of these kinds only; all four when left out.
        superseded: show whatever held at any time, with its end.
        scope: limits the list to a scope or several.
        after: begin and id of the last row of the page before.
        size: most rows.

    Raises:
        InvalidInput: a moment or a kind that cannot be used, or `as_of` together with `superseded`.
        InvalidScope, NotFound, PermissionRefused: the scope or the entity is not there or not readable.
    """
    require_memory()
    actor.require(Permission.READ)
    wrong = sorted(set(kinds) - set(KINDS))
    if wrong:
        raise InvalidInput(f"kind is one of {', '.join(KINDS)}.", code="kind.invalid", field="kind")
    if superseded and as_of is not None:
        raise InvalidInput(
            "Name a moment, or ask for what held at any time.", code="as_of.with_superseded", field="as_of"
        )
    known = None if known_at is None else limits.checked_moment(known_at, field="known_at")
    believed = known or now()
    held = believed if as_of is None else limits.checked_moment(as_of, field="as_of")
    scopes = read_scopes(actor, scope)
    conditions = [BELIEVED_NOW if known is None else BELIEVED_THEN]
    parameters: dict[str, Any] = {
        "owner": actor.owner_id,
        "tier": Tier.SEMANTIC,
        "kinds": [str(kind) for kind in kinds or KINDS],
        "live": Status.LIVE,
        "superseded": Status.SUPERSEDED,
        "archived": Status.ARCHIVED,
        "known_at": believed,
        "as_of": held,
        "about": about,
        "scopes": None if scopes is None else list(scopes),
        "readable": None if actor.readable is None else list(actor.readable),
    }
    if not superseded:
        conditions.append(HELD)
    if scopes is not None:
        conditions.append("m.scope = ANY(%(scopes)s::uuid[])")
    if known is not None and actor.readable is not None:
        conditions.append(READABLE_THEN)
    if about is not None:
        conditions.append(ABOUT)
    with owner_scope(actor.owner_id):
        if about is not None:
            visible_entity(actor, about)
        return _page(actor, conditions, parameters, after, size, known=known, held=None if superseded else held)


def _page(
    actor: Actor,
    conditions: list[str],
    parameters: dict[str, Any],
    after: tuple[datetime, UUID] | None,
    size: int,
    *,
    known: datetime | None,
    held: datetime | None,
) -> list[Fact]:
    """Fill a page: of what was changed since, only its history tells whether it held, so rows may drop out."""
    found: list[Fact] = []
    while len(found) < size:
        listed = _listed(conditions, parameters, after, size)
        rows = {row.pk: row for row in Memory.objects.filter(pk__in=[memory_id for memory_id, _ in listed])}
        # One may be erased between the two looks; the page goes on behind it.
        then = opened([rows[memory_id] for memory_id, _ in listed if memory_id in rows])
        if known is not None:
            then = _as_known(then, known)
        begins = dict(listed)
        kept = [row for row in then if held is None or row.valid_until is None or row.valid_until > held]
        found += [Fact(row, begins[row.pk]) for row in kept[: size - len(found)]]
        if len(listed) < size:
            break
        after = listed[-1][1], listed[-1][0]
    return _with_replacements(actor, found, known)


def _listed(
    conditions: list[str], parameters: dict[str, Any], after: tuple[datetime, UUID] | None, size: int
) -> list[tuple[UUID, datetime]]:
    written = list(conditions)
    if after is not None:
        written.append("(coalesce(m.valid_from, m.occurred_at), m.id) < (%(after_at)s, %(after_id)s)")
        parameters = parameters | {"after_at": after[0], "after_id": after[1]}
    with connection.cursor() as cursor:
        cursor.execute(LISTED.format(conditions=" AND ".join(written)), {**parameters, "size": size})
        return list(cursor.fetchall())


def replacements_of(*, actor: Actor, memory_id: UUID) -> Replacements:
    """Give the statements that took a statement's place, and those whose place it took; at most twenty of each.

    Raises NotFound when the memory is not there or hidden; of others only those that the actor may read are given.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        row = visible_memory(actor, memory_id)
        [fact] = _with_replacements(actor, [Fact(row, row.occurred_at)], None)
        others = Memory.objects.filter(pk__in=[*fact.superseded_by, *fact.supersedes])
        found = {one.pk: one for one in opened(list(others))}
        return Replacements(
            [found[one] for one in fact.superseded_by if one in found],
            [found[one] for one in fact.supersedes if one in found],
        )


def _as_known(rows: list[Memory], known: datetime) -> list[Memory]:
    then = as_then(rows, at=known)
    for row in then:
        if row.retracted_at is not None and row.retracted_at > known:
            row.retracted_at, row.status = None, Status.LIVE
        if row.archived_at is not None and row.archived_at > known:
            row.archived_at, row.archive_reason, row.status = None, "", Status.LIVE
    return then


def _with_replacements(actor: Actor, found: list[Fact], known: datetime | None) -> list[Fact]:
    """Add what took whose place, as far as the actor may read both and as it was known."""
    ids = [one.memory.pk for one in found]
    retired = [one.memory.pk for one in found if one.memory.status == Status.SUPERSEDED]
    edges = MemoryEdge.objects.filter(Q(target_id__in=retired) | Q(source_id__in=ids), kind=EdgeKind.CONTRADICTS)
    if known is not None:
        edges = edges.filter(created_at__lte=known)
    pairs = list(edges.order_by("created_at", "pk").values_list("source_id", "target_id"))
    others = Memory.objects.filter(pk__in={one for pair in pairs for one in pair}).exclude(status=Status.ERASING)
    if actor.readable is not None:
        others = others.filter(scope__in=actor.readable)
    status = dict(others.values_list("pk", "status"))
    newer: dict[UUID, list[UUID]] = {}
    older: dict[UUID, list[UUID]] = {}
    for source, target in pairs:
        # A link that somebody made between two statements that both hold retired neither.
        if source in status and status.get(target) == Status.SUPERSEDED:
            newer.setdefault(target, []).append(source)
            older.setdefault(source, []).append(target)
    return [
        Fact(
            one.memory,
            one.begins,
            tuple(newer.get(one.memory.pk, ())[:MOST_REPLACED]),
            tuple(older.get(one.memory.pk, ())[:MOST_REPLACED]),
        )
        for one in found
    ]
