"""What this process remembers of reports: the last few, while their events and vectors are the same."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

MOST: Final = 8
"""Entries that are kept; the one not used for longest makes room. One of 100,000 turns takes about 10 MB."""


@dataclass(frozen=True, slots=True)
class Made:
    """What an entry was made of; any change makes it useless.

    Attributes:
        version: of the owner's events and vectors.
        space_id: the embedding space of the vectors.
        degraded: the code of why vectors could not be made.
    """

    version: int
    space_id: int | None
    degraded: str


class ReportCache:
    """Entries by owner and by what was asked."""

    def __init__(self) -> None:
        """Begin empty."""
        self._empty()
        if hasattr(os, "register_at_fork"):
            # A thread may have held the lock at the fork.
            os.register_at_fork(after_in_child=self._empty)

    def _empty(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[UUID, Any], tuple[Made, Any]] = OrderedDict()

    def get(self, owner_id: UUID, asked: Any, made: Made) -> Any:
        """Give an entry, None where there is none or it was made of something else."""
        with self._lock:
            found = self._entries.get((owner_id, asked))
            if found is None or found[0] != made:
                return None
            self._entries.move_to_end((owner_id, asked))
            return found[1]

    def put(self, owner_id: UUID, asked: Any, made: Made, value: Any) -> None:
        """Keep an entry and drop the owner's that were made of something else: they hold texts that may be erased."""
        with self._lock:
            outdated = [key for key, (of, _) in self._entries.items() if key[0] == owner_id and of != made]
            for key in outdated:
                del self._entries[key]
            self._entries[owner_id, asked] = made, value
            self._entries.move_to_end((owner_id, asked))
            while len(self._entries) > MOST:
                self._entries.popitem(last=False)

    def forget(self, owner_id: UUID | None = None) -> None:
        """Drop an owner's entries, or all."""
        with self._lock:
            for key in [key for key in self._entries if owner_id in (None, key[0])]:
                del self._entries[key]


reports: Final = ReportCache()
