"""Moments, and a clock that tests set."""

from __future__ import annotations

from datetime import UTC, datetime


def day(text: str) -> datetime:
    """Give the midnight that begins a day."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class FixedClock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.moment = day("2026-03-01")

    def now(self) -> datetime:
        """Give the moment it was set to."""
        return self.moment
