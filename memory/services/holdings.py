"""What is kept of an owner's memories: how many of which tier and kind, from whom, and how many are sensitive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Count

from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.access_log import agent_names


@dataclass(frozen=True, slots=True)
class Holdings:
    """Numbers of memories, archived ones and turns of conversations among them.

    Attributes:
        total: all that are there.
        tiers, kinds, statuses: by tier, kind and status.
        sensitive: by level of personal data, from 1 on.
        agents: by the agent that stored them; None for the person and for what Loci drew itself.
        names: of these agents, without those that are gone or do not open.
    """

    total: int = 0
    tiers: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    sensitive: Counter[int] = field(default_factory=Counter)
    agents: Counter[UUID | None] = field(default_factory=Counter)
    names: dict[UUID, str] = field(default_factory=dict)


def holdings(*, actor: Actor) -> Holdings:
    """Count an owner's memories in one pass; raises PermissionRefused without `privacy:manage`."""
    actor.require(Permission.PRIVACY)
    tiers, kinds, statuses = Counter[str](), Counter[str](), Counter[str]()
    sensitive, agents = Counter[int](), Counter[UUID | None]()
    with owner_scope(actor.owner_id):
        rows = Memory.objects.exclude(status=Status.ERASING)
        grouped = rows.values_list("tier", "kind", "status", "pii_tier", "agent_id").annotate(count=Count("pk"))
        for tier, kind, status, level, agent_id, count in grouped.order_by():
            tiers[tier] += count
            kinds[kind] += count
            statuses[status] += count
            agents[agent_id] += count
            if level:
                sensitive[level] += count
        names = agent_names({agent_id for agent_id in agents if agent_id is not None})
    return Holdings(sum(tiers.values()), tiers, kinds, statuses, sensitive, agents, names)
