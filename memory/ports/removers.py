"""What apps keep for a while only, removed by the hourly job with what the memory itself removes.

`memory` knows nobody who keeps something; apps add their removers in their `AppConfig.ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

Remove = Callable[[datetime], int]
"""Takes the moment that counts as now and gives how many rows it has removed; called within each owner's scope."""

_removers: Final[dict[str, Remove]] = {}


def add_remover(name: str, remove: Remove) -> None:
    """Have outdated rows of an app removed every hour, owner by owner; for `AppConfig.ready`.

    Args:
        name: under which the job counts the rows; one that was added before under this name is replaced.
        remove: removes the present owner's outdated rows, a bounded number at once; it may be repeated.
    """
    _removers[name] = remove


def removers() -> Mapping[str, Remove]:
    """Give all that was added, by name."""
    return MappingProxyType(_removers)
