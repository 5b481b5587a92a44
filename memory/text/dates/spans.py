"""What is found in a text: a span of time, and its two stages before it has a time zone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from typing import Final, NamedTuple

EARLIEST: Final = date(1900, 1, 1)
"""Where a span begins that is open to the past."""
LATEST: Final = date(2100, 1, 1)
"""Where a span ends that is open to the future."""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A span of time that a phrase of a text names.

    `starts_at` and `ends_at` (the first moment after it) are in UTC; `offset` counts characters; `relative` tells that
    the phrase means another time when said at another moment.
    """

    starts_at: datetime
    ends_at: datetime
    phrase: str
    offset: int
    relative: bool


class Days(NamedTuple):
    """Whole days; `end` is the first day after them."""

    start: date
    end: date


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule read from some tokens, up to the token `end`.

    `languages` are the ones in which the words make sense together. `year` is the year where it is written, and
    `in_year` gives the same days in another year where they can be had, so that "between March and May 2024" can lend
    its year. `point` is false for what is a range or an open span already.
    """

    days: Days
    end: int
    languages: int
    relative: bool
    year: int | None = None
    in_year: Callable[[int], Days] | None = None
    point: bool = True


def at_midnight(day: date, zone: tzinfo) -> datetime:
    """Give the first moment of a day in a time zone, in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
