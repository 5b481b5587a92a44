"""What apps know of the costs of agents; they add it in their `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from uuid import UUID

from memory.services.actors import Actor

Costs = Mapping[UUID, str]
"""By agent, what the models asked on its behalf have cost in the last 30 days, in words."""

_looking: Final[list[Callable[[Actor], Costs]]] = []


def add_costs(look: Callable[[Actor], Costs]) -> None:
    """Add what knows costs; it may ask a number of statements that does not grow with the agents."""
    if look not in _looking:
        _looking.append(look)


def agent_costs(actor: Actor) -> dict[UUID, list[str]]:
    """Give what is known of the costs of each agent."""
    found: dict[UUID, list[str]] = {}
    for look in _looking:
        for agent_id, words in look(actor).items():
            found.setdefault(agent_id, []).append(words)
    return found
