"""Which agent a command is about."""

from __future__ import annotations

from uuid import UUID

from memory.errors import NotFound
from memory.models import Agent
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.legible import legible


def agent_named(actor: Actor, named: str) -> Agent:
    """Find the owner's agent of a name, in capitals or not, or of an id.

    Raises:
        NotFound: there is none; the message says what to type.
    """
    wanted, folded = id_or_none(named), named.strip().casefold()
    for agent in list_agents(actor=actor):
        name = legible(agent, "name")
        if agent.pk == wanted or (name is not None and name.casefold() == folded):
            return agent
    raise NotFound(
        "There is no agent of this name or id here. `manage.py agent list` shows them.", code="agent.unknown"
    )


def id_or_none(text: str) -> UUID | None:
    """Read an id; None for what is none."""
    try:
        return UUID(text)
    except ValueError:
        return None
