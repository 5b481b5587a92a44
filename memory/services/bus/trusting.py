"""How far an owner trusts what each agent says: set by persons, read wherever statements are weighed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from memory.errors import InvalidInput, NotFound, PermissionRefused
from memory.models import Agent, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now


def set_trust(*, actor: Actor, agent_id: UUID, trust: Any) -> Agent:
    """Say how far an agent is to be trusted, which decides whose statement stands when two contradict each other.

    Args:
        actor: a person or an operator; no agent may say so, of itself or of another.
        agent_id: which agent.
        trust: 0 to 1; None takes it back, and the agent counts as one of whom nobody has said anything.

    Raises:
        PermissionRefused: `auth.person_only`, an agent.
        InvalidInput: no number from 0 to 1.
        NotFound: no such agent.
    """
    actor.require(Permission.AGENTS)
    if trust is not None and (isinstance(trust, bool) or not isinstance(trust, int | float)):
        raise InvalidInput("trust is a number.", code="field.type", field="trust")
    if trust is not None and not 0 <= trust <= 1:
        raise InvalidInput("trust is a number from 0 to 1.", code="trust.out_of_range", field="trust")
    with owner_scope(actor.owner_id):
        agent: Agent | None = Agent.objects.filter(pk=agent_id).first()
        if agent is None:
            raise NotFound("There is no agent with this id here.")
        if not actor.human:
            raise PermissionRefused(
                "Only a person may say how far an agent is trusted. Nothing was changed.", code="auth.person_only"
            )
        agent.trust = None if trust is None else float(trust)
        agent.save(update_fields=["trust"])
        record(actor=actor.label, verb="trust", object_kind="agent", object_id=agent.pk, at=now())
        return agent


def trust_of(agent_ids: Iterable[UUID], *, unset: float) -> dict[UUID, float]:
    """Give how far agents are trusted, within the owner's scope; `unset` where no person has said so."""
    wanted = set(agent_ids)
    said = dict(Agent.objects.filter(pk__in=wanted, trust__isnull=False).values_list("pk", "trust"))
    return {agent_id: said.get(agent_id, unset) for agent_id in wanted}
