"""The connection to Redis where it dies, hangs, refuses and comes back."""

from __future__ import annotations

import logging
import os
import re
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from django_q.signing import BadSignature, SignedPackage
from pytest_django import Settings

from config.settings.redis import redis_parameters
from memory.errors import RedisUnavailable
from memory.live.publishing import publish
from memory.redis import connection as connection_module
from memory.redis import windows
from memory.redis.broker import RedisBroker
from memory.redis.connection import Connection, connection, forget_connection
from memory.redis.counts import RedisCounts
from memory.redis.waiting import dated, entries, queue_key, remove, waiting_calls
from memory.redis.windows import count_request
from memory.services.health.redis import probed_redis, redis_finding
from tests.contract.providers.tls_server import make_authority, make_identity
from tests.environment import PROJECT
from tests.ports import reserved_port
from tests.redis_server import (
    RedisServer,
    dying_redis_in_use,
    mortal_redis,
    need_redis,
    redis_in_use,
    shared_redis,
    use_redis,
    waited_for,
)

__all__ = ["dying_redis_in_use", "mortal_redis", "redis_in_use", "shared_redis"]


def test_death_and_return_are_noticed_and_said_once(
    dying_redis_in_use: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    assert redis_finding().status == "ok"
    dying_redis_in_use.kill()
    with caplog.at_level(logging.WARNING, logger="memory.redis.connection"):
        for _ in range(20):
            assert redis_finding().status == "degraded"
        assert "cannot be reached" in redis_finding().detail
        dying_redis_in_use.start()
        waited_for(lambda: redis_finding().status == "ok", "Redis to be used again")
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert not any("127.0.0.1" in line or str(dying_redis_in_use.port) in line for line in said)


def test_while_it_hangs_one_question_waits_and_the_others_do_not(
    mortal_redis: RedisServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "FIRST_PAUSE", 3600.0)
    use_redis(settings, mortal_redis, timeout=1.0)
    asked = connection()
    assert asked.answers()
    mortal_redis.suspend()
    sent: list[bool] = []

    def ping(client: redis.Redis) -> bool:
        sent.append(True)
        return bool(client.ping())

    for _ in range(5):
        with pytest.raises(RedisUnavailable):
            asked.ask(ping)
    mortal_redis.resume()
    assert len(sent) == 1
    assert "in time" in asked.reason
    forget_connection()


def test_many_that_were_under_way_when_it_died_count_as_one_failure(dying_redis_in_use: RedisServer) -> None:
    asked = connection()
    together = threading.Barrier(8)

    def ask() -> None:
        def wait(client: redis.Redis) -> None:
            together.wait(20)
            client.ping()

        with suppress(RedisUnavailable):
            asked.ask(wait)

    dying_redis_in_use.kill()
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked.reason
    assert asked._pause == connection_module.FIRST_PAUSE


@pytest.mark.parametrize("password", ["", "wrong"])
def test_a_refused_password_is_said_and_no_error_of_requests(
    password: str, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    need_redis()
    server = RedisServer("--requirepass", "the right one")
    server.start()
    try:
        settings.REDIS = redis_parameters(server.url, password=password, ca_file="", timeout=1)
        forget_connection()
        assert "refuses the user or password" in redis_finding().detail
        settings.REDIS = redis_parameters(server.url, password="the right one", ca_file="", timeout=1)
        forget_connection()
        assert redis_finding().status == "ok"
    finally:
        forget_connection()
        server.end()
    assert "right one" not in caplog.text


@pytest.mark.parametrize(
    ("policy", "broker", "commands", "told"),
    [
        ("allkeys-lru", "redis", "+@all", "allkeys-lru"),
        ("volatile-lru", "redis", "+@all", ""),
        ("allkeys-lru", "orm", "+@all", ""),
        ("allkeys-lru", "redis", "+@all -info", ""),
    ],
)
def test_a_server_that_may_throw_calls_away_is_told(
    policy: str, broker: str, commands: str, told: str, settings: Settings
) -> None:
    need_redis()
    server = RedisServer("--maxmemory", "64mb", "--maxmemory-policy", policy)
    server.start()
    try:
        with server.client() as client:
            client.execute_command("ACL", "SETUSER", "loci", "on", ">secret", "~loci:*", "&loci:*", *commands.split())
        url = server.url.replace("//", "//loci@")
        settings.REDIS = redis_parameters(url, password="secret", ca_file="", timeout=1)
        settings.QUEUE_BROKER = broker
        forget_connection()
        found = probed_redis()
        assert (found.status, told in found.detail) == ("degraded" if told else "ok", True)
        assert redis_finding().status == "ok"
    finally:
        forget_connection()
        server.end()


def test_a_socket_of_this_machine(settings: Settings) -> None:
    need_redis()
    # Short enough for a socket's path, wherever the tests' directories lie.
    server = RedisServer("--unixsocket", "redis.sock")
    server.start()
    try:
        url = f"unix://{server.home}/redis.sock"
        settings.REDIS = redis_parameters(url, password="", ca_file="", timeout=1)
        forget_connection()
        assert redis_finding().status == "ok"
    finally:
        forget_connection()
        server.end()


def test_packages_that_nobody_has_signed_are_refused_as_the_workers_expect(redis_in_use: RedisServer) -> None:
    broker = RedisBroker()
    for entry in (b"", b"x", b"1|", b"1|x", b"1|x:y", b"1|x:y:z", b"\xff|\xff", b"1|.eJw:1:2", dated("a:b").encode()):
        with redis_in_use.client() as client:
            client.rpush(queue_key(), entry)
        ((_, package),) = broker.dequeue() or []
        with pytest.raises((TypeError, BadSignature)):
            SignedPackage.loads(package)


def test_a_user_needs_no_more_rights_than_the_documentation_says(redis_in_use: RedisServer, settings: Settings) -> None:
    said = re.search(r"`ACL SETUSER loci on >… ([^`]+)`", (PROJECT / "docs" / "operations.md").read_text())
    assert said is not None
    with redis_in_use.client() as client:
        client.execute_command("ACL", "SETUSER", "loci", "reset", "on", ">word", *said[1].split())
    settings.REDIS = {**settings.REDIS, "username": "loci", "password": "word"}
    forget_connection()
    counts = RedisCounts("a test's", {})
    counts.add("tea", 1)
    counts.incr("tea")
    counts.touch("tea")
    assert counts.get("tea") == 2
    counts.clear()
    assert count_request(caller="owner:1", rate="read", most=1, seconds=60).allowed
    broker = RedisBroker()
    broker.enqueue("a call")
    assert waiting_calls()[0] == 1
    assert broker.dequeue() == [(None, "a call")]
    for entry in entries():
        remove(entry)
    broker.enqueue("a call")
    broker.delete_queue()
    publish("a notice")
    assert connection().reason == ""
    with redis_in_use.client() as client:
        client.execute_command("ACL", "DELUSER", "loci")


def test_a_full_memory_is_said(mortal_redis: RedisServer, settings: Settings) -> None:
    use_redis(settings, mortal_redis)
    with mortal_redis.client() as client:
        client.config_set("maxmemory", "1")
    with pytest.raises(RedisUnavailable):
        count_request(caller="owner:1", rate="read", most=1, seconds=60)
    assert "memory is full" in connection().reason
    forget_connection()


def test_tls_with_an_authority_of_ones_own(settings: Settings, tmp_path: Path) -> None:
    need_redis()
    authority, stranger = make_authority(tmp_path / "ours"), make_authority(tmp_path / "strangers")
    identity = make_identity(authority, "server", "localhost")
    files = ("--tls-cert-file", identity.certificate, "--tls-key-file", identity.key)
    server = RedisServer("--tls-port", str(port := reserved_port()), "--tls-auth-clients", "no", *files)
    server.start()
    try:
        for ca_file, status in ((authority.file, "ok"), (stranger.file, "degraded"), ("", "degraded")):
            settings.REDIS = redis_parameters(f"rediss://localhost:{port}", password="", ca_file=ca_file, timeout=5)
            forget_connection()
            assert redis_finding().status == status
    finally:
        forget_connection()
        server.end()


def test_many_threads_and_a_forked_child_use_their_own_sockets(redis_in_use: RedisServer) -> None:
    connection().ask(lambda client: client.set("n", 0))
    threads = [
        threading.Thread(target=lambda: [connection().ask(lambda client: client.incr("n")) for _ in range(20)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if not child:
        code = 1
        try:
            for _ in range(50):
                connection().ask(lambda client: client.incr("n"))
            code = 0
        finally:
            os._exit(code)
    for _ in range(50):
        connection().ask(lambda client: client.incr("n"))
    assert os.waitpid(child, 0)[1] == 0
    assert connection().ask(lambda client: client.get("n")) == b"260"


def test_two_connections_agree_on_a_limit(redis_in_use: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*, most: int, seconds: int = 3600, caller: str = "owner:1", rate: str = "read") -> bool:
        # Another process has another connection.
        monkeypatch.setattr(connection_module._shared, "_made", Connection())
        return count_request(caller=caller, rate=rate, most=most, seconds=seconds).allowed

    assert [ask(most=3) for _ in range(5)] == [True, True, True, False, False]
    assert ask(most=3, caller="owner:2")
    assert ask(most=3, rate="write")
    # What was refused was not counted.
    assert ask(most=4)


def test_a_refused_request_is_told_when_to_come_back(redis_in_use: RedisServer) -> None:
    # Three, since the hour may end between two of them.
    judged = [count_request(caller="owner:1", rate="read", most=1, seconds=3600) for _ in range(3)]
    assert judged[0].allowed
    assert not judged[2].allowed
    assert 0 < judged[2].wait <= 3600


def test_in_the_next_window_there_is_room_again_and_old_ones_are_gone(redis_in_use: RedisServer) -> None:
    count_request(caller="owner:1", rate="read", most=1, seconds=1)
    waited_for(lambda: count_request(caller="owner:1", rate="read", most=1, seconds=1).allowed, "the next window")
    with redis_in_use.client() as client:
        assert all(0 < client.pttl(key) <= 2_000 for key in client.scan_iter())


@pytest.mark.parametrize(
    ("before", "count", "passed", "expected"),
    [
        # The window is full: the next one, when this one's ten no longer count wholly.
        (0, 10, 400, 600),
        (5, 10, 999, 1),
        # Eight of before count for 8 × (1 - 0.4) = 4.8, and six are there: 10 when four of before are left.
        (8, 6, 400, 100),
        # Just within, but for rounding.
        (8, 6, 600, 1),
    ],
)
def test_how_long_a_refused_request_waits(before: int, count: int, passed: int, expected: float) -> None:
    assert windows._wait(10, before, count, passed, 1000) == pytest.approx(expected)
