"""Reading single memories and lists of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from memory.crypto.keyring import keyring
from memory.errors import NotFound
from memory.models import Memory, MemoryAccess, MemorySource, MemoryVersion, Status, owner_scope
from memory.services.actors import UNSET, Actor, Permission, read_scopes
from memory.services.audit.reading import reads, rows_of, the_memory
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.filtering import Narrowed, filters_of
from memory.services.opening import opened
from memory.services.past import as_then
from memory.text import limits

LISTED: Final = """
    SELECT m.id FROM memory_memory m WHERE m.owner_id = %(owner)s AND {conditions}
    ORDER BY m.created_at DESC, m.id DESC LIMIT %(size)s
"""
# What was archived or superseded since a moment was live then; what a person deletes leaves every list at once.
LIVE_THEN: Final = (
    "(m.status = %(live)s OR m.status IN (%(superseded)s, %(archived)s) "
    "AND (m.archived_at IS NULL OR m.archived_at > %(as_of)s))"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest(Narrowed):
    """Which memories to list.

    `statuses` left out is live ones; with `as_of` it is those that were live then, whatever they are now.
    """

    scope: Any = UNSET
    statuses: Sequence[str] = ()


@reads("memory", of="memory_id", memories=rows_of)
def get_memory(*, actor: Actor, memory_id: UUID, as_of: Any = None) -> Memory:
    """Give one memory, whatever its status.

    Args:
        actor: who asks.
        memory_id: which.
        as_of: show it as it stood at this moment; it is not to be saved then.

    Raises:
        NotFound: not there, hidden from the actor, or not there yet or hidden at the moment.
        InvalidInput: `as_of` is no moment.
    """
    require_memory()
    actor.require(Permission.READ)
    at = None if as_of is None else limits.checked_moment(as_of, field="as_of")
    with owner_scope(actor.owner_id):
        row = visible_memory(actor, memory_id)
        if at is None:
            return row
        later = MemoryVersion.objects.filter(memory_id=memory_id, created_at__gt=at).order_by("number")
        scope_then = later.values_list("scope", flat=True).first() or row.scope
        if row.recorded_at > at or not actor.may_read(scope_then):
            raise NotFound("There was no memory with this id here at that moment.")
        return as_then(opened([row]), at=at)[0]


def stored_version(*, actor: Actor, memory_id: UUID) -> int:
    """Give the version of a memory, to callers that may read or change it.

    Raises:
        NotFound: not there or hidden.
        PermissionRefused: the actor may neither read nor write nor delete.
    """
    require_memory()
    if actor.permissions.isdisjoint({Permission.WRITE, Permission.DELETE}):
        actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return int(visible_memory(actor, memory_id).version)


@reads("memories", memories=rows_of)
def list_memories(
    *, actor: Actor, request: ListRequest, after: tuple[datetime, UUID] | None, size: int
) -> list[Memory]:
    """List memories, newest first.

    Args:
        actor: who asks.
        request: the filters.
        after: creation time and id of the last row of the page before.
        size: most rows.

    Raises:
        InvalidInput: a moment, a span or the filter expression cannot be used.
        InvalidScope, NotFound, PermissionRefused: the scope is not there or not readable.
    """
    require_memory()
    actor.require(Permission.READ)
    scopes = read_scopes(actor, request.scope)
    filters = filters_of(request, actor=actor, ring=keyring().of(actor.owner_id), at=now())
    conditions, parameters = filters.conditions()
    conditions.append(_of_status(request, parameters))
    if scopes is not None:
        conditions.append("m.scope = ANY(%(scopes)s::uuid[])")
        parameters["scopes"] = list(scopes)
    if after is not None:
        conditions.append("(m.created_at, m.id) < (%(after_at)s, %(after_id)s)")
        parameters |= {"after_at": after[0], "after_id": after[1]}
    with owner_scope(actor.owner_id):
        rows = opened(
            _listed(
                LISTED.format(conditions=" AND ".join(conditions)),
                {**parameters, "owner": actor.owner_id, "size": size},
            )
        )
        return rows if filters.past is None else as_then(rows, at=filters.past.at)


def _listed(statement: str, parameters: Mapping[str, Any]) -> list[Memory]:
    """Give the rows that a statement lists by their ids, in its order, as many as there are.

    Asked again where one is erased between the two looks: a page with a row too few would pass for the last one.
    """
    while True:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            order = [row[0] for row in cursor.fetchall()]
        found = {row.pk: row for row in Memory.objects.filter(pk__in=order)}
        if len(found) == len(order):
            return [found[memory_id] for memory_id in order]


def count_newer(*, actor: Actor, than: tuple[datetime, UUID] | None, most: int) -> int:
    """Count live memories that came after one, of those that the actor may read.

    Args:
        actor: who asks.
        than: creation time and id of that one; None counts from the first on.
        most: where counting ends.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        rows = Memory.objects.filter(status=Status.LIVE)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        if than is not None:
            rows = rows.filter(Q(created_at__gt=than[0]) | Q(created_at=than[0], pk__gt=than[1]))
        # Without its order the index by status counts no more than it must.
        return int(rows.order_by()[:most].count())


