"""The open sockets of this process: how many each caller has, and whose they are."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final, Protocol
from uuid import UUID

from memory.ports.live import socket_count_changed

MOST_OF_ONE: Final = 16
"""Sockets that one person or agent may have in one process."""

MOST: Final = 2_000
"""Sockets of a process."""


class Socket(Protocol):
    """An open socket."""

    @property
    def judge_soon(self) -> Callable[[], None]:
        """Have its caller judged anew; may be called from any thread."""


class OpenSockets:
    """Counts sockets and finds those of an owner; safe to use from several threads."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = threading.Lock()
        self._owners: dict[Socket, tuple[UUID, UUID]] = {}
        self._counts: Counter[UUID] = Counter()

    def __len__(self) -> int:
        return len(self._owners)

    def add(self, socket: Socket, *, owner_id: UUID, caller_id: UUID) -> bool:
        """Take in a socket; tell whether there was room for it."""
        with self._lock:
            if len(self._owners) >= MOST or self._counts[caller_id] >= MOST_OF_ONE:
                return False
            self._owners[socket] = (owner_id, caller_id)
            self._counts[caller_id] += 1
        socket_count_changed(1)
        return True

    def remove(self, socket: Socket) -> None:
        """Let a socket go; without effect for one that was not taken in."""
        with self._lock:
            owner_id, caller_id = self._owners.pop(socket, (None, None))
            if owner_id is None or caller_id is None:
                return
            self._counts[caller_id] -= 1
            if not self._counts[caller_id]:
                del self._counts[caller_id]
        socket_count_changed(-1)

    def judge_owner(self, owner_id: UUID) -> None:
        """Have the sockets of an owner judged anew; for a purge, which closes them so."""
        with self._lock:
            found = [socket for socket, (of_owner, _) in self._owners.items() if of_owner == owner_id]
        for socket in found:
            socket.judge_soon()


open_sockets: Final = OpenSockets()
