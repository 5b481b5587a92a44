"""Which recall profile answers an agent that names none: somebody who compares profiles may decide it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID


@dataclass(frozen=True, slots=True)
class ChosenProfile:
    """A profile chosen by an experiment: which one, and in which arm (`control` or `variant`)."""

    profile: str
    experiment_id: UUID
    arm: str


Chooser = Callable[[UUID, UUID, UUID], ChosenProfile | None]
"""Takes the owner, the agent and the running experiment, within the owner's scope; None leaves it to the settings."""

_choosers: Final[list[Chooser]] = []


def add_chooser(chooser: Chooser) -> None:
    """Have somebody asked for the profile of agents that name none; for `AppConfig.ready`."""
    if chooser not in _choosers:
        _choosers.append(chooser)


def chosen_profile(owner_id: UUID, agent_id: UUID | None, experiment_id: UUID) -> ChosenProfile | None:
    """Give the profile that the running experiment has for an agent, within the owner's scope; None for a person."""
    if agent_id is None:
        return None
    found = (chooser(owner_id, agent_id, experiment_id) for chooser in _choosers)
    return next((one for one in found if one is not None), None)
