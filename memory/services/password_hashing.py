"""Hashing passwords, one or two at a time and, outside of transactions, without a connection to the database.

A hash takes a good part of a second of a processor by design. Whoever tries passwords must not have all processors, nor
all connections of the pool, which what agents ask needs.
"""

from __future__ import annotations

import os
from threading import BoundedSemaphore
from typing import Final

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.db import connection

from memory.errors import PasswordsBusy


def places(processors: int) -> int:
    """Give how many passwords may be hashed at once: one processor is left to others where there are several."""
    return max(1, min(2, processors - 1))


MOST_AT_ONCE: Final = places(os.cpu_count() or 1)
PATIENCE_SECONDS: Final = 3.0
RETRY_SECONDS: Final = 3
_places: Final = BoundedSemaphore(MOST_AT_ONCE)


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's own hasher, whose hashes it makes and reads; at most `MOST_AT_ONCE` at once in a process."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password; raises PasswordsBusy where no place comes free within three seconds.

        The connection goes back into the pool meanwhile, except within a transaction, which would be lost with it.
        """
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
