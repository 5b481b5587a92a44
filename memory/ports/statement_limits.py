"""How long a single statement of the database may take: a request's at most so long, a job's at most so long.

The limit is set for the transaction that a statement belongs to (`SET LOCAL`), never for the session, so that it holds
behind a pooler as well and meets no other client. What neither a request nor a job asks has the limit of its role.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.db import OperationalError
from psycopg.errors import QueryCanceled

_limit: ContextVar[int | None] = ContextVar("loci_statement_limit", default=None)


def statement_limit_ms() -> int | None:
    """Give the most milliseconds of a statement here; None where the database's own limit is to hold."""
    return _limit.get()


def within_limit_ms(wanted: int) -> int:
    """Give a part's own most milliseconds, or the limit that holds here if that is less."""
    limit = _limit.get()
    return wanted if limit is None else min(wanted, limit)


@contextmanager
def statements_limited(seconds: float) -> Iterator[None]:
    """Run the block with a limit for each statement in an owner's scope; 0 seconds leaves the database's own."""
    token = _limit.set(max(1, round(seconds * 1000)) if seconds else None)
    try:
        yield
    finally:
        _limit.reset(token)


def was_cut_off(error: BaseException | None) -> bool:
    """Tell whether an error is that of a statement which the server ended before it was done."""
    return isinstance(error, OperationalError) and isinstance(error.__cause__, QueryCanceled)
