"""What apps have to say at the top of every page of the palace and on the admin's front page; they add it in their
`AppConfig.ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from typing import Final

from memory.services.actors import Actor


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a person should know on every page.

    Args:
        sentence: what is so.
        page: the name of the address where something can be done about it; empty where none can.
        label: what the link there says.
        name: by which scripts find it, where it comes and goes while a page is open; the one it was added with.
    """

    sentence: str
    page: str = ""
    label: str = ""
    name: str = ""


Looking = Callable[[Actor], Notice | None]

_looking: Final[dict[str, Looking]] = {}


def add_notice(name: str, look: Looking) -> None:
    """Add what looks whether there is something to say to a person; it costs every page, so one statement at most."""
    _looking[name] = look


def notices(actor: Actor, *, without: Set[str] = frozenset()) -> tuple[Notice, ...]:
    """Give what there is to say to a person.

    Args:
        actor: the person.
        without: the names of notices that the page shows in a place of its own.
    """
    looks = [(name, look) for name, look in _looking.items() if name not in without]
    return tuple(replace(found, name=name) for name, look in looks if (found := look(actor)) is not None)
