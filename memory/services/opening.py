"""Opening the texts of several rows, so that one damaged row does not take the others with it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from memory.errors import KeysUnavailable
from memory.models import Memory
from memory.models.encrypted import EncryptedField

logger = logging.getLogger(__name__)

UNREADABLE: Final = "[This text does not open with its owner's key.]"


def opened(rows: Sequence[Memory]) -> list[Memory]:
    """Open the encrypted fields that were loaded with rows; a row that does not open says so in place of its text.

    Raises:
        KeysUnavailable: no row opens, which means that the keys are missing and not that a row is damaged.
    """
    damaged = [row for row in rows if not _opens(row)]
    if damaged and len(damaged) == len(rows):
        raise KeysUnavailable("None of these texts opens with its owner's key. None was shown.")
    for row in damaged:
        logger.error("memory %s does not open with its owner's key", row.pk)
        for field in _encrypted(row):
            setattr(row, field.attname, UNREADABLE if field.attname == "text" else None)
    return list(rows)


def _opens(row: Memory) -> bool:
    try:
        for field in _encrypted(row):
            getattr(row, field.attname)
    except KeysUnavailable:
        return False
    return True


def _encrypted(row: Memory) -> Iterable[EncryptedField]:
    deferred = row.get_deferred_fields()
    return [
        field for field in row._meta.local_fields if isinstance(field, EncryptedField) and field.attname not in deferred
    ]
