"""Whether stored texts have lost their keys: a bounded look at versions, which opens nothing."""

from __future__ import annotations

from typing import Final, NamedTuple
from uuid import UUID

from django.db import DatabaseError, connection

from memory.crypto.keyring import keyring
from memory.errors import LociError, OwnerPurging
from memory.models import Memory, Owner, owner_scope
from memory.services.amounts import owners
from memory.services.findings import Finding
from memory.services.keys.sealed_tables import of_versions, version_parameters

MOST_OWNERS_LOOKED_AT: Final = 1_000
SAMPLE: Final = 20
REMEDY: Final = (
    "Restore a copy of the key vault from the time of the database's backup, beside the newer purge ledger, or a newer "
    "backup of the database; `python3 manage.py keys status` counts the rows. Restart then."
)
# Both ends of the order of ids, which is that of time.
SAMPLE_SQL: Final = f"""
    SELECT count(*) FILTER (WHERE {of_versions(["text"], none_of=True)}), count(*) FROM (
        (SELECT text FROM "{Memory._meta.db_table}" WHERE owner_id = %(owner)s ORDER BY id LIMIT %(sample)s)
        UNION ALL
        (SELECT text FROM "{Memory._meta.db_table}" WHERE owner_id = %(owner)s ORDER BY id DESC LIMIT %(sample)s)
    ) AS sampled
"""


class LostTexts(NamedTuple):
    """How many owners have lost texts: all of those looked at, or some."""

    whole: int
    partly: int


def owners_with_lost_texts() -> LostTexts:
    """Count owners whose memories were sealed with versions of the text key that the vault lacks.

    Reads versions of the oldest and the newest 20 memories of the first thousand owners, which takes a query for each
    owner. Those whose keys are missing altogether, and those who are purged, are left out.

    Raises:
        KeysUnavailable: the vault cannot be read.
    """
    known = keyring().vault.owners()
    looked_at = Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True)
    samples = [_sampled(owner_id) for owner_id in list(looked_at[:MOST_OWNERS_LOOKED_AT]) if owner_id in known]
    whole = sum(bool(lost) and lost == read for lost, read in samples)
    return LostTexts(whole, sum(bool(lost) for lost, _ in samples) - whole)


def lost_texts_finding() -> Finding:
    """Tell whether texts lack their keys, as after a restore of a backup from before a rotation."""
    name = "text keys"
    try:
        lost = owners_with_lost_texts()
    except (LociError, DatabaseError) as error:
        return Finding(name, "degraded", f"Texts and keys cannot be compared ({type(error).__name__}).")
    if lost.whole or lost.partly:
        return Finding(name, "failing" if lost.whole else "degraded", described(lost), REMEDY)
    return Finding(name, "ok", "The vault has the keys of the texts that were looked at.")


def described(lost: LostTexts) -> str:
    """Say in a sentence whose texts are lost, and why."""
    return (
        f"Texts of {owners(lost.whole + lost.partly)} ({lost.whole} of them as far as was looked) cannot be read: "
        "they were sealed with versions of the text key that the key vault does not have, as after a rotation."
    )


def _sampled(owner_id: UUID) -> tuple[int, int]:
    """Give how many memories of a sample have lost their key, and how many it has."""
    versions = version_parameters(sorted(keyring().vault.versions(owner_id)))
    try:
        with owner_scope(owner_id), connection.cursor() as cursor:
            cursor.execute(SAMPLE_SQL, {"owner": owner_id, "sample": SAMPLE, **versions})
            lost, read = cursor.fetchone()
            return int(lost), int(read)
    except OwnerPurging:
        return 0, 0
