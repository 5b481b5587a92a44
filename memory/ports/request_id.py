"""The id of the request that is being answered, which logs, answers and the jobs that follow from it carry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final
from uuid import uuid4

HEADER: Final = "X-Request-ID"
# Short and plain, since it is written into logs as it comes.
_ACCEPTED: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

_current: ContextVar[str] = ContextVar("loci_request_id", default="")


def current_request_id() -> str:
    """Give the id of the request or job under way; empty outside."""
    return _current.get()


def accepted_request_id(given: str | None) -> str:
    """Take over the id that a client gives, if it is a short plain word; else make one."""
    return given if given and _ACCEPTED.fullmatch(given) else uuid4().hex


@contextmanager
def request_id(value: str) -> Iterator[None]:
    """Run the block as part of the request with this id."""
    token = _current.set(value)
    try:
        yield
    finally:
        _current.reset(token)
