"""What this process keeps in its memory of owners, and how it forgets it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from memory.services.purge.registry import Subject, Traces

Forget = Callable[[UUID], object]

_caches: dict[str, Forget] = {}


def register_cache(name: str, forget: Forget) -> None:
    """Add a cache of this process.

    Args:
        name: of the cache, for the list that a test compares.
        forget: drops what is kept of an owner; it may drop more.
    """
    _caches[name] = forget


def cache_names() -> frozenset[str]:
    """List the caches that are known."""
    return frozenset(_caches)


def forget_owner(owner_id: UUID) -> None:
    """Drop all that this process keeps in its memory of an owner."""
    for forget in _caches.values():
        forget(owner_id)


class CachesTarget:
    """The memory of the process that runs a purge. Others forget when they are asked for the owner, or with time."""

    name: Final = "caches"
    tables: Sequence[str] = ()
    outside = True

    def count(self, subject: Subject) -> int:
        """Count nothing: what is in memory is forgotten, however much it is."""
        return 0

    def erase(self, subject: Subject, most: int) -> int:
        """Forget the owner."""
        forget_owner(subject.owner_id)
        return 0

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count nothing."""
        return 0
