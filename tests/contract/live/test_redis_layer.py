"""What the layer over Redis does when Redis dies, hangs and comes back, and what it believes of what others write."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.db import connection as database
from django.db import transaction
from pytest_django import Settings

from memory.errors import RedisUnavailable
from memory.live import layer as layer_module
from memory.live import publishing
from memory.live.notices import AGAIN, announce, group_of, written
from memory.live.publishing import opened, publish, sealed, wire
from memory.live.redis_layer import RedisLayer
from memory.redis.connection import connection, forget_connection
from memory.services.actors import Actor
from tests.contract.live.test_channel_layer import received, run
from tests.redis_server import (
    RedisServer,
    dying_redis_in_use,
    mortal_redis,
    redis_in_use,
    shared_redis,
    use_redis,
    waited_for,
)

__all__ = ["dying_redis_in_use", "mortal_redis", "redis_in_use", "shared_redis"]

pytestmark = pytest.mark.django_db(transaction=True)


async def joined(layer: Any, group: str = "tea") -> str:
    channel = str(await layer.new_channel())
    await layer.group_add(group, channel)
    return channel


def test_after_its_death_pages_are_told_that_something_may_be_missed(dying_redis_in_use: RedisServer) -> None:
    async def test(layer: Any) -> None:
        channel = await joined(layer)
        assert await received(layer, channel) == {"type": AGAIN}
        await layer.group_send("tea", {"type": "before"})
        assert await received(layer, channel) == {"type": "before"}
        await asyncio.to_thread(dying_redis_in_use.kill)
        await asyncio.to_thread(waited_for, lambda: not layer.hears, "the layer's noticing")
        # Nobody who changes something is kept from it.
        await layer.group_send("tea", {"type": "lost"})
        await asyncio.to_thread(dying_redis_in_use.start)
        assert await received(layer, channel) == {"type": AGAIN}
        await asyncio.to_thread(waited_for, connection().answers, "the connection's noticing")
        await layer.group_send("tea", {"type": "after"})
        while (message := await received(layer, channel)) == {"type": AGAIN}:
            pass
        assert message == {"type": "after"}

    run(test, RedisLayer())


def test_a_channel_joins_while_redis_is_away(dying_redis_in_use: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_module, "JOIN_PATIENCE", 0.05)

    async def test(layer: Any) -> None:
        await asyncio.to_thread(dying_redis_in_use.kill)
        channel = await joined(layer)
        assert not layer.hears
        await asyncio.to_thread(dying_redis_in_use.start)
        assert await received(layer, channel) == {"type": AGAIN}

    run(test, RedisLayer())


def test_a_silence_longer_than_the_time_limit_is_no_failure(shared_redis: RedisServer, settings: Settings) -> None:
    use_redis(settings, shared_redis, timeout=1.0)

    async def test(layer: Any) -> None:
        channel = await joined(layer)
        assert await received(layer, channel) == {"type": AGAIN}
        await asyncio.sleep(2.5)
        await layer.group_send("tea", {"type": "after"})
        assert await received(layer, channel) == {"type": "after"}

    run(test, RedisLayer())
    forget_connection()


def test_silence_is_asked_about(dying_redis_in_use: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_module, "PROBE_SECONDS", 0.05)

    async def test(layer: Any) -> None:
        channel = await joined(layer)
        assert await received(layer, channel) == {"type": AGAIN}
        dying_redis_in_use.suspend()
        try:
            await asyncio.to_thread(waited_for, lambda: not layer.hears, "the layer's noticing")
        finally:
            dying_redis_in_use.resume()
        assert await received(layer, channel) == {"type": AGAIN}

    run(test, RedisLayer())


def test_what_could_not_be_sent_is_said_to_all_pages_later(
    redis_in_use: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only the sender has lost Redis: those who listen know of nothing."""
    monkeypatch.setattr(publishing, "AGAIN_SECONDS", 0.05)
    send, tries = publishing._send, [0]

    def fails_at_first(payload: str) -> None:
        tries[0] += 1
        if tries[0] <= 3:
            raise RedisUnavailable
        send(payload)

    monkeypatch.setattr(publishing, "_send", fails_at_first)

    async def test(layer: Any) -> None:
        channel = await joined(layer)
        assert await received(layer, channel) == {"type": AGAIN}
        other = await joined(layer, "coffee")
        await asyncio.to_thread(publish, written("g", "tea", {"type": "lost"}))
        for one in (channel, other):
            assert await received(layer, one) == {"type": AGAIN}

    run(test, RedisLayer())


def test_what_others_write_is_passed_over(redis_in_use: RedisServer) -> None:
    """Whoever may write to Redis makes up no notices, and uses none of another installation."""
    told = written("g", "tea", {"type": "forged"})
    good = sealed(told)

    async def test(layer: Any) -> None:
        channel = await joined(layer)
        assert await received(layer, channel) == {"type": AGAIN}
        with redis_in_use.client() as client:
            for data in (
                b"",
                b"x",
                told.encode(),
                bytes(16) + told.encode(),
                good[:-1],
                good[:16] + b"\xff",
                b"\xff" * 99,
            ):
                client.publish(wire(), data)
            client.publish(wire(), sealed("{}"))
            client.publish(wire(), sealed(written("g", "tea", {"type": "real"})))
        assert await received(layer, channel) == {"type": "real"}

    run(test, RedisLayer())
    assert opened(good) == told
    assert opened(good[:-1]) is None


def test_a_change_of_an_owner_travels_when_it_commits_and_costs_no_statement(
    redis_in_use: RedisServer, alice: Actor
) -> None:
    async def test(layer: Any) -> None:
        channel = await joined(layer, group_of(alice.owner_id))
        assert await received(layer, channel) == {"type": AGAIN}

        def change() -> None:
            try:
                with transaction.atomic():
                    announce(alice.owner_id, "memories", "", 1)
                    raise LookupError
            except LookupError:
                pass
            with transaction.atomic():
                announce(alice.owner_id, "memories", "", 2)
            announce(alice.owner_id, "memories", "", 3)
            database.close()

        await asyncio.to_thread(change)
        assert [(await received(layer, channel))["version"] for _ in range(2)] == [2, 3]

    run(test, RedisLayer())


def test_a_wrong_password_is_no_answer(redis_in_use: RedisServer, settings: Settings) -> None:
    settings.REDIS = {**settings.REDIS, "password": "wrong"}

    async def test(layer: Any) -> None:
        joining = asyncio.create_task(joined(layer))
        await asyncio.sleep(0.3)
        assert not layer.hears
        joining.cancel()
        await asyncio.gather(joining, return_exceptions=True)

    run(test, RedisLayer())
