"""What the specification of channel layers asks for, of the layer of Channels in memory and of ours.

Ours are the one over PostgreSQL and the one over Redis.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from asgiref.sync import async_to_sync
from channels.exceptions import ChannelFull
from channels.layers import InMemoryChannelLayer
from django.db import connections, transaction

from memory.live import layer as layer_module
from memory.live import notify_layer
from memory.live.notices import AGAIN, WIRE, written
from memory.live.notify_layer import NotifyLayer
from memory.live.redis_layer import RedisLayer
from runtime.postgres.cluster import Cluster
from tests.live_server import own_server
from tests.redis_server import redis_in_use, shared_redis

__all__ = ["own_server", "redis_in_use", "shared_redis"]

pytestmark = pytest.mark.django_db(transaction=True)

# An end to waiting, not a measurement.
PATIENCE = 20.0
OURS: dict[str, Callable[..., Any]] = {"postgresql": NotifyLayer, "redis": RedisLayer}
LAYERS: dict[str, Callable[..., Any]] = {"in memory": InMemoryChannelLayer, **OURS}
NESTED = {
    "type": "test.message",
    "n": 1,
    "b": True,
    "none": None,
    "f": 0.5,
    "l": [1, {"deep": "Grüße 🫖"}],
    "d": {"a": 1},
}


@pytest.fixture(params=LAYERS)
def make_layer(request: pytest.FixtureRequest) -> Callable[..., Any]:
    if request.param == "redis":
        request.getfixturevalue("redis_in_use")
    return LAYERS[request.param]


@pytest.fixture(params=OURS)
def make_ours(request: pytest.FixtureRequest) -> Callable[..., Any]:
    if request.param == "redis":
        request.getfixturevalue("redis_in_use")
    return OURS[request.param]


def run(test: Callable[[Any], Awaitable[None]], layer: Any) -> None:
    async def whole() -> None:
        try:
            await asyncio.wait_for(test(layer), PATIENCE)
        finally:
            await layer.close()

    asyncio.run(whole())


async def received(layer: Any, channel: str) -> Any:
    return await asyncio.wait_for(layer.receive(channel), PATIENCE)


async def nothing_on(layer: Any, channel: str) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(layer.receive(channel), 0.2)


async def settled(layer: Any, channel: str) -> None:
    """Take what a layer says when a channel joins, so that only what a test sends is left."""
    await layer.group_add("settling", channel)
    await layer.group_send("settling", {"type": "settled"})
    while (await received(layer, channel))["type"] != "settled":
        pass


def test_a_message_reaches_its_channel_as_it_was_sent(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        await layer.send("test-ch-1", NESTED)
        assert await received(layer, "test-ch-1") == NESTED
        await layer.send("test-ch-1", {"type": "bytes", "b": b"\x00\xff"})
        assert await received(layer, "test-ch-1") == {"type": "bytes", "b": b"\x00\xff"}

    run(test, make_layer())


def test_messages_of_a_channel_keep_their_order(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        channel = await layer.new_channel()
        for number in range(20):
            await layer.send(channel, {"type": "n", "n": number})
        assert [(await received(layer, channel))["n"] for _ in range(20)] == list(range(20))

    run(test, make_layer())


def test_what_is_changed_after_sending_is_not_changed_on_the_way(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        message: dict[str, Any] = {"type": "list", "of": [1]}
        await layer.send("test-ch-1", message)
        message["of"].append(2)
        assert (await received(layer, "test-ch-1"))["of"] == [1]

    run(test, make_layer())


def test_new_channels_differ_and_are_received_by_themselves(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        one, other = await layer.new_channel(), await layer.new_channel()
        assert one != other
        assert layer.require_valid_channel_name(one)
        await layer.send(other, {"type": "other"})
        await layer.send(one, {"type": "one"})
        assert await received(layer, one) == {"type": "one"}
        assert await received(layer, other) == {"type": "other"}

    run(test, make_layer())


def test_one_of_several_readers_gets_a_message(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        readers = [asyncio.create_task(layer.receive("test-ch-1")) for _ in range(3)]
        await asyncio.sleep(0)
        await layer.send("test-ch-1", {"type": "once"})
        done, waiting = await asyncio.wait(readers, return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE)
        assert len(done) == 1
        for reader in waiting:
            reader.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    run(test, make_layer())


def test_a_reader_that_gives_up_takes_no_message_along(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        channel = await layer.new_channel()
        await nothing_on(layer, channel)
        await layer.send(channel, {"type": "still"})
        assert await received(layer, channel) == {"type": "still"}

    run(test, make_layer())


def test_a_full_channel_is_told_to_the_sender(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        for _ in range(3):
            await layer.send("test-ch-1", {"type": "n"})
        with pytest.raises(ChannelFull):
            await layer.send("test-ch-1", {"type": "n"})
        await layer.send("test-ch-2", {"type": "n"})

    run(test, make_layer(capacity=3))


def test_messages_expire(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        await layer.send("test-ch-1", {"type": "old"})
        await asyncio.sleep(0.3)
        await nothing_on(layer, "test-ch-1")
        await layer.send("test-ch-1", {"type": "new"})
        assert await received(layer, "test-ch-1") == {"type": "new"}

    run(test, make_layer(expiry=0.1))


@pytest.mark.parametrize("name", ["", "ü", "a b", "a!b!c d", "x" * 200, b"bytes", None, 3])
def test_names_of_another_form_are_refused(make_layer: Callable[..., Any], name: Any) -> None:
    async def test(layer: Any) -> None:
        good = await layer.new_channel()
        for attempt in (
            layer.send(name, {"type": "n"}),
            layer.receive(name),
            layer.group_add(name, good),
            layer.group_add("group", name),
            layer.group_discard(name, good),
            layer.group_discard("group", name),
            layer.group_send(name, {"type": "n"}),
        ):
            with pytest.raises(TypeError):
                await attempt

    run(test, make_layer())


def test_what_is_no_message_is_refused(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        for wrong in ("text", ["list"], None):
            with pytest.raises(AssertionError):
                await layer.send("test-ch-1", wrong)
            with pytest.raises(AssertionError):
                await layer.group_send("group", wrong)

    run(test, make_layer())


def test_a_group_reaches_its_members_and_nobody_else(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        one, two, other = [await layer.new_channel() for _ in range(3)]
        for channel in (one, two, other):
            await settled(layer, channel)
            await layer.group_discard("settling", channel)
        await layer.group_add("tea", one)
        await layer.group_add("tea", two)
        await layer.group_add("coffee", other)
        await layer.group_send("tea", NESTED)
        assert await received(layer, one) == await received(layer, two) == NESTED
        await nothing_on(layer, other)

    run(test, make_layer())


def test_a_channel_is_once_in_a_group_and_gone_once_it_left(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        channel = await layer.new_channel()
        await settled(layer, channel)
        await layer.group_add("tea", channel)
        await layer.group_add("tea", channel)
        await layer.group_send("tea", {"type": "once"})
        assert await received(layer, channel) == {"type": "once"}
        await nothing_on(layer, channel)
        await layer.group_discard("tea", channel)
        await layer.group_discard("tea", channel)
        await layer.group_discard("never", channel)
        await layer.group_send("tea", {"type": "late"})
        await nothing_on(layer, channel)

    run(test, make_layer())


def test_a_group_without_members_may_be_sent_to(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        await layer.group_send("nobody", {"type": "n"})

    run(test, make_layer())


def test_a_member_that_does_not_read_stops_neither_sender_nor_others(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        slow, quick = await layer.new_channel(), await layer.new_channel()
        for channel in (slow, quick):
            await settled(layer, channel)
            await layer.group_add("tea", channel)
        for number in range(10):
            await layer.group_send("tea", {"type": "n", "n": number})
            while (got := await received(layer, quick))["type"] != "n":
                pass
            assert got["n"] == number
        waiting = 0
        with suppress(TimeoutError):
            while True:
                await asyncio.wait_for(layer.receive(slow), 0.2)
                waiting += 1
        assert 1 <= waiting <= 3

    run(test, make_layer(capacity=3))


def test_flush_forgets_everything(make_layer: Callable[..., Any]) -> None:
    async def test(layer: Any) -> None:
        channel = await layer.new_channel()
        await layer.group_add("tea", channel)
        await layer.send(channel, {"type": "n"})
        await layer.flush()
        await layer.group_send("tea", {"type": "n"})
        await nothing_on(layer, channel)

    run(test, make_layer())


class TestOurs:
    """What our layers do beyond that."""

    def test_what_was_lost_is_said(self, make_ours: Callable[..., Any]) -> None:
        async def test(layer: Any) -> None:
            channel = await layer.new_channel()
            await settled(layer, channel)
            await layer.group_add("tea", channel)
            for number in range(4):
                await layer.group_send("tea", {"type": "n", "n": number})
            mark = await layer.new_channel()
            # Notices keep their order: when this one has come, the others have.
            await settled(layer, mark)
            assert await received(layer, channel) == {"type": AGAIN}

        run(test, make_ours(capacity=3))

    def test_another_layer_of_the_same_database_hears_groups_and_channels(self, make_ours: Callable[..., Any]) -> None:
        async def test(layer: Any) -> None:
            other = make_ours()
            try:
                channel = await layer.new_channel()
                await settled(layer, channel)
                await layer.group_add("tea", channel)
                await other.group_send("tea", {"type": "by group"})
                assert await received(layer, channel) == {"type": "by group"}
                await other.send(channel, {"type": "by name"})
                assert await received(layer, channel) == {"type": "by name"}
            finally:
                await other.close()

        run(test, make_ours())

    def test_synchronous_code_sends_from_any_thread_again_and_again(self, make_ours: Callable[..., Any]) -> None:
        async def test(layer: Any) -> None:
            channel = await layer.new_channel()
            await settled(layer, channel)
            await layer.group_add("tea", channel)

            def send_twice(number: int) -> None:
                for _ in range(2):
                    async_to_sync(layer.group_send)("tea", {"type": "n", "n": number})
                    async_to_sync(layer.send)(channel, {"type": "n", "n": number})

            threads = [threading.Thread(target=send_twice, args=(number,)) for number in range(8)]
            for thread in threads:
                thread.start()
            got = [(await received(layer, channel))["n"] for _ in range(32)]
            assert sorted(got) == sorted(list(range(8)) * 4)
            for thread in threads:
                await asyncio.to_thread(thread.join)

        run(test, make_ours())

    def test_what_is_sent_in_a_transaction_travels_when_it_commits(self, make_ours: Callable[..., Any]) -> None:
        def send(layer: Any, name: str, *, fail: bool) -> None:
            try:
                with transaction.atomic():
                    async_to_sync(layer.group_send)("tea", {"type": name})
                    if fail:
                        raise LookupError
            except LookupError:
                pass
            finally:
                connections.close_all()

        async def test(layer: Any) -> None:
            channel = await layer.new_channel()
            await settled(layer, channel)
            await layer.group_add("tea", channel)
            await asyncio.to_thread(send, layer, "rolled back", fail=True)
            await asyncio.to_thread(send, layer, "committed", fail=False)
            assert await received(layer, channel) == {"type": "committed"}

        run(test, make_ours())

    def test_nothing_large_and_no_bytes_travel(self, make_ours: Callable[..., Any]) -> None:
        async def test(layer: Any) -> None:
            with pytest.raises(ValueError, match="at most 7900 bytes"):
                await layer.group_send("tea", {"type": "n", "text": "x" * 8000})
            with pytest.raises(TypeError):
                await layer.group_send("tea", {"type": "n", "b": b"bytes"})
            with pytest.raises(ValueError, match="JSON"):
                await layer.group_send("tea", {"type": "n", "f": float("nan")})

        run(test, make_ours())

    def test_nothing_is_left_of_channels_that_are_gone(self, make_ours: Callable[..., Any]) -> None:
        async def test(layer: Any) -> None:
            for _ in range(5):
                channel = await layer.new_channel()
                await settled(layer, channel)
                await layer.group_add("tea", channel)
                await layer.group_send("tea", {"type": "n"})
                await received(layer, channel)
                await layer.group_discard("tea", channel)
                await layer.group_discard("settling", channel)
            assert layer._inboxes == {}
            assert layer._groups == {}

        run(test, make_ours())


@pytest.fixture
def told_there(own_server: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Have notices sent to the server of the test's own too."""
    monkeypatch.setattr(notify_layer, "notify_once", lambda payload: tell_there(own_server, payload))
    return own_server


