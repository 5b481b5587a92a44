"""What apps keep in embedding spaces beside the vectors of memories, removed when a space is given up.

`memory` knows nobody who keeps vectors; apps add what removes theirs in their `AppConfig.ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

Remove = Callable[[int], int]
"""Takes the id of a space, removes the present owner's rows in it, a bounded number at once, and gives how many."""

_holders: Final[dict[str, Remove]] = {}


def add_holder(name: str, remove: Remove) -> None:
    """Have an app's rows in a space removed with it, owner by owner; for `AppConfig.ready`.

    Args:
        name: under which the rows are counted; one that was added before under this name is replaced.
        remove: called within each owner's scope until it gives 0.
    """
    _holders[name] = remove


def holders() -> Mapping[str, Remove]:
    """Give all that was added, by name."""
    return MappingProxyType(_holders)
