"""The time, through a port that tests can set."""

from __future__ import annotations

from datetime import UTC, datetime

from memory.ports import Clock


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Give the present moment in UTC."""
        return datetime.now(UTC)


_clock: Clock = SystemClock()


def now() -> datetime:
    """Give the present moment of this process's clock, aware, in UTC."""
    return _clock.now()


def set_clock(clock: Clock | None) -> None:
    """Replace the clock of this process; None gives the machine's back."""
    global _clock
    _clock = clock or SystemClock()
