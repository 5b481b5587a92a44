"""What can be watched: sorts of things that change, each with the permission to hear of it; apps add theirs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from memory.ports.live import ACCESS
from memory.services.actors import Permission

_sorts: Final[dict[str, Permission]] = {}

SORTS: Final[Mapping[str, Permission]] = MappingProxyType(_sorts)
"""The permission that each sort asks for, by the sort's name."""


def add_sort(name: str, permission: Permission) -> None:
    """Let a sort be watched; for `AppConfig.ready`.

    Args:
        name: as it is announced.
        permission: what a watcher needs. A sort speaks of the whole owner, so one who may read only some scopes must
            not have it.

    Raises:
        ValueError: the name is reserved, or taken with another permission.
    """
    if name == ACCESS or _sorts.get(name, permission) != permission:
        raise ValueError(f"The sort {name!r} cannot be added.")
    _sorts[name] = permission
