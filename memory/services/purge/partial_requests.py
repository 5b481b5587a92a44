"""Asking for a partial purge: what can be named, who may, what would go, and the request itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, NotFound
from memory.models import (
    Agent,
    AgentKey,
    BusMessage,
    Memory,
    MemoryRead,
    Purge,
    PurgeSubject,
    Session,
    owner_scope,
)
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.forgetting import checked_prefix
from memory.services.purge.agent_parts import agent_parts
from memory.services.purge.partial_agent import of_agent
from memory.services.purge.partial_choice import Chosen, accepted_as, choose, going_with, told_of
from memory.services.purge.requests import NewPurge, request_purge

MOST_MEMORIES: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialRequest:
    """What to purge; exactly one of the first three is named.

    Attributes:
        agent: the id of an agent: all that it stored, and the agent.
        source: what came from a source or from below it, and from nowhere else.
        memories: between 1 and 1,000 ids.
        seal: begin a rotation of the text key at once, so that remains in dead rows and backups become unreadable.
    """

    agent: UUID | None = None
    source: Any = None
    memories: Sequence[UUID] | None = None
    seal: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """What a purge would erase, by kind."""

    subject: str
    counts: dict[str, int]


def preview_partial(*, actor: Actor, request: PartialRequest) -> Preview:
    """Count what a partial purge would erase, and change nothing.

    Raises:
        PermissionRefused: the permission `privacy:manage` is missing.
        InvalidInput: `purge.empty` or `purge.several`, nothing or too much is named; `memories.too_few`,
            `memories.too_many`; a source that cannot be used.
        NotFound: an agent or memory that is not there or hidden; nothing is counted then.
    """
    subject, target = _checked(actor, request)
    with owner_scope(actor.owner_id):
        return Preview(subject, _counts(subject, target, choose(subject, target, until=now())))


def begin_partial(*, actor: Actor, request: PartialRequest) -> NewPurge:
    """Ask for a partial purge and call the workers; gives its row and the token that opens its receipt.

    Whoever lets a person ask has the password given once more, see `memory.services.reauthentication`.

    Raises:
        PermissionRefused: `privacy:manage` or `memory:delete` is missing.
        InvalidInput, NotFound: as for `preview_partial`.
        Conflict: `purge.under_way`, the same is being purged already.
    """
    actor.require(Permission.DELETE)
    subject, target = _checked(actor, request)
    at = now()
    with owner_scope(actor.owner_id):
        expected = _counts(subject, target, choose(subject, target, until=at))
    return request_purge(
        owner_id=actor.owner_id,
        subject=subject,
        target=target,
        requested_by=actor.label,
        expected=expected,
        at=at,
    )


def purges_seen(*, actor: Actor, size: int = 50) -> list[Purge]:
    """List the purges that the actor may know of, newest first: the owner's, or what an agent has asked for itself.

    Raises PermissionRefused without `privacy:manage`.
    """
    return list(_seen(actor).order_by("-requested_at", "-pk")[:size])


def purge_seen(*, actor: Actor, purge_id: UUID) -> Purge:
    """Give a purge that the actor may know of; raises NotFound (`purge.unknown`) for others."""
    purge = _seen(actor).filter(pk=purge_id).first()
    if purge is None:
        raise NotFound("There is no such purge.", code="purge.unknown")
    return purge


def _seen(actor: Actor) -> QuerySet[Purge]:
    actor.require(Permission.PRIVACY)
    rows = Purge.objects.filter(of_owner=actor.owner_id)
    return rows if actor.readable is None else rows.filter(requested_by=actor.label)


def _checked(actor: Actor, request: PartialRequest) -> tuple[str, dict[str, Any]]:
    """Check who asks and for what; gives subject and target as a purge keeps them, ids and keyed hashes only."""
    actor.require(Permission.PRIVACY)
    named = [name for name in ("agent", "source", "memories") if getattr(request, name) is not None]
    if not named:
        raise InvalidInput("Name one of agent, source and memories. Nothing was erased.", code="purge.empty")
    if len(named) > 1:
        raise InvalidInput("Name one of agent, source and memories, not several.", code="purge.several")
    within = None if actor.readable is None else [str(one) for one in actor.readable]
    rest: dict[str, Any] = {"within": within, "seal": request.seal}
    if request.agent is not None:
        return PurgeSubject.AGENT, {"agent": str(_agent(actor, request.agent)), **rest}
    if request.source is not None:
        prefix = checked_prefix(request.source, field="source")
        return PurgeSubject.SOURCE, {"source": keyring().of(actor.owner_id).name(prefix), **rest}
    return PurgeSubject.MEMORY, {"memories": _memories(actor, request.memories or ()), **rest}


def _agent(actor: Actor, agent_id: UUID) -> UUID:
    """Find the agent; an agent may name only itself, since what others keep to themselves is hidden from it."""
    with owner_scope(actor.owner_id):
        there = Agent.objects.filter(pk=agent_id).exists()
    if not there or actor.agent_id not in (None, agent_id):
        raise NotFound("There is no agent with this id here.")
    return agent_id


def _memories(actor: Actor, ids: Sequence[UUID]) -> list[str]:
    named = sorted(set(ids))
    if not named:
        raise InvalidInput("Name at least one memory.", code="memories.too_few", field="memories")
    if len(named) > MOST_MEMORIES:
        raise InvalidInput(f"Name at most {MOST_MEMORIES} memories.", code="memories.too_many", field="memories")
    with owner_scope(actor.owner_id):
        rows = Memory.objects.filter(pk__in=named)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable)
        if rows.count() < len(named):
            raise NotFound("One of these memories is not here. Nothing was erased.")
    return [str(one) for one in named]


def _counts(subject: str, target: Mapping[str, Any], chosen: Chosen) -> dict[str, int]:
    """Count what goes, within the owner's scope."""
    going = going_with(sorted({*chosen.memories, *chosen.drawn}))
    told, messages = told_of(going, target), accepted_as(going, target)
    along = told - set(chosen.memories)
    counts = {
        "memories": len(told) - len(along),
        "drawn": len(along),
        "sources": sum(len(rows) for one, rows in chosen.staying.items() if one not in along),
        "messages": messages.count(),
    }
    if subject == PurgeSubject.AGENT:
        agent_id = UUID(target["agent"])
        counts |= {
            "sessions": Session.objects.filter(agent_id=agent_id).count(),
            "keys": AgentKey.objects.filter(agent_id=agent_id).count(),
            "messages": (messages | BusMessage.objects.filter(of_agent(agent_id))).count(),
            "reads": MemoryRead.objects.filter(reader=agent_id).count(),
            "agents": 1,
        }
        counts |= {part.name: part.count(agent_id) for part in agent_parts()}
    return {name: count for name, count in counts.items() if count}
