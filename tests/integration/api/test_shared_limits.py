"""Limits of requests that stand in Redis, as whoever asks meets them."""

from __future__ import annotations

from typing import Any

import pytest

from memory.api.throttles import ActionThrottle
from memory.redis.connection import forget_connection
from tests.integration.api.conftest import Client, problem
from tests.redis_server import (
    RedisServer,
    dying_redis_in_use,
    mortal_redis,
    redis_in_use,
    shared_redis,
)

__all__ = ["dying_redis_in_use", "mortal_redis", "redis_in_use", "shared_redis"]


def statuses(client: Client, times: int) -> list[int]:
    return [client.json("get", "/memories").status_code for _ in range(times)]


def test_a_caller_is_held_to_its_rate_and_told_when_to_come_back(
    redis_in_use: RedisServer, agent: Client, colleague: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ActionThrottle.THROTTLE_RATES, "read", "2/hour")
    assert statuses(agent, 2) == [200, 200]
    statuses(agent, 2)
    # Another process begins with no connection and no memory.
    forget_connection()
    refused = agent.json("get", "/memories")
    found = problem(refused, 429, "rate.limited")
    assert 0 < int(refused["Retry-After"]) <= 3600
    assert found["retry_after"] == int(refused["Retry-After"])
    assert statuses(colleague, 1) == [200]


def test_while_redis_is_away_the_process_limits_alone(
    dying_redis_in_use: RedisServer, agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ActionThrottle.THROTTLE_RATES, "read", "2/hour")
    statuses(agent, 4)
    dying_redis_in_use.kill()
    assert statuses(agent, 4) == [200, 200, 429, 429]
    problem(agent.json("get", "/memories"), 429, "rate.limited")


def test_a_rate_that_is_none_refuses_nobody(
    redis_in_use: RedisServer, agent: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    none: Any = None
    monkeypatch.setitem(ActionThrottle.THROTTLE_RATES, "read", none)
    assert statuses(agent, 3) == [200] * 3
    assert redis_in_use.content() == {}
