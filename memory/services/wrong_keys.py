"""A limit on wrong keys from one address, so that trying keys costs no query; each way in counts its own.

Keys have 256 random bits and cannot be guessed; this is about the load. A key that was right within the last minutes
passes from everywhere, so that whoever shares an address with an attacker keeps working.

Counts stand under codes of addresses that only this installation can make.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from django.conf import settings
from django.core.cache import caches

from memory.errors import RateLimited
from memory.networks import network_of
from memory.services.windowed_counts import code_of, count_one

WINDOW_SECONDS: Final = 60
KNOWN_SECONDS: Final = 600
CACHE: Final = "agent_keys"
AGENTS: Final = "agents"
"""The way in for agents' keys."""


def refuse_flood(secret: str, address: str | None, *, way_in: str = AGENTS) -> None:
    """Refuse a key unread when too many wrong ones came this way from its address; raises RateLimited."""
    cache = caches[CACHE]
    wrong = cache.get(_address_key(way_in, address), 0)
    if wrong >= settings.MOST_WRONG_KEYS and not cache.get(_secret_key(way_in, secret)):
        message = f"Too many requests in a short time. Wait {WINDOW_SECONDS} seconds and try again."
        raise RateLimited(message, retry_after=WINDOW_SECONDS)


def note_wrong(address: str | None, *, way_in: str = AGENTS) -> None:
    """Count a wrong key from an address on this way in; the count is forgotten a minute after its first one."""
    count_one(caches[CACHE], _address_key(way_in, address), seconds=WINDOW_SECONDS)


def note_right(secret: str, *, way_in: str = AGENTS) -> None:
    """Remember for a while that a key was right; its digest, never the key."""
    caches[CACHE].set(_secret_key(way_in, secret), True, KNOWN_SECONDS)


def _address_key(way_in: str, address: str | None) -> str:
    return f"wrong:{way_in}:{code_of(network_of(address), purpose='wrong keys')}"


def _secret_key(way_in: str, secret: str) -> str:
    return f"right:{way_in}:{sha256(secret.encode('utf-8', 'surrogatepass')).hexdigest()}"
