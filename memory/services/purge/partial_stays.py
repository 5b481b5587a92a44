"""What a partial purge leaves, as its receipt says it."""

from __future__ import annotations

from typing import Final

from memory.models import PurgeSubject
from memory.services.purge.receipts import PROVIDERS, Stay

AUDIT: Final = Stay(
    "The audit: times, verbs, counts and random ids, also of what was erased and of agents that are gone.",
    "Until the owner is purged, and then under a pseudonym for as long as the installation keeps its audit.",
    "It says that something was done to an id, and holds no text.",
)
LEDGER: Final = Stay(
    "Entries in the ledger of purges: salted digests of random ids, and the time.",
    "For as long as there can be backups that are older than the purge.",
    "A restored backup is purged again with them.",
)
SEALED: Final = Stay(
    "Sealed texts in freed space of the database's files and in backups that were made before.",
    "Readable with the owner's keys until the text key's version is destroyed by the next rotation. Backups of the key "
    "vault hold that version for as long as they are kept.",
    "A database frees rows without overwriting them, and backups are not changed.",
)
FREED_PAGES: Final = Stay(
    "Vectors of redacted texts, keyed hashes of words and labels, times that texts mention, sizes and ids, in freed "
    "space of the database's files. They are not under the text key: no rotation makes them unreadable.",
    "Until PostgreSQL writes over it.",
    "A database frees rows without overwriting them.",
)
VECTOR_INDEXES: Final = Stay(
    "The same vectors in the pages of the vector indexes, which a purge of a part does not build anew. No search gives "
    "them any more.",
    "Until PostgreSQL vacuums the index and writes over its pages, or it is built anew (REINDEX).",
    "Building them anew for a few memories would read everybody's vectors in that part of the table.",
)
DATABASE_BACKUPS: Final = Stay(
    "The same vectors, keyed hashes, times and sizes in backups of the database that were made before.",
    "Until the operator's retention of backups has run out.",
    "Backups are not changed. A restore is purged again by the ledger.",
)
OUTBOUND: Final = Stay(
    "Veiled digests and sizes of the requests that left for providers.",
    "Until newer requests have taken their places (500 are kept), or the owner is purged.",
    "They prove what left, and hold no text.",
)
BUS: Final = Stay(
    "Messages of the bus that say the same as what was erased, where it was not accepted from them.",
    "A day after they were published.",
    "A message is its publisher's own statement, sealed like every text, and gone by itself.",
)
HISTORY: Final = Stay(
    "The agent's random id as the one who changed a memory, decided a review or merged entities that stay.",
    "Until these are erased.",
    "It names no row any more.",
)
OTHERS: Final = Stay(
    "Memories that others have stated too.",
    "Until they are erased.",
    "Somebody else speaks for them; what was purged is no longer named as a source of theirs.",
)
ALWAYS: Final = (
    AUDIT, LEDGER, SEALED, FREED_PAGES, VECTOR_INDEXES, DATABASE_BACKUPS, OUTBOUND, PROVIDERS, BUS,
)  # fmt: skip


def stays_of(subject: str) -> tuple[Stay, ...]:
    """Say what a purge of a part leaves, and why.

    Args:
        subject: what was purged, one of `PurgeSubject` but the owner.
    """
    more = {PurgeSubject.MEMORY: (), PurgeSubject.SOURCE: (OTHERS,), PurgeSubject.AGENT: (OTHERS, HISTORY)}
    return (*ALWAYS, *more[PurgeSubject(subject)])
