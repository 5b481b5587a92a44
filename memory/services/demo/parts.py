"""What apps add to the demonstration, in their `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.services.actors import Actor
from memory.services.demo.script import Conversation


@dataclass(frozen=True, slots=True)
class DemoOwner:
    """The owner whose life was replayed.

    Args:
        person: the owner itself.
        agents: its agents by name.
        conversations: what was said, oldest first.
        present: the moment up to which it leads.
    """

    person: Actor
    agents: Mapping[str, Actor]
    conversations: Sequence[Conversation]
    present: datetime


DemoPart = Callable[[DemoOwner], str]
"""Adds something and says what, in a few words."""

_parts: Final[list[DemoPart]] = []


def add_demo_part(part: DemoPart) -> None:
    """Add a part after those that are there."""
    if part not in _parts:
        _parts.append(part)


def demo_parts() -> tuple[DemoPart, ...]:
    """Give all parts in their order."""
    return tuple(_parts)
