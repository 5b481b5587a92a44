"""What one turn of a purge keeps in its row for the next one, read back.

Nothing signs it: it changes with every step. So what is read here counts and goes on, and decides about nothing that is
erased. What has not the form of something kept counts as nothing kept, and that work begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar
from uuid import UUID

Kept = TypeVar("Kept")


def kept(kind: type[Kept], value: Any) -> Kept:
    """Read a dataclass that was kept as JSON; one as at its beginning where anything in it has another form.

    Args:
        kind: a dataclass whose fields have defaults: numbers, words, lists of words, counts by name.
        value: what `asdict` gave.
    """
    fresh = kind()
    names = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    if not isinstance(value, Mapping) or not value.keys() <= names:
        return fresh
    if not all(_alike(one, getattr(fresh, name)) for name, one in value.items()):
        return fresh
    return kind(**value)


def counts(value: Any, *, known: Iterable[str] | None = None) -> dict[str, int]:
    """Read counts by name, without what is no count or has another name than the known ones."""
    names = None if known is None else set(known)
    if not isinstance(value, Mapping):
        return {}
    return {str(name): count for name, count in value.items() if _is_count(count) and (names is None or name in names)}


def ids(value: Any) -> tuple[UUID, ...]:
    """Read a list of ids, without what is none."""
    if not isinstance(value, list):
        return ()
    return tuple(found for one in value if isinstance(one, str) and (found := _id(one)) is not None)


def _id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _alike(value: Any, default: Any) -> bool:
    """Tell whether a value has the form of its default."""
    if isinstance(default, dict):
        return isinstance(value, dict) and all(_is_count(one) for one in value.values())
    if isinstance(default, list):
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if default is None:
        return value is None or isinstance(value, str)
    if isinstance(default, bool | str):
        return type(value) is type(default)
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
    return _is_count(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