def tell_there(server: Cluster, payload: str) -> None:
    with psycopg.connect(f"host={server.socket_directory} user=loci_app dbname=loci", autocommit=True) as connection:
        connection.execute("SELECT pg_notify(%s, %s)", [WIRE, payload])


FOREIGN = ("", "{", "[]", "[" * 7000, '{"g": 1, "m": {}}', '{"g": "tea", "m": []}', '{"g": "tea", "m": {}}')


class TestDatabaseServer:
    """The connection that listens is the layer's own, and comes back by itself."""

    def test_after_a_restart_it_says_that_something_may_be_missed_and_goes_on(self, told_there: Cluster) -> None:
        async def test(layer: Any) -> None:
            channel = await layer.new_channel()
            await layer.group_add("tea", channel)
            assert await received(layer, channel) == {"type": AGAIN}
            tell_there(told_there, written("g", "tea", {"type": "before"}))
            assert await received(layer, channel) == {"type": "before"}
            await asyncio.to_thread(told_there.stop)
            await asyncio.to_thread(told_there.start)
            assert await received(layer, channel) == {"type": AGAIN}
            tell_there(told_there, written("g", "tea", {"type": "after"}))
            assert await received(layer, channel) == {"type": "after"}

        run(test, NotifyLayer())

    def test_a_server_that_ends_the_connection_is_asked_again(self, told_there: Cluster) -> None:
        async def test(layer: Any) -> None:
            channel = await layer.new_channel()
            await layer.group_add("tea", channel)
            assert await received(layer, channel) == {"type": AGAIN}
            with psycopg.connect(f"host={told_there.socket_directory} user=postgres", autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'loci live'"
                )
            assert await received(layer, channel) == {"type": AGAIN}

        run(test, NotifyLayer())

    def test_a_channel_joins_while_the_server_is_away(
        self, told_there: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(layer_module, "JOIN_PATIENCE", 0.05)

        async def test(layer: Any) -> None:
            await asyncio.to_thread(told_there.stop)
            channel = await layer.new_channel()
            await layer.group_add("tea", channel)
            await asyncio.to_thread(told_there.start)
            assert await received(layer, channel) == {"type": AGAIN}

        run(test, NotifyLayer())

    def test_what_others_say_on_the_wire_is_passed_over(self, told_there: Cluster) -> None:
        async def test(layer: Any) -> None:
            channel = await layer.new_channel()
            await layer.group_add("tea", channel)
            assert await received(layer, channel) == {"type": AGAIN}
            for payload in (
                "",
                "{",
                "[]",
                "[" * 7000,
                '{"g": 1, "m": {}}',
                '{"g": "tea", "m": []}',
                '{"g": "tea", "m": {}}',
            ):
                tell_there(told_there, payload)
            tell_there(told_there, written("c", "nobody.knows!this", {"type": "n"}))
            tell_there(told_there, written("g", "tea", {"type": "real"}))
            assert await received(layer, channel) == {"type": "real"}

        run(test, NotifyLayer())

    def test_silence_is_asked_about(self, told_there: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(layer_module, "PROBE_SECONDS", 0.05)

        async def test(layer: Any) -> None:
            channel = await layer.new_channel()
            await layer.group_add("tea", channel)
            assert await received(layer, channel) == {"type": AGAIN}
            for number in range(20):
                tell_there(told_there, written("g", "tea", {"type": "n", "n": number}))
                await asyncio.sleep(0.02)
            assert [(await received(layer, channel))["n"] for _ in range(20)] == list(range(20))

        run(test, NotifyLayer())

    def test_where_no_notice_comes_through_it_does_not_say_that_it_hears(
        self, own_server: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As behind a pooler in transaction mode, which lets LISTEN pass and keeps the notices to itself."""
        monkeypatch.setattr(layer_module, "PROBE_PATIENCE", 0.2)
        monkeypatch.setattr(layer_module, "JOIN_PATIENCE", 1.0)

        async def test(layer: Any) -> None:
            channel = await layer.new_channel()
            await layer.group_add("tea", channel)
            assert not layer.hears
            await nothing_on(layer, channel)

        run(test, NotifyLayer())
