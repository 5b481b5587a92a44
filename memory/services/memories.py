"""Reading single memories and lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.keyring import keyring
from memory.errors import NotFound
from memory.models import (
    LabelKind,
    Memory,
    MemoryAccess,
    MemoryLabel,
    MemorySource,
    MemoryVersion,
    Status,
    owner_scope,
)
from memory.recall.filters import refuse_empty_span
from memory.services.actors import UNSET, Actor, Permission, read_scopes
from memory.services.features import require_memory
from memory.services.opening import opened


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """Which memories to list; empty means any. `statuses` is live ones when left out."""

    scope: Any = UNSET
    statuses: Sequence[str] = (Status.LIVE,)
    tiers: Sequence[str] = ()
    kinds: Sequence[str] = ()
    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    sources: Sequence[str] = ()
    session_id: UUID | None = None
    agent_id: UUID | None = None
    created_from: datetime | None = None
    created_until: datetime | None = None


def get_memory(*, actor: Actor, memory_id: UUID) -> Memory:
    """Give one memory, whatever its status; raises NotFound when it is not there or hidden from the actor."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        return visible_memory(actor, memory_id)


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
        InvalidInput: no moment lies in the span of creation.
        InvalidScope, NotFound, PermissionRefused: the scope is not there or not readable.
    """
    require_memory()
    actor.require(Permission.READ)
    refuse_empty_span(request.created_from, request.created_until, until="created_until")
    scopes = read_scopes(actor, request.scope)
    with owner_scope(actor.owner_id):
        rows: QuerySet[Memory] = Memory.objects.filter(status__in=request.statuses)
        if scopes is not None:
            rows = rows.filter(scope__in=scopes)
        for column, values in (("tier", request.tiers), ("kind", request.kinds), ("category", request.categories)):
            if values:
                rows = rows.filter(**{f"{column}__in": list(values)})
        for kind, words in ((LabelKind.TAG, request.tags), (LabelKind.SOURCE, request.sources)):
            if words:
                rows = rows.filter(pk__in=_labelled(actor, kind, words))
        if request.session_id is not None:
            rows = rows.filter(session_id=request.session_id)
        if request.agent_id is not None:
            rows = rows.filter(agent_id=request.agent_id)
        if request.created_from is not None:
            rows = rows.filter(created_at__gte=request.created_from)
        if request.created_until is not None:
            rows = rows.filter(created_at__lt=request.created_until)
        if after is not None:
            rows = rows.filter(Q(created_at__lt=after[0]) | Q(created_at=after[0], pk__lt=after[1]))
        return opened(list(rows.order_by("-created_at", "-pk")[:size]))


def _labelled(actor: Actor, kind: int, words: Sequence[str]) -> QuerySet[MemoryLabel]:
    ring = keyring().of(actor.owner_id)
    hashes = [ring.name(word.casefold()) for word in words]
    found: QuerySet[MemoryLabel] = MemoryLabel.objects.filter(kind=kind, label__in=hashes).values("memory_id")
    return found


def accesses(*, actor: Actor, memory_ids: Sequence[UUID]) -> dict[UUID, tuple[int, datetime]]:
    """Give how often and when last memories were used; those never used are left out."""
    with owner_scope(actor.owner_id):
        rows = MemoryAccess.objects.filter(memory_id__in=memory_ids)
        return {row.memory_id: (row.access_count, row.last_accessed) for row in rows}


def history(*, actor: Actor, memory_id: UUID) -> list[MemoryVersion]:
    """Give the earlier versions of a memory, newest first; raises NotFound as `get_memory`."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        visible_memory(actor, memory_id)
        return list(_readable(actor, MemoryVersion.objects.filter(memory_id=memory_id)).order_by("-number"))


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
