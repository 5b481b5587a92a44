"""The queue's broker for Redis, with what the queue's own lacks: a Redis that may be away for a while.

The queue's own takes a Redis that is away for its end: at the start the guard of the workers dies of it, later what
fetches calls is ended and made anew every ten seconds. It also names its list as every other installation would, and
writes the state of the workers, pickled, into Redis every half second, which nobody reads here.
"""

from __future__ import annotations

import time
from typing import Any, Final

from django_q.brokers.redis_broker import Redis as QueuesOwn

from memory.errors import QueueUnavailable, RedisUnavailable
from memory.redis.connection import Connection
from memory.redis.waiting import dated, queue_key, undated

WAIT_SECONDS: Final = 1
PAUSE_SECONDS: Final = 0.5


class RedisBroker(QueuesOwn):  # type: ignore[misc]
    """A list in Redis that workers take calls from."""

    def __init__(self, list_key: str | None = None) -> None:
        """Name the list by the installation, whatever the queue is called."""
        super().__init__(list_key)
        self.list_key = queue_key()

    @staticmethod
    def get_connection(list_key: str | None = None) -> Any:
        """Give a connection on which an answer may be awaited."""
        return Connection(further_seconds=WAIT_SECONDS)

    def enqueue(self, task: str) -> int:
        """Put a call at the end of the list; gives how many wait.

        Raises:
            QueueUnavailable: Redis does not answer. Nothing was put anywhere.
        """
        try:
            return int(self.connection.ask(lambda client: client.rpush(self.list_key, dated(task))))
        except RedisUnavailable as error:
            raise QueueUnavailable from error

    def dequeue(self) -> list[tuple[None, str]] | None:
        """Take the oldest call, wait for one for a second, or rest while Redis is away."""
        try:
            taken = self.connection.ask(lambda client: client.blpop([self.list_key], WAIT_SECONDS))
        except RedisUnavailable:
            time.sleep(PAUSE_SECONDS)
            return None
        return [(None, undated(taken[1]))] if taken else None

    def queue_size(self) -> int:
        """Count what waits."""
        return int(self.connection.ask(lambda client: client.llen(self.list_key)))

    def delete_queue(self) -> int:
        """Remove the list."""
        return int(self.connection.ask(lambda client: client.delete(self.list_key)))

    def purge_queue(self) -> int:
        """Remove all that waits."""
        return self.delete_queue()

    def ping(self) -> bool:
        """Let the workers begin whether Redis answers or not."""
        return True

    def info(self) -> str:
        """Name the broker."""
        return "Redis"

    def set_stat(self, key: str, value: str, timeout: int) -> None:
        """Keep nothing: the state of the workers is told by what they have done."""

    def get_stat(self, key: str) -> None:
        """Know nothing."""

    def get_stats(self, pattern: str) -> None:
        """Know nothing."""
