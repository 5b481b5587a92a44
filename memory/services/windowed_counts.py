"""Counting within a window of time that begins with the first one, in a cache of Django."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from contextlib import suppress

from django.core.cache import BaseCache

from memory.crypto.signing import signer


def code_of(*texts: str, purpose: str) -> str:
    """Give the code under which something of a network or a name is counted, so that no cache tells whose it is.

    Args:
        texts: what is counted, such as an address; only the last one may hold a NUL.
        purpose: of what; the same texts have another code for another purpose.

    Raises:
        KeysUnavailable: there is no signing key.
    """
    mac = signer().mac("\0".join(texts).encode("utf-8", "surrogatepass"), purpose=purpose)
    return urlsafe_b64encode(mac).decode()


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
