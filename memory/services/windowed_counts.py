"""Counting within a window of time that begins with the first one, in a cache of Django."""

from __future__ import annotations

from contextlib import suppress

from django.core.cache import BaseCache


def count_one(cache: BaseCache, key: str, *, seconds: float) -> int:
    """Count one more and give how many there are; the count is forgotten that many seconds after its first one.

    Django's caches raise ValueError where it ran out between the two steps; the one in Redis begins it anew, with the
    life that it gives to counts. A count from which all was taken back begins its window anew, too.
    """
    if cache.add(key, 1, seconds):
        return 1
    try:
        total = int(cache.incr(key))
    except ValueError:
        cache.add(key, 1, seconds)
        return 1
    if total == 1:
        cache.touch(key, seconds)
    return total


def take_back(cache: BaseCache, key: str) -> None:
    """Count one less; nothing where the count has run out."""
    if cache.get(key):
        with suppress(ValueError):
            if cache.decr(key) < 0:
                # Redis begins a count that ran out meanwhile.
                cache.delete(key)
