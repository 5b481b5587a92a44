"""The connection to Redis: asked with a time limit, and left alone for a while when it does not answer.

Nothing in Loci depends on Redis being there. Who asks gets `RedisUnavailable` at once while it is away, and has a way
to go on without it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

import redis
from django.conf import settings
from django.utils.translation import gettext_noop
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
)
from redis.retry import Retry

from memory.errors import RedisUnavailable
from memory.providers.per_process import PerProcess

logger = logging.getLogger(__name__)

T = TypeVar("T")

FAILURES: Final = (RedisError, OSError)
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 8.0
# Never the words of an error, which may name a host or a user.
_REASONS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (AuthenticationError, gettext_noop("it refuses the user or password")),
    (NoPermissionError, gettext_noop("it does not permit what Loci does there")),
    (BusyLoadingError, gettext_noop("it is still reading its data")),
    (OutOfMemoryError, gettext_noop("its memory is full")),
    (ReadOnlyError, gettext_noop("it is a replica that takes nothing")),
    (redis.TimeoutError, gettext_noop("it does not answer in time")),
    (redis.ConnectionError, gettext_noop("it cannot be reached")),
)


def client_parameters(*, further_seconds: float = 0.0) -> dict[str, Any]:
    """Give the parameters of a client: those of the settings, without repetitions of its own.

    Args:
        further_seconds: that an answer may take beyond REDIS_TIMEOUT, for commands that wait.
    """
    found = dict(settings.REDIS)
    found["socket_timeout"] += further_seconds
    # A new connection for the next question is better than the same question thrice on a dead one. The older protocol,
    # since the newer one's notices about maintenance are of no use here.
    return {**found, "protocol": 2}


class Connection:
    """A client of Redis, safe to use from several threads, that knows whether Redis answers."""

    def __init__(self, *, further_seconds: float = 0.0) -> None:
        """Make the client; nothing is sent yet. `further_seconds` as in `client_parameters`."""
        self._client = redis.Redis(
            **client_parameters(further_seconds=further_seconds),
            retry=Retry(NoBackoff(), 0),
        )
        self._lock = threading.Lock()
        self._pause = FIRST_PAUSE
        self._asked_again_at = 0.0
        self._reason = ""

    @property
    def reason(self) -> str:
        """Say why Redis was not usable when last asked; empty while it is."""
        return self._reason

    def ask(self, question: Callable[[redis.Redis], T]) -> T:
        """Ask Redis. While it is away, one question in a while is sent, and the others fail at once.

        Raises:
            RedisUnavailable: it did not answer, or refused; at most REDIS_TIMEOUT later.
        """
        is_away = bool(self._reason)
        if is_away and not self._may_try():
            raise RedisUnavailable
        try:
            answer = question(self._client)
        except FAILURES as error:
            self._note_away(error, again=is_away)
            raise RedisUnavailable from error
        if self._reason:
            self._note_back()
        return answer

    def answers(self) -> bool:
        """Tell whether Redis answers; asks unless it was found away a moment ago."""
        try:
            return bool(self.ask(lambda client: client.ping()))
        except RedisUnavailable:
            return False

    def close(self) -> None:
        """Give up what is open."""
        self._client.close()

    def _may_try(self) -> bool:
        with self._lock:
            now = time.monotonic()
            if now < self._asked_again_at:
                return False
            # Others do not wait for the same time-out meanwhile.
            self._asked_again_at = now + self._pause
            return True

    def _note_away(self, error: Exception, *, again: bool) -> None:
        with self._lock:
            was_there = not self._reason
            if not was_there and not again:
                # Of many that were under way when it went, the first has said so.
                return
            self._reason = _reason(error)
            self._pause = FIRST_PAUSE if was_there else min(self._pause * 2, LONGEST_PAUSE)
            self._asked_again_at = time.monotonic() + self._pause
        if was_there:
            kind = type(error).__name__
            logger.warning("Redis is not used: %s (%s); going on without it, and trying again", self._reason, kind)

    def _note_back(self) -> None:
        with self._lock:
            was_away, self._reason = bool(self._reason), ""
        if was_away:
            logger.warning("Redis is used again")


def _reason(error: Exception) -> str:
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return reason
    if isinstance(error, OSError):
        return gettext_noop("it cannot be reached")
    return gettext_noop("it answers with an error")


_shared: Final = PerProcess(Connection)


def connection() -> Connection:
    """Give the connection that a process asks short questions on."""
    return _shared.get()


def forget_connection() -> None:
    """Close this process's connection; the next question makes another one, from the settings as they are then."""
    made = _shared.take()
    if made is not None:
        made.close()
