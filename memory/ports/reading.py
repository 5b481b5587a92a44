"""Where the database is read from: from itself, or within a block from a replica of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections

REPLICA: Final = "replica"
"""The alias of the replica's connection, where one is configured."""

_place: ContextVar[str] = ContextVar("loci_reading_place", default=DEFAULT_DB_ALIAS)


def reading_place() -> str:
    """Give the alias of the connection that is read from here."""
    return _place.get()


@contextmanager
def reading_from(alias: str) -> Iterator[None]:
    """Have everything in the block read over another connection: querysets, owners' scopes and `reading`."""
    token = _place.set(alias)
    try:
        yield
    finally:
        _place.reset(token)


class _Reading:
    """The connection that is read from here, for statements in SQL; used as `django.db.connection` is."""

    def __getattr__(self, name: str) -> Any:
        return getattr(connections[_place.get()], name)


reading: Final = _Reading()
"""What reads and may do so on a replica takes this in the place of `django.db.connection`."""
