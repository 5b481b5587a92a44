"""The registry of what an archive holds: each app says what it keeps of an owner, and what it leaves out and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import models
from django.db.models import Q, QuerySet

from memory.services.actors import Actor

Rows = QuerySet[Any]
Readable = Callable[[Rows, Actor], Rows]


@dataclass(frozen=True, slots=True)
class Part:
    """One file of an archive: the rows of one table, or of a table that hangs on another one.

    Attributes:
        name: of the file, without `.jsonl`.
        model: the table.
        about: what a line is, for people.
        readable: which rows an agent gets; None for what only a person gets.
        order: the columns by which the lines are ordered, unique together. What hangs on a memory, an entity or the
            like stands in the order of those, so that both files can be read side by side.
        without: columns that are left out: keyed hashes and digests, which say nothing without this owner's keys.
        only: a further condition.
        read: attributes of the rows that stand in the place of columns which say nothing without the owner's keys.
    """

    name: str
    model: type[models.Model]
    about: str
    readable: Readable | None = None
    order: tuple[str, ...] = ("id",)
    without: frozenset[str] = frozenset()
    only: Q = field(default_factory=Q)
    read: tuple[str, ...] = ()


_parts: Final[dict[str, Part]] = {}
_left_out: Final[dict[type[models.Model], str]] = {}
_announced: Final[list[Callable[[], None]]] = []


def announce_parts(load: Callable[[], None]) -> None:
    """Have an app's parts registered when somebody first asks for them; for `AppConfig.ready`."""
    _announced.append(load)


def register(*parts: Part, left_out: Mapping[type[models.Model], str] | None = None) -> None:
    """Add parts, in the order in which they stand in archives, and tables that no archive holds, with the reason."""
    for part in parts:
        _parts[part.name] = part
    _left_out.update(left_out or {})


def parts() -> tuple[Part, ...]:
    """List the parts of all apps."""
    _load()
    return tuple(_parts.values())


def left_out() -> Mapping[type[models.Model], str]:
    """Give the tables of all apps that no archive holds, with the reason; an archive's manifest repeats it."""
    _load()
    return _left_out


def _load() -> None:
    while _announced:
        _announced.pop(0)()
