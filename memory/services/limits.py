"""Limits of requests per time where processes share them through Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings

from memory.errors import RedisUnavailable

if TYPE_CHECKING:
    from memory.redis.windows import Judgement


def caller_of(owner_id: UUID, key_id: UUID | None) -> str:
    """Name who is counted: an agent's key, or for persons the owner."""
    return f"key:{key_id}" if key_id else f"owner:{owner_id}"


def count_shared(*, caller: str, rate: str, most: int, seconds: int) -> Judgement | None:
    """Count a request of a caller over all processes; None where each process has to count for itself.

    That is so without Redis, and while it does not answer: requests are then limited within each process.

    Args:
        caller: who asks, as `caller_of` names it.
        rate: the name of the limit.
        most: requests within a window.
        seconds: its length.
    """
    if not settings.REDIS:
        return None
    from memory.redis.windows import count_request

    try:
        return count_request(caller=caller, rate=rate, most=most, seconds=seconds)
    except RedisUnavailable:
        return None
