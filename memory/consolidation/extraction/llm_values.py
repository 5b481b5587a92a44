"""Values of a model's answer, which can be anything, as what they are meant to be."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from memory.errors import InvalidInput, TooLarge
from memory.graph.labels import checked_label, preferred
from memory.models import EntityType
from memory.text.limits import checked_moment, is_blank, normalise_category

LONGEST_STATEMENT: Final = 280
LONGEST_NAME: Final = 200
MOST_WORDS: Final = 10

_UNWRITABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_PARTIAL_DATE: Final = re.compile(r"(\d{4})(?:-(\d{2}))?")
_TYPES: Final[Mapping[str, EntityType]] = {
    **dict.fromkeys(("human", "user", "people", "individual", "contact", "name", "character"), EntityType.PERSON),
    **dict.fromkeys(
        ("organisation", "org", "company", "business", "team", "institution", "group", "employer", "brand"),
        EntityType.ORGANIZATION,
    ),
    **dict.fromkeys(
        ("software", "library", "language", "product", "framework", "technology", "app", "device", "service"),
        EntityType.TOOL,
    ),
    **dict.fromkeys(("link", "website", "web address", "uri", "site"), EntityType.URL),
    **dict.fromkeys(("subject", "theme", "interest", "field", "hobby"), EntityType.TOPIC),
    **dict.fromkeys(("repository", "repo", "initiative", "product launch"), EntityType.PROJECT),
}
_KINDS: Final = frozenset({"fact", "preference", "decision", "instruction"})


def line(value: Any, *, most: int = LONGEST_STATEMENT) -> str:
    """Give a text in one line, without what cannot be stored; one that is longer is cut and ends with an ellipsis.

    Anything but a text, and a text that shows nothing, gives an empty one.
    """
    if not isinstance(value, str):
        return ""
    text = " ".join(_UNWRITABLE.sub(" ", value[: 8 * most]).split())
    if is_blank(text):
        return ""
    return text if len(text) <= most else f"{text[:most].rstrip()}…"


def name(value: Any) -> str:
    """Give the name of an entity; one that is too long to be a name gives an empty one."""
    text = line(value, most=LONGEST_NAME + 1)
    folded = unicodedata.normalize("NFKC", text).casefold()
    return text if len(text) <= LONGEST_NAME and len(folded) <= LONGEST_NAME else ""


def share(value: Any, default: float) -> float:
    """Give a number from 0 to 1; one beyond is the nearest of these, and what is no number is the default."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    try:
        number = float(value)
    except OverflowError:
        return default
    return default if math.isnan(number) else min(1.0, max(0.0, number))


def entity_type(value: Any) -> str:
    """Give one of the seven types; a word for another sort of thing becomes the nearest, or a concept."""
    word = line(value, most=40).casefold()
    return str(word if word in EntityType.values else _TYPES.get(word, EntityType.CONCEPT))


def kind(value: Any) -> str:
    """Give a kind of statement; an unknown one is a fact."""
    word = line(value, most=40).casefold()
    return word if word in _KINDS else "fact"


def category(value: Any) -> str:
    """Give a category; an unknown one is general."""
    word = line(value, most=40)
    return normalise_category(word[:40])[0]


def label(value: Any) -> str:
    """Give a label in its one spelling and for its synonyms; one that cannot be used gives an empty one."""
    try:
        return preferred(checked_label(line(value, most=100)))
    except (InvalidInput, TooLarge):
        return ""


def words(value: Any, *, most: int = MOST_WORDS, longest: int = 60) -> tuple[str, ...]:
    """Give the short texts of a list, each once; a text alone counts as a list of it."""
    listed = value if isinstance(value, list) else [value]
    found = [text for text in (line(item, most=longest + 1) for item in listed) if text and len(text) <= longest]
    return tuple({text.casefold(): text for text in reversed(found)}.values())[::-1][:most]


def moment(value: Any) -> datetime | None:
    """Read a time in ISO 8601, also a year or a month alone, which counts from its beginning.

    Raises:
        ValueError: something is told that is no time, or none between 1900 and 2200.
    """
    text = line(value, most=40)
    if not text:
        if value in (None, "", False):
            return None
        raise ValueError("This is no time.")
    partial = _PARTIAL_DATE.fullmatch(text)
    if partial:
        text = f"{partial.group(1)}-{partial.group(2) or '01'}-01"
    try:
        return checked_moment(text)
    except InvalidInput as error:
        raise ValueError("This is no time.") from error


def items(value: Any) -> list[Any]:
    """Give the items of a list; one item alone counts as a list of it, and null as an empty one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
