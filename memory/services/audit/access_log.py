"""Looking into the audit: what was done, by whom and when, and who has read a memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from memory.errors import InvalidInput
from memory.models import Agent, AuditEvent, MemoryRead, Owner, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.audit.vocabulary import AGENT, checked_actor, checked_kind, checked_verb
from memory.services.features import require_memory
from memory.services.legible import legible
from memory.services.memories import visible_memory
from memory.text import limits

MOST_READERS: Final = 1_000
LONGEST_WORD: Final = 64


@dataclass(frozen=True, slots=True)
class Reader:
    """One who has read a memory; `agent_id` is None for the owner, and `name` where the agent is gone.

    `staff` tells that it was staff of the installation, whose id is that of its audit then.
    """

    agent_id: UUID | None
    name: str | None
    reads: int
    first_at: datetime
    last_at: datetime
    staff: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with the name of the agent that acted, None for others and where the agent is gone."""

    event: AuditEvent
    agent_id: UUID | None
    agent_name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """Which events to list; what is None is not asked for.

    Attributes:
        verb: what was done.
        actor: by whom, as events name them: `person`, `system`, `agent:<id>` …
        object_kind: to what sort of thing, for reads the sort of the request.
        object_id: to which one.
        since: at this moment or later.
        until: before this moment.
    """

    verb: str | None = None
    actor: str | None = None
    object_kind: str | None = None
    object_id: UUID | None = None
    since: Any = None
    until: Any = None


@reads("access_log")
def access_log(
    *, actor: Actor, request: LogRequest, after: tuple[datetime, UUID] | None = None, size: int = 50
) -> list[Entry]:
    """List events of the actor's owner, the newest first: everything that was recorded, by whomever.

    Args:
        actor: who asks.
        request: the filters.
        after: time and id of the last event of the page before.
        size: most events.

    Raises:
        InvalidInput: a word or moment cannot be used.
        PermissionRefused: the key may not manage privacy.
    """
    actor.require(Permission.PRIVACY)
    wanted = _conditions(request)
    if after is not None:
        wanted &= Q(created_at__lte=after[0]) & (Q(created_at__lt=after[0]) | Q(pk__lt=after[1]))
    with owner_scope(actor.owner_id):
        events = list(AuditEvent.objects.filter(wanted).order_by("-created_at", "-pk")[:size])
        named = [(event, agent_of(event.actor)) for event in events]
        names = agent_names({agent_id for _, agent_id in named if agent_id})
    return [Entry(event, agent_id, names.get(agent_id) if agent_id else None) for event, agent_id in named]


@reads("readers", of="memory_id")
def who_read(*, actor: Actor, memory_id: UUID) -> list[Reader]:
    """Tell who has read a memory, how often, first and last; the one who read it last comes first.

    What was read within the last second may not be counted yet.

    Raises:
        NotFound: not there or hidden from the actor.
        PermissionRefused: the key may not manage privacy.
    """
    require_memory()
    actor.require(Permission.PRIVACY)
    with owner_scope(actor.owner_id):
        visible_memory(actor, memory_id)
        rows = list(MemoryRead.objects.filter(memory_id=memory_id).order_by("-last_at", "reader")[:MOST_READERS])
        names = agent_names({row.reader for row in rows})
    strangers = {row.reader for row in rows} - names.keys() - {actor.owner_id}
    staff = (
        set(Owner.objects.filter(pseudonym__in=strangers).values_list("pseudonym", flat=True)) if strangers else set()
    )
    return [
        Reader(
            agent_id=None if row.reader == actor.owner_id else row.reader,
            name=names.get(row.reader),
            reads=row.reads,
            first_at=row.first_at,
            last_at=row.last_at,
            staff=row.reader in staff,
        )
        for row in rows
    ]


def agent_names(agent_ids: set[UUID]) -> dict[UUID, str]:
    """Give the names of agents of the current owner, for people.

    Those that are gone are left out, and those whose name does not open.
    """
    agents = Agent.objects.filter(pk__in=agent_ids) if agent_ids else ()
    return {agent.pk: name for agent in agents if (name := legible(agent, "name")) is not None}


def agent_of(label: str) -> UUID | None:
    """Give the id of the agent that an event's actor names, None for any other actor."""
    try:
        return UUID(label.removeprefix(AGENT)) if label.startswith(AGENT) else None
    except ValueError:
        # Not of our making, and no reason to show nothing of the rest.
        return None


_CHECKED: Final[Mapping[str, Callable[[str], str]]] = {
    "verb": checked_verb,
    "actor": checked_actor,
    "object_kind": checked_kind,
}


def _conditions(request: LogRequest) -> Q:
    wanted = Q()
    for field in ("verb", "actor", "object_kind"):
        word = getattr(request, field)
        if word is not None:
            if not isinstance(word, str) or not 0 < len(word) <= LONGEST_WORD or "\0" in word:
                raise InvalidInput(f"{field} is a word of at most {LONGEST_WORD} characters.", field=field)
            wanted &= Q(**{field: _CHECKED[field](word)})
    if request.object_id is not None:
        wanted &= Q(object_id=request.object_id)
    if request.since is not None:
        wanted &= Q(created_at__gte=limits.checked_moment(request.since, field="since"))
    if request.until is not None:
        wanted &= Q(created_at__lt=limits.checked_moment(request.until, field="until"))
    return wanted
