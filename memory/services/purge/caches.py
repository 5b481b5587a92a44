"""What this process keeps in its memory of owners, and how it forgets it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from django.db import DatabaseError, connection

from memory.crypto.keyring import keyring
from memory.models import Owner
from memory.services.purge.registry import Subject, Traces, load_announced

logger = logging.getLogger(__name__)

Forget = Callable[[UUID], object]

# How long another process than the one that runs a purge may keep what it has in its memory.
LOOK_SECONDS: Final = 60.0

_caches: dict[str, Forget] = {}
_seen: set[UUID] = set()


def register_cache(name: str, forget: Forget) -> None:
    """Add a cache of this process.

    Args:
        name: of the cache; one that was added before under this name is replaced.
        forget: drops what is kept of an owner; it may drop more.
    """
    _caches[name] = forget


def forget_owner(owner_id: UUID) -> None:
    """Drop all that this process keeps in its memory of an owner."""
    load_announced()
    for forget in _caches.values():
        forget(owner_id)


def forget_closed_owners() -> int:
    """Drop what this process keeps of owners who are purged or gone; one statement. Gives how many owners."""
    global _seen
    # Nothing is kept of an owner whose keys this process has not had.
    known = _seen | keyring().owners()
    if not known:
        return 0
    open_owners = set(Owner.objects.filter(pk__in=known, purging_at=None).values_list("pk", flat=True))
    for owner_id in known - open_owners:
        forget_owner(owner_id)
    _seen = open_owners
    return len(known - open_owners)


def watch_closed_owners() -> threading.Thread:
    """Begin to drop, once a minute in a thread of its own, what this process keeps of owners who are purged."""
    watcher = threading.Thread(target=_watch, name="closed owners", daemon=True)
    watcher.start()
    return watcher


def _watch() -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        try:
            forget_closed_owners()
        except DatabaseError as error:
            logger.warning("owners who are purged are forgotten later: %s", type(error).__name__)
        finally:
            connection.close()


class CachesTarget:
    """The memory of the process that runs a purge. Others forget within a minute."""

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
