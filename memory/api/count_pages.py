"""Pages of lists that are ordered by a count: the place after a row is a signed cursor of the count and the id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from uuid import UUID

from django.core import signing

from memory.api.pagination import DEFAULT_LIMIT, MAX_CURSOR_LENGTH
from memory.errors import InvalidInput
from memory.services.audit.reading import showing

Place = tuple[int, UUID]
Row = TypeVar("Row")

_LARGEST: Final = 2**31 - 1


def page_by_count(
    kind: str,
    *,
    limit: int | None,
    cursor: str | None,
    fetch: Callable[[Place | None, int], list[Row]],
    position: Callable[[Row], Place],
) -> tuple[list[Row], str | None]:
    """Give one page and the cursor of the next, None on the last.

    A row whose count rises between two pages may be left out of the second or shown on both.

    Args:
        kind: names the list; a cursor of one list is refused by another.
        limit: rows on the page, 50 when left out.
        cursor: where the page before ended.
        fetch: gives at most so many rows after a place.
        position: gives the count and id of a row.

    Raises:
        InvalidInput: `cursor.invalid`.
    """
    size = limit or DEFAULT_LIMIT
    signer = signing.Signer(salt=f"loci.cursor.{kind}")
    with showing(size):
        rows = fetch(_decoded(signer, cursor), size + 1)
    if len(rows) <= size:
        return rows, None
    count, row_id = position(rows[size - 1])
    return rows[:size], signer.sign_object([count, row_id.hex])


def _decoded(signer: signing.Signer, cursor: str | None) -> Place | None:
    if cursor is None:
        return None
    try:
        if len(cursor) > MAX_CURSOR_LENGTH:
            raise ValueError
        count, row_id = signer.unsign_object(cursor)
        if not 0 <= count <= _LARGEST:
            raise ValueError
        return count, UUID(row_id)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise InvalidInput(
            "The cursor is not one that this list has given. Begin again without it.",
            code="cursor.invalid",
            field="cursor",
        ) from error
