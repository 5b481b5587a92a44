"""What each agent has and does, for a person who looks after them: keys, groups, what it wrote and read."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Max

from memory.models import Agent, AgentGroup, AgentKey, Memory, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.agents import list_agents, list_groups
from memory.services.audit.read_totals import ReadTotal, read_totals
from memory.services.clock import now


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """An agent with its numbers.

    Attributes:
        agent: the agent.
        groups: its projects and squads.
        keys: how many keys of it work.
        permissions: what any of these allows.
        used_at: when one of its keys was last used, to five minutes.
        written: memories that it has stored and that are still there.
        written_at: when it stored the newest of them.
        read: what it has read; None where that is nothing.
    """

    agent: Agent
    groups: list[AgentGroup] = field(default_factory=list)
    keys: int = 0
    permissions: tuple[str, ...] = ()
    used_at: datetime | None = None
    written: int = 0
    written_at: datetime | None = None
    read: ReadTotal | None = None


def agent_figures(*, actor: Actor) -> list[AgentFigures]:
    """Give all agents of the owner with their numbers, oldest first; the statements do not grow with the agents."""
    actor.require(Permission.AGENTS)
    actor.require(Permission.PRIVACY)
    with owner_scope(actor.owner_id):
        agents = list_agents(actor=actor)
        groups = list_groups(actor=actor)
        reads = {total.agent_id: total for total in read_totals(actor=actor)}
        keys = _keys()
        stored = Memory.objects.exclude(status=Status.ERASING).exclude(agent_id=None)
        written = {
            agent_id: (count, last)
            for agent_id, count, last in stored.values("agent_id")
            .annotate(count=Count("pk"), last=Max("created_at"))
            .order_by()
            .values_list("agent_id", "count", "last")
        }
    found = []
    for agent in agents:
        count, last = written.get(agent.pk, (0, None))
        own = keys.get(agent.pk, _Keys())
        found.append(
            AgentFigures(
                agent=agent,
                groups=[group for group, members in groups if agent.pk in members],
                keys=own.working,
                permissions=tuple(sorted(own.permissions)),
                used_at=own.used_at,
                written=count,
                written_at=last,
                read=reads.get(agent.pk),
            )
        )
    return found


@dataclass(slots=True)
class _Keys:
    working: int = 0
    permissions: set[str] = field(default_factory=set)
    used_at: datetime | None = None


def _keys() -> dict[UUID, _Keys]:
    moment = now()
    found: dict[UUID, _Keys] = {}
    rows = AgentKey.objects.values_list("agent_id", "scopes", "revoked_at", "expires_at", "last_used_at")
    for agent_id, scopes, revoked, expires, used in rows:
        own = found.setdefault(agent_id, _Keys())
        own.used_at = max(filter(None, [own.used_at, used]), default=None)
        if revoked is None and (expires is None or expires > moment):
            own.working += 1
            own.permissions.update(scopes)
    return found
