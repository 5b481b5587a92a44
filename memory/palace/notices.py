"""What apps have to say at the top of every page of the palace and on the admin's front page; they add it in their
`AppConfig.ready`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from memory.services.actors import Actor


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a person should know on every page.

    Args:
        sentence: what is so.
        page: the name of the address where something can be done about it; empty where none can.
        label: what the link there says.
        name: by which scripts find it, where it comes and goes while a page is open.
    """

    sentence: str
    page: str = ""
    label: str = ""
    name: str = ""


Looking = Callable[[Actor], Notice | None]

_looking: Final[list[Looking]] = []


def add_notice(look: Looking) -> None:
    """Add what looks whether there is something to say to a person; it costs every page, so one statement at most."""
    if look not in _looking:
        _looking.append(look)


def notices(actor: Actor) -> tuple[Notice, ...]:
    """Give what there is to say to a person."""
    return tuple(found for look in _looking if (found := look(actor)) is not None)
