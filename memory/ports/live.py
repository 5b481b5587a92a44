"""Telling browsers at once that something has changed: which sort of thing of which owner, never its content."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from uuid import UUID

Announcer = Callable[[UUID, str, str, int], None]
"""Takes the owner, the sort, the id and the version of what has changed."""

ACCESS: Final = "access"
"""The sort that nobody can watch: who may hear of an owner has to be looked at anew."""

_announcers: Final[list[Announcer]] = []


def add_announcer(announcer: Announcer) -> None:
    """Have somebody pass on what has changed; for `AppConfig.ready`."""
    if announcer not in _announcers:
        _announcers.append(announcer)


def announce_change(owner_id: UUID, sort: str, object_id: str = "", version: int = 0) -> None:
    """Tell that something of an owner has changed, when the present transaction commits.

    Args:
        owner_id: whose.
        sort: what sort of thing: `coverage`, `usage` …, at most 32 characters.
        object_id: which one, where it is one; an id and nothing else.
        version: its version.
    """
    for announcer in _announcers:
        announcer(owner_id, sort, object_id, version)


def announce_access(owner_id: UUID) -> None:
    """Have every open socket of an owner judged anew, when the present transaction commits.

    For whatever ends a login, a key or an owner. Sockets whose caller may still listen stay open.
    """
    announce_change(owner_id, ACCESS)


SocketListener = Callable[[int], None]
"""Is told 1 for a socket that was let in, and -1 for one that is gone."""

_socket_listeners: Final[list[SocketListener]] = []


def add_socket_listener(listener: SocketListener) -> None:
    """Have somebody told of sockets that open and close; for `AppConfig.ready`. It must not block."""
    if listener not in _socket_listeners:
        _socket_listeners.append(listener)


def socket_count_changed(by: int) -> None:
    """Tell that a socket was let in (1) or is gone (-1)."""
    for listener in _socket_listeners:
        listener(by)
