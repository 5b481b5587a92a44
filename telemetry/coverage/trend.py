"""Turns and fallbacks day by day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np

from telemetry.coverage.turns import Turns, rate

_DAY: Final = 24 * 3600 * 1_000_000
_FIRST: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Day:
    """One day of UTC: its turns, those where nothing fitted, and their share."""

    day: date
    turns: int
    fallbacks: int
    fallback_rate: float


def trend(turns: Turns, *, since: datetime, until: datetime) -> tuple[Day, ...]:
    """Count day by day, days without turns too.

    Args:
        turns: those from `since` up to `until`.
        since, until: the window, aware; its first and last day may be parts of days.
    """
    first = (since.astimezone(UTC).date() - _FIRST).days
    last = (until.astimezone(UTC).date() - _FIRST).days
    days = np.clip(turns.at // _DAY - first, 0, last - first)
    counts = np.bincount(days, minlength=last - first + 1)
    fallbacks = np.bincount(days[turns.fallbacks], minlength=last - first + 1)
    return tuple(
        Day(
            _FIRST + timedelta(days=first + place),
            int(counts[place]),
            int(fallbacks[place]),
            rate(int(fallbacks[place]), int(counts[place])),
        )
        for place in range(last - first + 1)
    )
