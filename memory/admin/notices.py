"""What apps have to say at the top of the admin's front page; they add it in their `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memory.services.actors import Actor


@dataclass(frozen=True, slots=True)
class AdminNotice:
    """Something that staff should know before they look at anything.

    Args:
        sentence: what is so.
        page: the name of the address where something can be done about it.
        label: what the link there says.
    """

    sentence: str
    page: str
    label: str


Looking = Callable[[Actor], AdminNotice | None]

_looking: Final[list[Looking]] = []


def add_notice(look: Looking) -> None:
    """Add what looks whether there is something to say to a person; None means that there is nothing."""
    if look not in _looking:
        _looking.append(look)


def notices(actor: Actor) -> tuple[AdminNotice, ...]:
    """Give what there is to say to a person."""
    return tuple(found for look in _looking if (found := look(actor)) is not None)
