"""Catches every statement that a block sends, whoever sends it: Django's cursors, and the driver's own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import psycopg
from psycopg import sql

Caught = dict[str, str]
_METHODS = ("execute", "executemany", "copy", "stream")


@contextmanager
def catching(into: Caught, where: Callable[[], str] = lambda: "") -> Iterator[Caught]:
    """Put each statement into a dictionary, with where it was first seen.

    Every cursor of the driver comes from the two classes whose methods are watched here, Django's among them.

    Args:
        into: by the statement's text, with its parameters left out.
        where: says what is being done at the moment.
    """
    with ExitStack() as stack:
        for kind in (psycopg.Cursor, psycopg.AsyncCursor):
            for name in _METHODS:
                stack.enter_context(patch.object(kind, name, _watched(getattr(kind, name), into, where)))
        yield into


def _watched(method: Any, into: Caught, where: Callable[[], str]) -> Any:
    @functools.wraps(method)
    def send(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        into.setdefault(_text(query, cursor), where())
        return method(cursor, query, *args, **kwargs)

    return send


def _text(query: Any, cursor: Any) -> str:
    if isinstance(query, sql.Composable):
        return query.as_string(cursor)
    return query.decode() if isinstance(query, bytes) else str(query)
