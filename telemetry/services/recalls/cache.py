"""What this process remembers of reports about recalls: the last few, for a minute."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from memory.services.clock import now

KEPT: Final = timedelta(minutes=1)
LARGE: Final = 1_000
"""Recalls from which a report is kept; one of fewer is quickly made anew."""
MOST: Final = 64
"""Entries that are kept; the one not used for longest makes room."""


class MinuteCache:
    """Reports by owner and by what was asked; they hold figures, and no text."""

    def __init__(self) -> None:
        """Begin empty."""
        self._empty()
        if hasattr(os, "register_at_fork"):
            # A thread may have held the lock at the fork.
            os.register_at_fork(after_in_child=self._empty)

    def _empty(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[UUID, Any], tuple[datetime, Any]] = OrderedDict()

    def get(self, owner_id: UUID, asked: Any) -> Any:
        """Give an entry that is younger than a minute, else None."""
        with self._lock:
            found = self._entries.get((owner_id, asked))
            if found is None or not timedelta() <= now() - found[0] < KEPT:
                return None
            self._entries.move_to_end((owner_id, asked))
            return found[1]

    def put(self, owner_id: UUID, asked: Any, value: Any, *, recalls: int) -> None:
        """Keep an entry, unless it was made of few recalls."""
        if recalls < LARGE:
            return
        with self._lock:
            self._entries[owner_id, asked] = now(), value
            self._entries.move_to_end((owner_id, asked))
            while len(self._entries) > MOST:
                self._entries.popitem(last=False)

    def forget(self, owner_id: UUID | None = None) -> None:
        """Drop an owner's entries, or all."""
        with self._lock:
            for key in [key for key in self._entries if owner_id in (None, key[0])]:
                del self._entries[key]


reports: Final = MinuteCache()
