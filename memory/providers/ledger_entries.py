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
    "{place} of the purge ledger is damaged, so that what it names cannot be erased again. Nothing was changed. Take "
    "that entry from a copy of the ledger and keep all others: an older ledger does not know the last purges. Where no "
    "copy has it, move it aside, ask for the purges of its time again, and go on with `purge replay`."
)


def damaged(place: str) -> KeysUnavailable:
    """Make the error that says which entry is damaged and how to go on; `place` names it: `Line 3`."""
    return KeysUnavailable(DAMAGED.format(place=place))


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


def read(value: Mapping[str, Any], *, place: str) -> PurgeEntry:
    """Read what `written` gave; raises KeysUnavailable for anything else, which names the place."""
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
        raise damaged(place) from error
