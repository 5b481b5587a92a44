"""Hashing passwords, a few at a time and without a connection to the database.

A hash takes a good part of a second of a processor by design. Whoever tries passwords must not have all processors, nor
all connections of the pool, which what agents ask needs.
"""

from __future__ import annotations

from threading import BoundedSemaphore
from typing import Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection

from memory.errors import PasswordsBusy

MOST_AT_ONCE: Final = 2
PATIENCE_SECONDS: Final = 3.0
RETRY_SECONDS: Final = 3
_places: Final = BoundedSemaphore(MOST_AT_ONCE)


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's own hasher, whose hashes it makes and reads; at most two at once in a process."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password; raises PasswordsBusy where no place comes free within three seconds."""
        if not connection.in_atomic_block:
            # As at the end of a request: back into the pool.
            connection.close_if_unusable_or_obsolete()
        if not _places.acquire(timeout=PATIENCE_SECONDS):
            raise PasswordsBusy(retry_after=RETRY_SECONDS)
        try:
            encoded: str = super().encode(password, salt, iterations)
            return encoded
        finally:
            _places.release()
