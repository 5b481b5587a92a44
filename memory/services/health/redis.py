"""Whether Redis answers, where processes share counts and notices through it."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.utils.translation import gettext_noop

from memory.redis.connection import connection
from memory.services.findings import Finding
from memory.services.health.work import REDIS_REMEDY

NAME: Final = "redis"

WITHOUT: Final = gettext_noop("Limits are counted within each process, and open pages look for changes by themselves.")
STANDS_STILL: Final = gettext_noop("Background work stands still.")


def redis_finding() -> Finding:
    """Ask Redis for a sign of life; within REDIS_TIMEOUT, and not again within moments of a failure."""
    known = connection()
    if known.answers():
        return Finding(NAME, "ok", "Redis answers.")
    # By then it may have answered somebody else.
    reason = known.reason or gettext_noop("it does not answer in time")
    queued = f" {STANDS_STILL}" if settings.QUEUE_BROKER == "redis" else ""
    return Finding(NAME, "degraded", f"Redis is not used: {reason}. {WITHOUT}{queued}", REDIS_REMEDY)
