"""Single values of an archive's lines, checked: whoever made them may have meant harm."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from memory.errors import InvalidInput
from memory.models import Kind
from memory.services.archive.reading import Record
from memory.services.past import MOMENTS
from memory.text import limits

MOST_COUNT: Final = 2_000_000_000
WORD: Final = re.compile(r"[a-z0-9][a-z0-9 _:.-]{0,31}", re.ASCII)


def moment_of(line: Record, name: str, *, latest: datetime) -> datetime:
    """Read a moment that cannot lie after another one; that one where the line has none."""
    value = line.get(name)
    return latest if value is None else min(limits.checked_moment(value, field=name), latest)


def optional_moment(line: Record, name: str, *, latest: datetime) -> datetime | None:
    """Read a moment that a line may lack."""
    return None if line.get(name) is None else moment_of(line, name, latest=latest)


def count_of(line: Record, name: str, *, least: int = 0) -> int:
    """Read a whole number; raises InvalidInput with the code `field.type`."""
    value = line.get(name, least)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST_COUNT:
        raise InvalidInput(f"{name} is a whole number.", code="field.type", field=name)
    return value


def word_of(value: Any, *, otherwise: str) -> str:
    """Read a reason, which is a word or two; another one where it is anything else."""
    return value if isinstance(value, str) and WORD.fullmatch(value) else otherwise


def is_former(name: str, value: Any) -> bool:
    """Tell whether a field of a memory can have had a value, as a version keeps it."""
    if name in MOMENTS:
        return _is_moment(value) or (value is None and name != "occurred_at")
    if name in ("importance", "confidence"):
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    if name in ("tags", "topics", "pii_kinds"):
        return value is None or (isinstance(value, list) and all(isinstance(one, str) for one in value))
    if name == "metadata":
        return value is None or isinstance(value, dict)
    if name == "kind":
        return isinstance(value, str) and value in Kind.values
    if name == "category":
        return isinstance(value, str) and value in limits.CATEGORIES
    return isinstance(value, str) or (value is None and name == "source")


def _is_moment(value: Any) -> bool:
    """Tell whether a value is a moment as versions keep them, with its zone."""
    try:
        return datetime.fromisoformat(value).utcoffset() is not None and bool(limits.checked_moment(value))
    except (TypeError, ValueError, InvalidInput):
        return False
