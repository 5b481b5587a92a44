"""Notices through Redis: how synchronous code sends one, and what happens to those that Redis was not there for.

A notice that could not be sent is not kept. Instead all pages of all processes are told, as soon as Redis is back, that
anything may have changed.
"""

from __future__ import annotations

import threading
import time
from hmac import compare_digest
from typing import Final

from django.db import connection as database
from django.db import transaction

from memory.crypto.signing import signer
from memory.errors import RedisUnavailable
from memory.live.notices import AGAIN, EVERY_GROUP, written
from memory.providers.per_process import PerProcess
from memory.redis.connection import connection
from memory.redis.names import name

CODE_BYTES: Final = 16
AGAIN_SECONDS: Final = 1.0


def wire() -> str:
    """Name the channel of Redis that all web processes listen to."""
    return name("live")


def sealed(payload: str) -> bytes:
    """Put before a notice the code by which it is known as ours: others may be able to write to Redis, too.

    They can repeat one, which makes pages look anew and no more.
    """
    content = payload.encode()
    return signer().mac(content, purpose="live notice")[:CODE_BYTES] + content


def opened(data: bytes) -> str | None:
    """Give the notice of what came over the wire; None for what this installation has not written."""
    code, content = data[:CODE_BYTES], data[CODE_BYTES:]
    if not compare_digest(code, signer().mac(content, purpose="live notice")[:CODE_BYTES]):
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def publish_on_commit(payload: str) -> None:
    """Send a notice once the present transaction commits, or now where there is none; never fails."""
    # Asked here: where there is no transaction, Django's own way opens a connection to find that out.
    if database.in_atomic_block:
        transaction.on_commit(lambda: publish(payload), robust=True)
    else:
        publish(payload)


def publish(payload: str) -> None:
    """Send a notice; where Redis is away, pages are told later that something was lost."""
    try:
        _send(payload)
    except RedisUnavailable:
        _lost.get().say_later()


def _send(payload: str) -> None:
    connection().ask(lambda client: client.publish(wire(), sealed(payload)))


class _Lost:
    """Says, when Redis is back, that notices were lost; once, however many they were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_wanted = self._runs = False

    def say_later(self) -> None:
        with self._lock:
            self._is_wanted = True
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._say, name="lost notices", daemon=True).start()

    def _say(self) -> None:
        while self._still_runs():
            time.sleep(AGAIN_SECONDS)
            # What is lost from here on has to be said once more.
            if not self.forget():
                continue
            try:
                _send(written("g", EVERY_GROUP, {"type": AGAIN}))
            except RedisUnavailable:
                with self._lock:
                    self._is_wanted = True

    def forget(self) -> bool:
        """Say nothing more of what was lost until now; tell whether there was something to say."""
        with self._lock:
            was_wanted, self._is_wanted = self._is_wanted, False
            return was_wanted

    def _still_runs(self) -> bool:
        with self._lock:
            self._runs = self._is_wanted
            return self._runs


_lost: Final = PerProcess(_Lost)


def forget_lost() -> None:
    """Say nothing of what this process could not send until now."""
    _lost.get().forget()
