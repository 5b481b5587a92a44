"""What may come in: checks of texts, queries, moments and categories. Nothing is ever altered on the way."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime
from typing import Final

from memory.errors import InvalidInput, TooLarge
from memory.text.stopwords import word_set
from memory.text.tokens import token_count

MAX_CONTENT_BYTES: Final = 256 * 1024
"""Bytes of UTF-8 that one stored text may have."""

MAX_QUERY_TOKENS: Final = 500
"""Words (bigrams, for scripts without spaces) that one query may have."""

MAX_QUERY_BYTES: Final = 32 * 1024
"""Bytes of UTF-8 that one query may have: 500 long words and some room, so that one endless word is refused too."""

MAX_CATEGORY_LENGTH: Final = 64
"""Characters of a category's name."""

EARLIEST: Final = datetime(1900, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""First moment after the accepted range."""

DEFAULT_CATEGORY: Final = "general"
CATEGORIES: Final[frozenset[str]] = word_set(
    "general preference instruction context fact project person technical task_result session observation goal skill "
    "relationship temporal emotional creative system "
    "correction feedback summary conversation insight error_log procedure"
)
"""What a memory can be about: the 18 of each of Engram's two published lists."""

_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Zero-width and filler characters that show nothing although Unicode calls some of them letters or marks.
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Zs", "Zl", "Zp"})


def checked_text(
    text: object, *, field: str = "content", max_bytes: int = MAX_CONTENT_BYTES, blank: bool = False
) -> str:
    """Check a text that is to be stored and give it back unchanged.

    Args:
        text: what came in.
        field: the name of the input, for the error.
        max_bytes: most bytes of UTF-8.
        blank: whether it may be empty or show nothing.

    Returns:
        The same text.

    Raises:
        InvalidInput: `field.type` (no string), `text.empty` (nothing visible), `text.nul`, `text.surrogate` (half a
            surrogate pair), `text.control` (C0 but tab and line ends, DEL, C1).
        TooLarge: `text.too_large`; nothing else is looked at then.
    """
    checked = _string(text, field)
    size = _byte_length(checked)
    if size > max_bytes:
        raise TooLarge(
            f"The text in '{field}' has {size} bytes; {max_bytes} are the limit. Split it up.",
            code="text.too_large",
            field=field,
            limit=max_bytes,
            size=size,
        )
    _check_characters(checked, field, blank=blank)
    return checked


def checked_query(query: object, *, field: str = "query") -> str:
    """Check a query and give it back unchanged.

    Returns:
        The same query.

    Raises:
        InvalidInput: the codes of `checked_text`, and `query.too_long` beyond 500 words or 32 KiB.
    """
    checked = _string(query, field)
    if _byte_length(checked) > MAX_QUERY_BYTES or token_count(checked, stop_after=MAX_QUERY_TOKENS) > MAX_QUERY_TOKENS:
        raise InvalidInput(
            f"The query is longer than {MAX_QUERY_TOKENS} words or {MAX_QUERY_BYTES} bytes. Nothing was searched. "
            "Ask with fewer words.",
            code="query.too_long",
            field=field,
            limit=MAX_QUERY_TOKENS,
        )
    _check_characters(checked, field)
    return checked


def checked_moment(value: object, *, field: str = "occurred_at") -> datetime:
    """Check a moment and give it in UTC.

    Args:
        value: a datetime, aware or naive, or an ISO 8601 string; what bears no zone is read as UTC, a bare date as
            its midnight.
        field: the name of the input, for the error.

    Raises:
        InvalidInput: `date.invalid` (no moment), `date.out_of_range` (before 1900 or from 2200 on).
    """
    moment = _moment(value, field)
    try:
        moment = moment.replace(tzinfo=UTC) if moment.utcoffset() is None else moment.astimezone(UTC)
    except OverflowError:
        raise _out_of_range(field) from None
    if not EARLIEST <= moment < LATEST:
        raise _out_of_range(field)
    return moment


def normalise_category(name: str | None) -> tuple[str, bool]:
    """Bring a category's name to the one of the list.

    Args:
        name: any spelling in case, spaces and hyphens; None and blanks mean the default.

    Returns:
        The category, and whether the name was known. An unknown one becomes `general`, and the caller says so.

    Raises:
        InvalidInput: `category.too_long`, above 64 characters.
    """
    if name is None or not name.strip():
        return DEFAULT_CATEGORY, True
    if len(name) > MAX_CATEGORY_LENGTH:
        raise InvalidInput(
            f"A category's name has at most {MAX_CATEGORY_LENGTH} characters.",
            code="category.too_long",
            field="category",
            limit=MAX_CATEGORY_LENGTH,
        )
    key = re.sub(r"[\s_-]+", "_", unicodedata.normalize("NFKC", name).strip().casefold())
    return (key, True) if key in CATEGORIES else (DEFAULT_CATEGORY, False)


def storable(text: str) -> str:
    """Give a text with a space for each character that `checked_text` refuses; for texts that nobody can send anew."""
    return _CONTROL.sub(" ", _SURROGATE.sub(" ", text.replace("\x00", " ")))


def is_blank(text: str) -> bool:
    """Tell whether a text shows nothing: white space, zero-width and other invisible characters only."""
    if text[:1].isalnum() and text[0] not in _INVISIBLE:
        return False
    return all(_shows_nothing(char) for char in text)


def without_invisible(text: str) -> str:
    """Give a text without the characters that show nothing and are no white space: control, format and fillers."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for char in text if char.isspace() or not _shows_nothing(char))


def _shows_nothing(char: str) -> bool:
    return (
        char.isspace()
        or char in _INVISIBLE
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        or unicodedata.category(char) in _INVISIBLE_CATEGORIES
    )


def _string(text: object, field: str) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"'{field}' has to be text.", code="field.type", field=field)
    return text


def _byte_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _check_characters(text: str, field: str, *, blank: bool = False) -> None:
    """Refuse characters that no text should have. The most telling reason comes first."""
    if "\x00" in text:
        raise InvalidInput(
            f"'{field}' holds a NUL character, which cannot be stored.",
            code="text.nul",
            field=field,
            position=text.index("\x00"),
        )
    if found := _SURROGATE.search(text):
        raise InvalidInput(
            f"'{field}' holds half of a surrogate pair, which is no character. Send valid Unicode.",
            code="text.surrogate",
            field=field,
            position=found.start(),
        )
    if found := _CONTROL.search(text):
        raise InvalidInput(
            f"'{field}' holds a control character other than tab and line ends.",
            code="text.control",
            field=field,
            position=found.start(),
        )
    if not blank and is_blank(text):
        raise InvalidInput(f"'{field}' is empty or shows nothing.", code="text.empty", field=field)


def _moment(value: object, field: str) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value.strip())
        except ValueError:
            raise _no_moment(field) from None
    raise _no_moment(field)


def _no_moment(field: str) -> InvalidInput:
    return InvalidInput(
        f"'{field}' is no moment. Write it as ISO 8601, for example 2026-01-02T15:04:05Z.",
        code="date.invalid",
        field=field,
    )


def _out_of_range(field: str) -> InvalidInput:
    return InvalidInput(
        f"'{field}' lies outside the years {EARLIEST.year} to {LATEST.year - 1}.",
        code="date.out_of_range",
        field=field,
    )
