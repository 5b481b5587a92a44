"""The ledger of purges: noting what is erased, and erasing it again in a database that was restored from a backup."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.models import PurgeSubject
from memory.ports.ledger import PurgeEntry, hashed
from memory.providers.composition import purge_ledger

SALT_BYTES: Final = 16
IDS_OF_ENTRY: Final = 1_000
REPLAY: Final = "replay"
"""Who asks for what the ledger names in a restored database."""


def note_owner(*, owner_id: UUID, purge_id: UUID, at: datetime) -> None:
    """Note that everything of an owner is erased, before the first row goes; once, however often it is called.

    Raises:
        KeysUnavailable: the ledger cannot be read or written; nothing may be erased then.
    """
    ledger = purge_ledger()
    if any(one.purge_id == purge_id and one.subject == PurgeSubject.OWNER for one in ledger.entries()):
        return
    salt = secrets.token_bytes(SALT_BYTES)
    ledger.append(PurgeEntry(purge_id, PurgeSubject.OWNER, salt, hashed(salt, owner_id), (), at))


def note_erased(*, owner_id: UUID, purge_id: UUID, subject: str, ids: Iterable[UUID], at: datetime) -> None:
    """Note that single rows of an owner are erased: memories, sources of memories that stay, an agent.

    Call it as the last thing of the transaction that erases them, so that what is noted is erased and what is erased is
    noted, but for a machine that dies in the moment between: the erasing is then done again.

    Args:
        owner_id: whose rows.
        purge_id: the purge, or the act that they belong to.
        subject: what the purge is about.
        ids: the rows; without any, nothing is noted.
        at: when.

    Raises:
        KeysUnavailable: the ledger cannot be written; let the transaction fail.
    """
    ledger, salt = purge_ledger(), salt_of(owner_id)
    owner = hashed(salt, owner_id)
    for part in _parts(ids):
        ledger.append(PurgeEntry(purge_id, subject, salt, owner, tuple(hashed(salt, one) for one in part), at))


def check_ledger() -> None:
    """See that every entry of the ledger can be read; raises KeysUnavailable, which says which one cannot."""
    for _ in purge_ledger().entries():
        pass


@dataclass(slots=True)
class Named:
    """What the ledger names of one owner: everything, or single rows, as hashes by salt; and the newest erasing."""

    everything: bool = False
    newest: UUID | None = None
    rows: dict[bytes, set[bytes]] = field(default_factory=lambda: defaultdict(set))

    def among(self, ids: Iterable[UUID]) -> list[UUID]:
        """Give those ids that the ledger names, in order."""
        return [one for one in ids if any(hashed(salt, one) in known for salt, known in self.rows.items())]


def named_in_ledger(owner_ids: Sequence[UUID], *, since: datetime | None = None) -> dict[UUID, Named]:
    """Find which owners the ledger names and what of them; takes one hash for each owner and salt.

    Args:
        owner_ids: the owners of this database.
        since: leaves out what was noted before.

    Raises:
        KeysUnavailable: the ledger cannot be read.
    """
    by_salt: dict[bytes, dict[bytes, UUID]] = {}
    found: dict[UUID, Named] = {}
    for entry in purge_ledger().entries():
        if since is not None and entry.at < since:
            continue
        if entry.salt not in by_salt:
            by_salt[entry.salt] = {hashed(entry.salt, owner_id): owner_id for owner_id in owner_ids}
        owner_id = by_salt[entry.salt].get(entry.owner)
        if owner_id is None:
            continue
        named = found.setdefault(owner_id, Named())
        if entry.subject == PurgeSubject.OWNER:
            named.everything = True
        named.newest = entry.purge_id
        named.rows[entry.salt].update(entry.erased)
    return found


def salt_of(owner_id: UUID) -> bytes:
    """Give the salt of an owner's single rows: one for each owner, so that a replay hashes each row once.

    It comes from the owner's keys, so that nobody tells from it whose it is.
    """
    return keyring().of(owner_id).digest("purge ledger")[:SALT_BYTES]


def _parts(ids: Iterable[UUID]) -> Iterator[Sequence[UUID]]:
    every = sorted(set(ids))
    for start in range(0, len(every), IDS_OF_ENTRY):
        yield every[start : start + IDS_OF_ENTRY]
