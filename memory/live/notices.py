"""Notices: what they look like on the wire, and how synchronous code sends one, through PostgreSQL or through Redis.

A notice sent within a transaction travels when that commits, and never when it is rolled back.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, Protocol
from uuid import UUID

from django.conf import settings
from django.db import close_old_connections, connection

from memory.crypto.signing import signer

WIRE: Final = "loci_live"
"""The channel of the database that all web processes listen to."""

# A notice is refused by the server from 8,000 bytes on.
MOST_BYTES: Final = 7_900
LARGEST_VERSION: Final = 2**63 - 1
CHANGE: Final = "live.change"

AGAIN: Final = "live.again"
"""The type of the message that channels in groups get when others may have been lost."""

EVERY_GROUP: Final = "*"
"""In place of a group's name, which never looks like this: all of them."""

_SORT: Final = re.compile(r"[a-z][a-z_.]{0,31}")
_ID: Final = re.compile(r"[0-9A-Za-z-]{0,36}")


class Wire(Protocol):
    """A connection on which notices are heard."""

    def some(self) -> AsyncGenerator[str, None]:
        """Wait for a notice, and give it with all that came together with it."""

    def until_silent(self, seconds: float) -> AsyncGenerator[str, None]:
        """Give notices until none has come for some seconds."""


def group_of(owner_id: UUID) -> str:
    """Name the group of an owner's sockets: a code that only this installation can make, so it tells nobody who."""
    code = signer().mac(owner_id.bytes, purpose="live group")
    return urlsafe_b64encode(code[:16]).rstrip(b"=").decode()


def written(to: str, name: str, message: Mapping[str, Any]) -> str:
    """Write a notice.

    Args:
        to: `g` for a group, `c` for a channel.
        name: of the group or channel.
        message: plain JSON values.

    Raises:
        TypeError: a value that JSON does not have.
        ValueError: more than 7,900 bytes; what is large does not belong into a notice.
    """
    text = json.dumps({to: name, "m": message}, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if len(text.encode()) > MOST_BYTES:
        raise ValueError(f"A notice has at most {MOST_BYTES} bytes. Send an id and let the receiver look.")
    return text


def read(payload: str) -> tuple[str, str, dict[str, Any]] | None:
    """Read a notice: where to, the name, the message; None for what is none of ours."""
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("m"), dict):
        return None
    for to in ("g", "c"):
        if isinstance(found.get(to), str) and isinstance(found["m"].get("type"), str):
            return to, found[to], found["m"]
    return None


def notify(payload: str) -> None:
    """Send a notice on this thread's connection, within its transaction where there is one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [WIRE, payload])


def notify_once(payload: str) -> None:
    """Send a notice; outside a transaction the connection is not kept, since the thread may serve nobody else."""
    # Asked before: closing it within a transaction would end that, which Channels' own wrapper does.
    is_kept = connection.in_atomic_block
    try:
        notify(payload)
    finally:
        if not is_kept:
            close_old_connections()


def announce(owner_id: UUID, sort: str, object_id: str, version: int) -> None:
    """Tell all web processes that something of an owner has changed, once the present transaction commits.

    Raises:
        ValueError: a sort, id or version of another form; only these travel, and nothing that somebody has said.
    """
    if not _SORT.fullmatch(sort) or not _ID.fullmatch(object_id) or not 0 <= version <= LARGEST_VERSION:
        raise ValueError("A notice names a sort, an id and a version, and nothing else.")
    change = {"type": CHANGE, "sort": sort, "id": object_id, "version": version}
    payload = written("g", group_of(owner_id), change)
    if settings.REDIS:
        from memory.live.publishing import publish_on_commit

        publish_on_commit(payload)
    else:
        notify(payload)
