"""Entries of metadata as words that can be hashed and filtered by: a dotted name and one plain value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

MAX_ENTRIES: Final = 50
MAX_DEPTH: Final = 3
MAX_CHARACTERS: Final = 200
"""Of a name, and of a value that is text; longer ones are kept and cannot be filtered by."""

# Whole numbers up to here are exact as floating-point numbers too, so 7 and 7.0 are the same value.
EXACT: Final = 2**53
LARGEST: Final = 1e300


def entry(name: str, value: Any) -> str | None:
    """Write an entry in its one form, `name=value` with the value as JSON; None for one that cannot be filtered by.

    Args:
        name: names of nested objects joined by dots.
        value: text, a number or a truth value; 7 and 7.0 are the same, 7 and "7" are not.
    """
    if not name or len(name) > MAX_CHARACTERS or not isinstance(value, str | int | float):
        return None
    if (len(value) > MAX_CHARACTERS) if isinstance(value, str) else not abs(value) < LARGEST:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        value = int(value)
    return f"{name}={json.dumps(value, ensure_ascii=False)}"


def entries(metadata: Mapping[str, Any] | None) -> tuple[list[str], bool]:
    """Give the entries of a memory's metadata, at most 50, and whether there were more.

    Objects are entered to a depth of three names; lists, nulls and long values are passed over.
    """
    found = list(islice(dict.fromkeys(_walk(metadata or {}, "", 1)), MAX_ENTRIES + 1))
    return found[:MAX_ENTRIES], len(found) > MAX_ENTRIES


def _walk(values: Mapping[str, Any], prefix: str, depth: int) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            if depth < MAX_DEPTH:
                yield from _walk(value, f"{prefix}{name}.", depth + 1)
        elif (written := entry(f"{prefix}{name}", value)) is not None:
            yield written