def _of_status(request: ListRequest, parameters: dict[str, Any]) -> str:
    if request.statuses:
        parameters["statuses"] = list(request.statuses)
        return "m.status = ANY(%(statuses)s)"
    parameters["live"] = Status.LIVE
    if request.as_of is None:
        # Not as a list of one, so that the index by status gives the rows in their order.
        return "m.status = %(live)s"
    parameters |= {"superseded": Status.SUPERSEDED, "archived": Status.ARCHIVED}
    return LIVE_THEN


@reads("memories", memories=lambda answer, values: list(answer))
def by_ids(*, actor: Actor, memory_ids: Sequence[UUID]) -> dict[UUID, Memory]:
    """Give those of some memories that are there and that the actor may read, by their ids, whatever their status."""
    require_memory()
    actor.require(Permission.READ)
    if not memory_ids:
        return {}
    with owner_scope(actor.owner_id):
        rows: QuerySet[Memory] = Memory.objects.filter(pk__in=set(memory_ids)).exclude(status=Status.ERASING)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        return {row.pk: row for row in opened(list(rows))}


def accesses(*, actor: Actor, memory_ids: Sequence[UUID]) -> dict[UUID, tuple[int, datetime]]:
    """Give how often and when last memories were used; those never used are left out."""
    with owner_scope(actor.owner_id):
        rows = MemoryAccess.objects.filter(memory_id__in=memory_ids)
        return {row.memory_id: (row.access_count, row.last_accessed) for row in rows}


@reads("history", of="memory_id", memories=the_memory)
def history(*, actor: Actor, memory_id: UUID, size: int = 100) -> list[MemoryVersion]:
    """Give the newest of the earlier versions of a memory, newest first; raises NotFound as `get_memory`."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        visible_memory(actor, memory_id)
        rows = _readable(actor, MemoryVersion.objects.filter(memory_id=memory_id))
        return list(rows.order_by("-number")[:size])


@reads("sources", of="memory_id", memories=the_memory)
def sources(*, actor: Actor, memory_id: UUID, size: int = 100) -> list[MemorySource]:
    """Give the newest statements of a memory: by whom, when and from where."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        visible_memory(actor, memory_id)
        rows = _readable(actor, MemorySource.objects.filter(memory_id=memory_id))
        return list(rows.order_by("-created_at", "-pk")[:size])


def _readable(actor: Actor, rows: Any) -> Any:
    """Leave out what was said when the actor could not have read it."""
    return rows if actor.readable is None else rows.filter(scope__in=actor.readable)


def visible_memory(actor: Actor, memory_id: UUID, *, lock: bool = False) -> Memory:
    """Give a memory that the actor may see, within its owner's scope; raises NotFound otherwise."""
    rows: QuerySet[Memory] = Memory.objects.select_for_update() if lock else Memory.objects.all()
    row = rows.filter(pk=memory_id).first()
    if row is None or not actor.may_read(row.scope) or (row.status == Status.ERASING and actor.kind == "agent"):
        raise NotFound("There is no memory with this id here.")
    return row
