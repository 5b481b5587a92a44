"""Whether Redis answers, where processes share counts and notices through it."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.utils.translation import gettext_noop
from redis import Redis, ResponseError

from memory.errors import RedisUnavailable
from memory.redis.connection import connection
from memory.services.findings import Finding
from memory.services.health.work import REDIS_REMEDY

NAME: Final = "redis"

WITHOUT: Final = gettext_noop("Limits are counted within each process, and open pages look for changes by themselves.")
STANDS_STILL: Final = gettext_noop("Background work stands still.")


EVICTION_REMEDY: Final = "Set maxmemory-policy noeviction, or one of volatile-…, in the server's configuration."


def probed_redis() -> Finding:
    """Ask Redis as `redis_finding` does, and whether it may throw calls of workers away, where it tells that."""
    found = redis_finding()
    if found.status != "ok" or settings.QUEUE_BROKER != "redis":
        return found
    try:
        policy = connection().ask(_eviction)
    except RedisUnavailable:
        return redis_finding()
    if not policy.startswith("allkeys"):
        return found
    detail = f"Redis answers, but when its memory is full it throws calls of workers away (maxmemory-policy {policy})."
    return Finding(NAME, "degraded", detail, EVICTION_REMEDY)


def _eviction(client: Redis) -> str:
    try:
        return str(client.info("memory").get("maxmemory_policy", ""))
    except ResponseError:
        # The user is not allowed to ask, which is no failure of Redis.
        return ""


def redis_finding() -> Finding:
    """Ask Redis for a sign of life; within REDIS_TIMEOUT, and not again within moments of a failure."""
    known = connection()
    if known.answers():
        return Finding(NAME, "ok", "Redis answers.")
    # By then it may have answered somebody else.
    reason = known.reason or gettext_noop("it does not answer in time")
    queued = f" {STANDS_STILL}" if settings.QUEUE_BROKER == "redis" else ""
    return Finding(NAME, "degraded", f"Redis is not used: {reason}. {WITHOUT}{queued}", REDIS_REMEDY)
