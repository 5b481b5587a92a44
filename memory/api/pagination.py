"""Pages of lists: the place after a row is a signed cursor, so that rows added meanwhile move nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar
from uuid import UUID

from django.core import signing
from rest_framework.pagination import BasePagination

from memory.errors import InvalidInput
from memory.services.audit.reading import showing

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 200
MAX_CURSOR_LENGTH: Final = 400

Position = tuple[datetime, UUID]
Row = TypeVar("Row")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class KeysetPagination(BasePagination):
    """Pages of the rows that a service gives, newest first by a time and an id.

    Views hand over the service's function instead of a queryset, since services own their owner's scope.
    """

    def page(
        self,
        kind: str,
        *,
        limit: int | None,
        cursor: str | None,
        fetch: Callable[[Position | None, int], list[Row]],
        position: Callable[[Row], Position],
    ) -> tuple[list[Row], str | None]:
        """Give one page and the cursor of the next, None on the last.

        Args:
            kind: names the list; a cursor of one list is refused by another.
            limit: rows on the page, 50 when left out.
            cursor: where the page before ended.
            fetch: gives at most so many rows after a position.
            position: gives the time and id of a row.

        Raises:
            InvalidInput: `cursor.invalid`.
        """
        size = limit or DEFAULT_LIMIT
        with showing(size):
            rows = fetch(decode(kind, cursor), size + 1)
        following = encode(kind, position(rows[size - 1])) if len(rows) > size else None
        return rows[:size], following


def encode(kind: str, place: Position) -> str:
    """Write a position as a cursor."""
    moment, row_id = place
    return _signer(kind).sign_object([(moment - _EPOCH) // _MICROSECOND, row_id.hex])


def decode(kind: str, cursor: str | None) -> Position | None:
    """Read a cursor; raises InvalidInput with `cursor.invalid` unless it was made by `encode` for this list."""
    if cursor is None:
        return None
    try:
        if len(cursor) > MAX_CURSOR_LENGTH:
            raise ValueError
        microseconds, row_id = _signer(kind).unsign_object(cursor)
        return _EPOCH + microseconds * _MICROSECOND, UUID(row_id)
    except (signing.BadSignature, ValueError) as error:
        raise InvalidInput(
            "The cursor is not one that this list has given. Begin again without it.",
            code="cursor.invalid",
            field="cursor",
        ) from error


def _signer(kind: str) -> signing.Signer:
    return signing.Signer(salt=f"loci.cursor.{kind}")
