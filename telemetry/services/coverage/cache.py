"""What this process remembers of reports: the last ones, while their events and vectors are the same."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

MOST_BYTES: Final = 128 * 1024 * 1024
"""What is kept of all owners together; what was not used for longest makes room. 100,000 turns take about 10 MB."""

_Asked = tuple[UUID, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """What an entry was made of; any change makes it useless.

    Attributes:
        version: of the owner's events and vectors.
        space_id: the embedding space of the vectors.
        degraded: the code of why vectors could not be made.
        enabled: whether turn events were kept.
    """

    version: int
    space_id: int | None
    degraded: str
    enabled: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    made: Made
    value: Any
    size: int


@dataclass(slots=True)
class _Flight:
    """A making that is under way, for which others wait."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    takers: int = 0


class ReportCache:
    """Entries by owner and by what was asked; whoever asks for one that is being made waits for it."""

    def __init__(self) -> None:
        """Begin empty."""
        self._empty()
        if hasattr(os, "register_at_fork"):
            # A thread may have held the lock at the fork.
            os.register_at_fork(after_in_child=self._empty)

    def _empty(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[_Asked, _Entry] = OrderedDict()
        self._flights: dict[_Asked, _Flight] = {}
        self._bytes = 0
        self._forgotten = 0

    def take(self, owner_id: UUID, asked: Any, made: Made, make: Callable[[], tuple[Any, int]]) -> Any:
        """Give an entry; where there is none of the same events, make it, once for all who ask meanwhile.

        Not to be called within a transaction: it may wait for seconds.

        Args:
            owner_id: whose.
            asked: what was asked, hashable.
            made: what it has to be made of.
            make: gives the value, and about how many bytes it takes.
        """
        found = self._get(owner_id, asked, made)
        if found is not None:
            return found
        with self._flight((owner_id, asked)):
            found = self._get(owner_id, asked, made)
            if found is None:
                forgotten = self._forgotten
                found, size = make()
                self._put((owner_id, asked), _Entry(made, found, size), forgotten)
            return found

    def last(self, owner_id: UUID, asked: Any) -> Any:
        """Give what was made last for what was asked, whatever has come or gone since; None where nothing is kept."""
        with self._lock:
            found = self._entries.get((owner_id, asked))
            return None if found is None else found.value

    def forget(self, owner_id: UUID | None = None) -> None:
        """Drop an owner's entries, or all; nothing that is being made is kept either."""
        with self._lock:
            self._forgotten += 1
            for key in [key for key in self._entries if owner_id in (None, key[0])]:
                self._drop(key)

    def _get(self, owner_id: UUID, asked: Any, made: Made) -> Any:
        with self._lock:
            found = self._entries.get((owner_id, asked))
            if found is None or found.made != made:
                return None
            self._entries.move_to_end((owner_id, asked))
            return found.value

    def _put(self, key: _Asked, entry: _Entry, forgotten: int) -> None:
        """Keep an entry and drop the owner's of other events: they hold texts that may be erased."""
        with self._lock:
            of_owner = {one: found.made for one, found in self._entries.items() if one[0] == key[0]}
            if forgotten != self._forgotten or any(made.version > entry.made.version for made in of_owner.values()):
                return
            for one, made in of_owner.items():
                if made != entry.made or one == key:
                    self._drop(one)
            self._entries[key] = entry
            self._bytes += entry.size
            while self._bytes > MOST_BYTES and len(self._entries) > 1:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: _Asked) -> None:
        self._bytes -= self._entries.pop(key).size

    @contextmanager
    def _flight(self, key: _Asked) -> Iterator[None]:
        with self._lock:
            flight = self._flights.setdefault(key, _Flight())
            flight.takers += 1
        try:
            with flight.lock:
                yield
        finally:
            with self._lock:
                flight.takers -= 1
                if not flight.takers:
                    self._flights.pop(key, None)


reports: Final = ReportCache()
