"""The calls of workers that wait in Redis, where QUEUE_BROKER=redis.

Each is the queue's own signed package behind the moment at which it was put there. Nothing here opens a package.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import partial
from typing import Final, cast

import redis

from memory.redis.connection import connection
from memory.redis.names import name

MARK: Final = "|"
CHUNK: Final = 500


def queue_key() -> str:
    """Name the list in which calls of workers wait."""
    return name("queue")


def dated(package: str) -> str:
    """Put the present moment before a package."""
    return f"{time.time():.3f}{MARK}{package}"


def undated(entry: bytes) -> str:
    """Give the package of an entry."""
    return entry.decode("utf-8", "replace").partition(MARK)[2]


def waiting_calls() -> tuple[int, datetime | None]:
    """Tell how many calls wait, and since when the oldest does.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    key = queue_key()
    number = connection().ask(lambda client: client.llen(key))
    first = connection().ask(lambda client: client.lindex(key, 0))
    return int(number), _moment(cast("bytes | None", first))


def entries() -> list[bytes]:
    """Give all entries, the oldest first; chunk by chunk, so that others get their turns.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    key, found = queue_key(), list[bytes]()
    while True:
        part = connection().ask(partial(_chunk, key=key, begin=len(found)))
        found += part
        if len(part) < CHUNK:
            return found


def _chunk(client: redis.Redis, *, key: str, begin: int) -> list[bytes]:
    return cast("list[bytes]", client.lrange(key, begin, begin + CHUNK - 1))


def remove(entry: bytes) -> int:
    """Take an entry out of the queue; gives how many there were.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    key = queue_key()
    return int(connection().ask(lambda client: client.lrem(key, 0, cast("str", entry))))


def _moment(entry: bytes | None) -> datetime | None:
    if not entry:
        return None
    try:
        return datetime.fromtimestamp(float(entry.partition(MARK.encode())[0]), UTC)
    except (ValueError, OverflowError, OSError):
        return None
