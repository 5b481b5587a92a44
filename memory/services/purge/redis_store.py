"""What Redis holds of an owner: counters of requests, and calls of workers that name the owner.

Counts of failed logins and wrong keys, and marks of names that were logged in to from a network, stand under codes of
what was typed and of networks. They tell nobody whose they are and cannot be found for an owner, whose networks are not
kept. The counts are gone within minutes, the marks within a week; the receipt names both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from django.conf import settings

from memory.errors import RedisUnavailable
from memory.models import AgentKey, owner_scope
from memory.redis import waiting
from memory.redis.connection import connection
from memory.redis.windows import window_key
from memory.services.limits import caller_of
from memory.services.purge.queue import names_one
from memory.services.purge.registry import Subject, Traces


class RedisTarget:
    """Redis. While it does not answer, a purge is not done: what cannot be looked at is not erased."""

    name: Final = "redis"
    tables: Sequence[str] = ()
    outside = True

    def count(self, subject: Subject) -> int:
        """Count the counters and calls; 0 while Redis does not answer."""
        try:
            return self._counters(subject) + len(_calls(subject))
        except RedisUnavailable:
            return 0

    def erase(self, subject: Subject, most: int) -> int:
        """Remove them; raises RedisUnavailable."""
        keys = _keys(subject)
        erased = int(connection().ask(lambda client: client.delete(*keys)))
        return erased + sum(waiting.remove(call) for call in _calls(subject)[:most])

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count what is left; raises RedisUnavailable."""
        return self._counters(subject) + len(_calls(subject))

    def _counters(self, subject: Subject) -> int:
        keys = _keys(subject)
        return int(connection().ask(lambda client: client.exists(*keys)))


def _keys(subject: Subject) -> list[str]:
    with owner_scope(subject.owner_id, purging=True):
        key_ids = {*AgentKey.objects.values_list("pk", flat=True), *subject.key_ids}
    callers = [caller_of(subject.owner_id, None), *(caller_of(subject.owner_id, key_id) for key_id in key_ids)]
    rates = cast("dict[str, str]", settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"])
    return [window_key(caller, rate) for caller in callers for rate in rates]


def _calls(subject: Subject) -> list[bytes]:
    """Give the calls that name the owner, whether the queue is in Redis now or was before."""
    return [entry for entry in waiting.entries() if names_one(waiting.undated(entry), subject.ids)]
