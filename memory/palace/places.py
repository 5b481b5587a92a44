"""Where a page of a list goes on: moment and id of the last row of the page before, written in an address."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from memory.errors import InvalidInput
from memory.text.limits import checked_moment


def written_place(created_at: datetime, row_id: UUID) -> str:
    """Write a place."""
    return f"{created_at.isoformat()}_{row_id}"


def place_of(written: str) -> tuple[datetime, UUID] | None:
    """Read a place, None for the first page; raises InvalidInput (`cursor.invalid`) for what is none."""
    if not written:
        return None
    written_moment, _, row_id = written.partition("_")
    try:
        created, found = datetime.fromisoformat(written_moment), UUID(row_id)
        if created.tzinfo is None:
            raise ValueError
        return checked_moment(created), found
    except (ValueError, InvalidInput) as error:
        raise InvalidInput(
            "This page of the list does not exist. Begin with its first page.", code="cursor.invalid"
        ) from error
