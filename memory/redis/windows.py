"""Limits of requests per time that count for all processes together: two windows, the older one weighed by what of it
still counts.

A window is a hash of three numbers under a keyed code, counted by one script, by Redis's own clock; it is gone after
two windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import redis

from memory.redis.connection import connection
from memory.redis.names import code, name

PART: Final = "window"

# KEYS: the counter. ARGV: the limit, the length of a window in ms. Gives whether it is allowed, the count of the window
# before, that of this one, and the ms of this one that have passed.
_COUNT: Final = """
local limit, span = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local window = math.floor(now / span)
local held = redis.call('HMGET', KEYS[1], 'w', 'c', 'p')
local at, count, before = tonumber(held[1]) or -2, tonumber(held[2]) or 0, tonumber(held[3]) or 0
if at == window - 1 then
  before, count = count, 0
elseif at ~= window then
  before, count = 0, 0
end
local passed = now - window * span
if before * (span - passed) / span + count >= limit then
  return {0, before, count, passed}
end
redis.call('HSET', KEYS[1], 'w', window, 'c', count + 1, 'p', before)
redis.call('PEXPIRE', KEYS[1], 2 * span)
return {1, before, count + 1, passed}
"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a request is within the limit, and after how many seconds the next one is, where this one is not."""

    allowed: bool
    wait: float = 0.0


def window_key(caller: str, rate: str) -> str:
    """Name the counter of a caller at a rate.

    Args:
        caller: who counts, such as `owner:` and an id; only its code stands in Redis.
        rate: the name of the limit.
    """
    return name(PART, rate, code(caller, purpose="redis window"))


def count_request(*, caller: str, rate: str, most: int, seconds: int) -> Judgement:
    """Count a request of a caller; one that is refused is not counted.

    Args:
        caller: who asks, as for `window_key`.
        rate: the name of the limit.
        most: requests within a window.
        seconds: its length.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    key, span = window_key(caller, rate), seconds * 1000

    def ask(client: redis.Redis) -> Any:
        return client.eval(_COUNT, 1, key, str(most), str(span))

    allowed, before, count, passed = (int(number) for number in connection().ask(ask))
    return Judgement(True) if allowed else Judgement(False, _wait(most, before, count, passed, span) / 1000)


def _wait(most: int, before: int, count: int, passed: int, span: int) -> float:
    """Give the ms until one more request fits: in this window, as that before it counts less, or else in the next."""
    if count < most and before:
        return max(1.0, span * (1 - (most - count) / before) - passed)
    return max(1.0, float(span - passed))
