"""A cache of Django for counts and marks that all processes share; it holds whole numbers and nothing else.

Whoever may write to Redis must not run code here, so nothing is pickled. What is counted stands under a keyed code.
While Redis is away this process counts alone, as it would without Redis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import redis
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache

from memory.errors import RedisUnavailable
from memory.redis.connection import connection
from memory.redis.names import code, name

_PART: Final = "count"
_SCAN: Final = 1_000
# Adds to a count that is there; nothing where it is not.
_ADD: Final = "if redis.call('EXISTS', KEYS[1]) == 1 then return redis.call('INCRBY', KEYS[1], ARGV[1]) end"


class RedisCounts(BaseCache):
    """Whole numbers in Redis; true is kept as 1."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        """Name the cache.

        Args:
            location: a word that tells this cache from others.
            params: as for any cache; the most entries count for what the process keeps while Redis is away.
        """
        super().__init__(params)
        self._location = location
        self._alone = LocMemCache(f"{location}, alone", params)

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        """Set a number unless there is one; tell whether it was set."""
        at, number, lives = self._key(key, version), _whole(value), self._milliseconds(timeout)
        if lives is not None and lives <= 0:
            return not self.has_key(key, version)
        return bool(
            self._asked(
                lambda client: client.set(at, number, px=lives, nx=True),
                lambda: self._alone.add(key, number, timeout, version),
            )
        )

    def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
        """Give a number, the default where there is none."""
        at = self._key(key, version)
        found = self._asked(lambda client: client.get(at), lambda: self._alone.get(key, None, version))
        try:
            return default if found is None else int(found)
        except ValueError:
            # Somebody else has written there; what is no count counts for nothing.
            return default

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> None:
        """Set a number."""
        at, number, lives = self._key(key, version), _whole(value), self._milliseconds(timeout)
        if lives is not None and lives <= 0:
            self.delete(key, version)
            return
        self._asked(
            lambda client: client.set(at, number, px=lives),
            lambda: self._alone.set(key, number, timeout, version),
        )

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: Any = None) -> bool:
        """Let a number live from now on for a time; tell whether it is there."""
        at, lives = self._key(key, version), self._milliseconds(timeout)
        if lives is not None and lives <= 0:
            return self.delete(key, version)

        def there(client: redis.Redis) -> bool:
            if lives is not None:
                return bool(client.pexpire(at, lives))
            client.persist(at)
            return bool(client.exists(at))

        return bool(self._asked(there, lambda: self._alone.touch(key, timeout, version)))

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> int:
        """Add to a number and give the sum.

        One that is not there begins at `delta` and lives as long as the cache's counts do by default, other than with
        Django's caches, which raise ValueError: it may have been counted while Redis was away, or the other way round,
        and a login must not fail for that. Whoever wants another life sets it with `touch`.
        """
        at, added = self._key(key, version), _whole(delta)
        total = self._asked(
            lambda client: client.eval(_ADD, 1, at, str(added)), lambda: self._add_alone(key, added, version)
        )
        if total is None:
            self.set(key, added, version=version)
            return added
        return int(total)

    def delete(self, key: Any, version: Any = None) -> bool:
        """Remove a number; tell whether it was there. What the process counted alone goes, too."""
        at = self._key(key, version)
        was_here = self._alone.delete(key, version)
        return bool(self._asked(lambda client: client.delete(at), lambda: was_here)) or was_here

    def has_key(self, key: Any, version: Any = None) -> bool:
        """Tell whether there is a number."""
        at = self._key(key, version)
        return bool(self._asked(lambda client: client.exists(at), lambda: self._alone.has_key(key, version)))

    def clear(self) -> None:
        """Remove all numbers of this cache, and nothing else that Redis holds."""
        self._alone.clear()

        def remove(client: redis.Redis) -> None:
            found = list(client.scan_iter(match=name(_PART, self._location, "*"), count=_SCAN))
            if found:
                client.delete(*found)

        self._asked(remove, lambda: None)

    def _key(self, key: Any, version: Any) -> str:
        made = self.make_and_validate_key(key, version=version)
        return name(_PART, self._location, code(made, purpose="redis count"))

    def _milliseconds(self, timeout: Any) -> int | None:
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        return None if seconds is None else int(seconds * 1000)

    def _add_alone(self, key: Any, added: int, version: Any) -> int | None:
        try:
            return self._alone.incr(key, added, version)
        except ValueError:
            return None

    @staticmethod
    def _asked(question: Callable[[redis.Redis], Any], alone: Callable[[], Any]) -> Any:
        try:
            return connection().ask(question)
        except RedisUnavailable:
            return alone()


def _whole(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError("This cache holds whole numbers only.")
    return int(value)
