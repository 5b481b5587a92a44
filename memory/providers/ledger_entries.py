"""Entries of the ledger of purges as JSON and back; every ledger keeps this one form."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.errors import KeysUnavailable
from memory.ports.ledger import PurgeEntry

FORMAT: Final = 1
DAMAGED: Final = (
    "An entry of the purge ledger is damaged, so that what it names cannot be erased again. Nothing was changed. "
    "Restore the key vault's place from its own backup."
)


def written(entry: PurgeEntry) -> dict[str, Any]:
    """Write an entry as a JSON object."""
    return {
        "format": FORMAT,
        "purge": str(entry.purge_id),
        "subject": entry.subject,
        "salt": entry.salt.hex(),
        "owner": entry.owner.hex(),
        "erased": [one.hex() for one in entry.erased],
        "at": entry.at.isoformat(),
    }


def read(value: Mapping[str, Any]) -> PurgeEntry:
    """Read what `written` gave; raises KeysUnavailable for anything else."""
    try:
        if value["format"] != FORMAT:
            raise KeysUnavailable("The purge ledger has a form that this version does not know. Nothing was changed.")
        return PurgeEntry(
            purge_id=UUID(value["purge"]),
            subject=str(value["subject"]),
            salt=bytes.fromhex(value["salt"]),
            owner=bytes.fromhex(value["owner"]),
            erased=tuple(bytes.fromhex(one) for one in value["erased"]),
            at=datetime.fromisoformat(value["at"]),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise KeysUnavailable(DAMAGED) from error
