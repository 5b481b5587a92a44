"""The ledger of purges: what was erased, so that a restored backup does not bring it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PurgeEntry:
    """What one purge erased, or a part of it; whoever reads it without the database learns whose and what of nobody.

    Attributes:
        purge_id: the purge; an erasing outside a purge has an id of its own.
        subject: `owner`, `agent`, `source` or `memory`.
        salt: random bytes that go before what is hashed.
        owner: SHA-256 of the salt and the owner's id.
        erased: the same of the id of each row that went; empty where everything of the owner went.
        at: when it was erased.
    """

    purge_id: UUID
    subject: str
    salt: bytes
    owner: bytes
    erased: tuple[bytes, ...]
    at: datetime


def hashed(salt: bytes, row_id: UUID) -> bytes:
    """Hash an id the way entries hold it; 32 bytes."""
    return sha256(salt + row_id.bytes).digest()


class PurgeLedger(Protocol):
    """Keeps entries beside the keys and not in the database, since a restored database would not have them."""

    def append(self, entry: PurgeEntry) -> None:
        """Add an entry; once this returns it outlives a power failure.

        Raises:
            KeysUnavailable: it cannot be kept.
        """

    def entries(self) -> Iterator[PurgeEntry]:
        """Give all entries in the order in which they were added.

        Raises:
            KeysUnavailable: they cannot be read, or one in the middle is damaged.
        """
