"""A real Redis for tests, on a port of this machine, that can be killed, suspended and started again."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from pytest_django import Settings

from config.settings.redis import redis_parameters
from memory.live.publishing import forget_lost
from memory.redis.connection import forget_connection
from tests.ports import reserved_port
from tests.services import required_program

# An end to waiting, not a measurement.
PATIENCE = 30.0
TIMEOUT = 1.0


class RedisServer:
    """One server, without files; what it holds is gone when it ends."""

    def __init__(self, *options: str) -> None:
        """Choose a port; further options of `redis-server` as on its command line."""
        self.home = Path(tempfile.mkdtemp(prefix="loci-redis-"))
        self.port = reserved_port()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Give its address."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it on its port, and wait until it answers."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.home)]
        command += ["--save", "", "--appendonly", "no", *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while not self._listens():
            assert self._process.poll() is None, "redis-server ended at once"
            assert time.monotonic() < until, "redis-server did not answer"
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as a machine that fails does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def suspend(self) -> None:
        """Let it hang: it takes connections and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        """Leave nothing of it."""
        if self._process is not None:
            self.kill()
        shutil.rmtree(self.home)

    def client(self) -> Any:
        """Give a client of the tests' own."""
        return redis.Redis(host="127.0.0.1", port=self.port, protocol=2)

    def content(self) -> dict[bytes, bytes]:
        """Give everything that it holds: the keys, and what stands under them as one piece."""
        with self.client() as client:
            return {key: _value(client, key) for key in client.scan_iter()}

    def _listens(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.AuthenticationError:
            return True
        except redis.RedisError:
            return False


def _value(client: Any, key: bytes) -> bytes:
    kind = client.type(key)
    if kind == b"string":
        return bytes(client.get(key))
    if kind == b"list":
        return b"\n".join(client.lrange(key, 0, -1))
    if kind == b"hash":
        return b"\n".join(part for pair in client.hgetall(key).items() for part in pair)
    raise AssertionError(f"nothing is kept as {kind!r}")


def need_redis() -> None:
    """Skip where there is no `redis-server`, or fail where services are required."""
    required_program("redis-server", package="redis-server")


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    """Run one Redis for all tests that only use it."""
    need_redis()
    server = RedisServer()
    server.start()
    yield server
    server.end()


@pytest.fixture
def mortal_redis() -> Iterator[RedisServer]:
    """Run a Redis of a test's own, which it may kill."""
    need_redis()
    server = RedisServer()
    server.start()
    yield server
    server.end()


def use_redis(settings: Settings, server: RedisServer, *, timeout: float = TIMEOUT) -> None:
    """Let this process use a Redis."""
    settings.REDIS = redis_parameters(server.url, password="", ca_file="", timeout=timeout)
    forget_connection()


@pytest.fixture
def redis_in_use(shared_redis: RedisServer, settings: Settings) -> Iterator[RedisServer]:
    """Let this process use the shared Redis, which is empty at first."""
    with shared_redis.client() as client:
        client.flushall()
    use_redis(settings, shared_redis)
    yield shared_redis
    forget_lost()
    forget_connection()


@pytest.fixture
def dying_redis_in_use(mortal_redis: RedisServer, settings: Settings) -> Iterator[RedisServer]:
    """Let this process use a Redis that the test may kill."""
    use_redis(settings, mortal_redis)
    yield mortal_redis
    forget_lost()
    forget_connection()


def waited_for(happens: Any, what: str) -> None:
    """Return as soon as it happens; fail after the patience has run out."""
    until = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < until, f"waited for {what}"
        time.sleep(0.05)
