"""Counting within a window of time that begins with the first one, in a cache of Django."""

from __future__ import annotations

from django.core.cache import BaseCache


def count_one(cache: BaseCache, key: str, *, seconds: float) -> int:
    """Count one more and give how many there are; the count is forgotten that many seconds after its first one."""
    if cache.add(key, 1, seconds):
        return 1
    try:
        return int(cache.incr(key))
    except ValueError:
        # It ran out between the two.
        cache.add(key, 1, seconds)
        return 1


def take_back(cache: BaseCache, key: str) -> None:
    """Count one less; nothing where the count has run out."""
    if cache.get(key):
        try:
            cache.decr(key)
        except ValueError:
            return
