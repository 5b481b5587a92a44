"""What apps keep that goes with an agent, and sealed values of theirs in which only agents speak.

Apps say so where they register what a purge goes over; see `memory.services.purge.registry.announce`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import models

from memory.models.tenancy import TenantModel
from memory.services.purge.registry import load_announced


@dataclass(frozen=True, slots=True)
class AgentPart:
    """Rows of an app that go with an agent.

    Attributes:
        name: under which previews and receipts count them: at most 32 small letters and underscores.
        count: counts the rows of an agent, within the owner's scope.
        erase: erases them, within the owner's scope, and gives how many; it may be repeated.
    """

    name: str
    count: Callable[[UUID], int]
    erase: Callable[[UUID], int]


_parts: Final[dict[str, AgentPart]] = {}
_said: Final[set[type[models.Model]]] = set()


def rows_of_agent(name: str, model: type[TenantModel]) -> AgentPart:
    """Make the part of a table whose column `agent_id` names the agent; name as `AgentPart`."""

    def count(agent_id: UUID) -> int:
        return int(model.objects.filter(agent_id=agent_id).count())

    def erase(agent_id: UUID) -> int:
        return int(model.objects.filter(agent_id=agent_id).delete()[0])

    return AgentPart(name, count, erase)


def add_agent_part(part: AgentPart) -> None:
    """Have an app's rows of an agent erased with the agent; a part that was added under this name is replaced."""
    _parts[part.name] = part


def add_said(model: type[models.Model]) -> None:
    """Say that a model's sealed JSON is what somebody said: an id in it was said too, and is no trace of a row."""
    _said.add(model)


def agent_parts() -> Sequence[AgentPart]:
    """Give what goes with an agent, in the order in which it was added."""
    load_announced()
    return tuple(_parts.values())


def said() -> frozenset[type[models.Model]]:
    """Give the models of apps whose sealed JSON is what somebody said."""
    load_announced()
    return frozenset(_said)
