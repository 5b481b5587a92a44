"""A clock that a test sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from memory.services.clock import set_clock


class SetClock:
    """A clock that stands until a test moves it."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at


@contextmanager
def at(moment: datetime) -> Iterator[None]:
    """Let it be a moment for the services."""
    set_clock(SetClock(moment))
    try:
        yield
    finally:
        set_clock(None)
