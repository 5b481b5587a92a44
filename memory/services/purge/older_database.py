"""Telling whether a database is older than the ledger of purges, as one is that was restored by any means.

What an erasing leaves in the database is looked for: its row of `Purge`, or its event in the owner's audit. Erasings of
one owner follow one another, so the newest one of each owner speaks for those before.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from memory.errors import KeysUnavailable, OwnerPurging
from memory.models import AuditEvent, Owner, Purge, PurgeState, PurgeSubject, owner_scope
from memory.ports.ledger import PurgeEntry, hashed
from memory.providers.composition import purge_ledger
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.purge.ledger import REPLAY, salt_of


def is_older_than_ledger() -> bool:
    """Tell whether the ledger names erasings that this database knows nothing of, of owners that it holds.

    Reads the ledger once, opens one key for each owner where there are erasings outside of purges, and asks one small
    statement for the owners whom these were of.

    Raises:
        KeysUnavailable: the ledger cannot be read.
    """
    whole: dict[UUID, PurgeEntry] = {}
    newest: dict[bytes, UUID] = {}
    for entry in purge_ledger().entries():
        if entry.subject == PurgeSubject.OWNER:
            whole[entry.purge_id] = entry
        else:
            newest[entry.salt] = entry.purge_id
    if not whole and not newest:
        return False
    asked = [*whole, *newest.values()]
    states = dict(Purge.objects.filter(pk__in=asked).values_list("pk", "state"))
    owner_ids = list(Owner.objects.order_by("pk").values_list("pk", flat=True))
    # The keys are gone by then, so a purge that this database has only begun has to be finished before anything else.
    unfinished = [entry for purge_id, entry in whole.items() if states.get(purge_id) != PurgeState.DONE]
    if _holds_one_of(unfinished, owner_ids):
        return True
    unknown = {salt: purge_id for salt, purge_id in newest.items() if purge_id not in states}
    return bool(unknown) and any(_lacks(owner_id, unknown) for owner_id in owner_ids)


def note_replayed(owner_id: UUID, purge_id: UUID) -> None:
    """Record that this database knows an owner's erasings up to one that the ledger names."""
    with owner_scope(owner_id):
        if not _knows(purge_id):
            record(
                actor=REPLAY, verb="erase", object_kind="memory", object_id=purge_id, reason=REPLAY, count=0, at=now()
            )


def _holds_one_of(entries: Sequence[PurgeEntry], owner_ids: Sequence[UUID]) -> bool:
    return any(hashed(entry.salt, owner_id) == entry.owner for entry in entries for owner_id in owner_ids)


def _lacks(owner_id: UUID, unknown: dict[bytes, UUID]) -> bool:
    try:
        purge_id = unknown.get(salt_of(owner_id))
    except KeysUnavailable:
        # Whoever was purged has no keys, and is named as a whole.
        return False
    if purge_id is None:
        return False
    try:
        with owner_scope(owner_id):
            return not _knows(purge_id)
    except OwnerPurging:
        return False


def _knows(purge_id: UUID) -> bool:
    purged = Purge.objects.filter(pk=purge_id).exists()
    return purged or AuditEvent.objects.filter(object_id=purge_id).exists()
