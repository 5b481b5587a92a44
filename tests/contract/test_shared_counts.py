"""What counts and marks need of a cache, of Django's in the process and of ours in Redis."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.cache.backends.locmem import LocMemCache

from memory.redis.counts import RedisCounts
from memory.services.windowed_counts import count_one, take_back
from tests.redis_server import (
    RedisServer,
    dying_redis_in_use,
    mortal_redis,
    redis_in_use,
    shared_redis,
    waited_for,
)

__all__ = ["dying_redis_in_use", "mortal_redis", "redis_in_use", "shared_redis"]

CACHES: dict[str, Callable[[str, dict[str, Any]], Any]] = {"in the process": LocMemCache, "redis": RedisCounts}


@pytest.fixture(params=CACHES)
def cache(request: pytest.FixtureRequest) -> Any:
    if request.param == "redis":
        request.getfixturevalue("redis_in_use")
    made = CACHES[request.param]("a test's", {"TIMEOUT": 900})
    made.clear()
    return made


def test_what_is_not_there(cache: Any) -> None:
    assert cache.get("tea") is None
    assert cache.get("tea", 7) == 7
    assert not cache.has_key("tea")
    assert not cache.delete("tea")
    assert not cache.touch("tea", 5)
    assert "tea" not in cache


def test_numbers_and_marks(cache: Any) -> None:
    cache.set("tea", 3)
    cache.set("mark", True, 60)
    assert cache.get("tea") == 3
    assert cache.get("mark")
    assert cache.get_many(["tea", "mark", "none"]) == {"tea": 3, "mark": 1}
    assert cache.delete("tea")
    assert cache.get("tea") is None


def test_the_first_one_sets(cache: Any) -> None:
    assert cache.add("tea", 1, 60)
    assert not cache.add("tea", 5, 60)
    assert cache.get("tea") == 1


def test_counting(cache: Any) -> None:
    cache.add("tea", 1, 60)
    assert cache.incr("tea") == 2
    assert cache.incr("tea", 5) == 7
    assert cache.decr("tea", 2) == 5


class RunningOut:
    """A cache in which a count runs out just before a step."""

    def __init__(self, cache: Any, step: str) -> None:
        self._cache, self._step = cache, step

    def __getattr__(self, name: str) -> Any:
        if name == self._step:
            self._cache.delete("tea")
        return getattr(self._cache, name)


def test_a_window_that_runs_out_meanwhile_begins_anew(cache: Any) -> None:
    cache.set("tea", 5, 60)
    assert count_one(RunningOut(cache, "incr"), "tea", seconds=60) == 1  # type: ignore[arg-type]
    assert cache.get("tea") == 1
    assert count_one(cache, "tea", seconds=60) == 2


def test_nothing_is_taken_back_from_a_window_that_runs_out_meanwhile(cache: Any) -> None:
    cache.set("tea", 5, 60)
    take_back(RunningOut(cache, "decr"), "tea")  # type: ignore[arg-type]
    assert cache.get("tea") is None
    take_back(cache, "tea")
    assert not cache.has_key("tea")
    assert count_one(cache, "tea", seconds=60) == 1


def test_counting_at_once_loses_nothing(cache: Any) -> None:
    cache.set("tea", 0, 60)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: cache.incr("tea"), range(80)))
    assert cache.get("tea") == 80


def test_what_lives_no_time_is_gone(cache: Any) -> None:
    cache.set("tea", 1)
    cache.set("tea", 2, 0)
    assert cache.get("tea") is None
    cache.set("tea", 1)
    assert cache.touch("tea", -1)
    assert cache.get("tea") is None


def test_what_lives_for_ever(cache: Any) -> None:
    cache.set("tea", 1, None)
    assert cache.touch("tea", None)
    assert cache.get("tea") == 1


def test_versions_and_other_caches_are_apart(cache: Any) -> None:
    other = type(cache)("another one", {})
    cache.set("tea", 1, version=1)
    cache.set("tea", 2, version=2)
    other.set("tea", 3)
    assert [cache.get("tea", version=1), cache.get("tea", version=2), other.get("tea")] == [1, 2, 3]
    other.clear()
    assert cache.get("tea", version=1) == 1


class TestRedis:
    """What only counts in Redis do."""

    def test_they_are_gone_in_time(self, redis_in_use: RedisServer) -> None:
        cache = RedisCounts("a test's", {"TIMEOUT": 900})
        cache.add("short", 1, 0.05)
        cache.add("usual", 1)
        cache.add("touched", 1)
        cache.touch("touched", 60)
        waited_for(lambda: cache.get("short") is None, "its end")
        with redis_in_use.client() as client:
            lives = sorted(client.pttl(key) for key in client.scan_iter())
        assert len(lives) == 2
        assert 0 < lives[0] <= 60_000 < lives[1] <= 900_000

    def test_nothing_but_whole_numbers(self, redis_in_use: RedisServer) -> None:
        cache = RedisCounts("a test's", {})
        for value in ("text", 1.5, None, [1], {"a": 1}, b"1"):
            with pytest.raises(TypeError):
                cache.set("tea", value)
            with pytest.raises(TypeError):
                cache.add("tea", value)
        assert redis_in_use.content() == {}

    def test_what_somebody_else_has_written_there_counts_for_nothing(self, redis_in_use: RedisServer) -> None:
        cache = RedisCounts("a test's", {})
        cache.set("tea", 1)
        (key,) = redis_in_use.content()
        with redis_in_use.client() as client:
            client.set(key, b"\x80\x04\x95cos\nsystem\n")
        assert cache.get("tea", 0) == 0

    def test_a_count_that_is_not_there_begins(self, redis_in_use: RedisServer) -> None:
        """As one does that was begun where another count stood: a login must not fail for that."""
        cache = RedisCounts("a test's", {"TIMEOUT": 900})
        assert cache.incr("tea") == 1
        assert cache.incr("tea") == 2

    def test_a_window_that_begins_anew_lives_as_long_as_it_should(self, redis_in_use: RedisServer) -> None:
        cache = RedisCounts("a test's", {"TIMEOUT": 900})
        cache.add("tea", 1, 60)
        assert count_one(RunningOut(cache, "incr"), "tea", seconds=60) == 1  # type: ignore[arg-type]
        with redis_in_use.client() as client:
            (lives,) = [client.pttl(key) for key in client.scan_iter()]
        assert 0 < lives <= 60_000

    def test_keys_say_nothing_and_other_keys_stay(self, redis_in_use: RedisServer) -> None:
        with redis_in_use.client() as client:
            client.set("another program's", "x")
        cache = RedisCounts("a test's", {})
        cache.set("wrong:agents:203.0.113.7", 1)
        assert not any(b"203" in key for key in redis_in_use.content())
        cache.clear()
        assert list(redis_in_use.content()) == [b"another program's"]

    def test_while_redis_is_away_the_process_counts_alone(self, dying_redis_in_use: RedisServer) -> None:
        cache = RedisCounts("a test's", {"TIMEOUT": 900})
        cache.clear()
        assert cache.add("tea", 1, 60)
        assert cache.incr("tea") == 2
        dying_redis_in_use.kill()
        assert cache.get("tea") is None
        assert cache.incr("tea") == 1
        assert cache.incr("tea") == 2
        assert not cache.add("tea", 9, 60)
        assert cache.touch("tea", 60)
        cache.set("mark", True, 60)
        assert cache.has_key("mark")
        assert cache.delete("mark")
        assert not cache.has_key("mark")
        dying_redis_in_use.start()
        waited_for(lambda: cache.add("probe", 1, 60) and bool(dying_redis_in_use.content()), "Redis to be used again")
        assert cache.get("tea") is None
        assert cache.incr("tea") == 1

    def test_what_is_forgotten_is_forgotten_here_and_there(self, dying_redis_in_use: RedisServer) -> None:
        cache = RedisCounts("a test's", {"TIMEOUT": 900})
        cache.clear()
        dying_redis_in_use.kill()
        assert cache.incr("tea") == 1
        dying_redis_in_use.start()
        waited_for(lambda: cache.add("probe", 1, 60) and bool(dying_redis_in_use.content()), "Redis to be used again")
        cache.delete("tea")
        dying_redis_in_use.kill()
        assert cache.get("tea") is None
