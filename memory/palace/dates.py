"""Moments as people read them: how long ago, and the exact time for those who want it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

DAY: Final = 86_400
UNITS: Final = (
    (365.25 * DAY, "year"),
    (30.44 * DAY, "month"),
    (7 * DAY, "week"),
    (DAY, "day"),
    (3600, "hour"),
    (60, "minute"),
)
INPUT_FORMAT: Final = "%Y-%m-%dT%H:%M"


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment in three forms: for machines, roughly and exactly."""

    iso: str
    relative: str
    absolute: str


def moment(value: datetime, now: datetime) -> Moment:
    """Describe a moment as seen from another."""
    value = value.astimezone(UTC)
    return Moment(value.isoformat(timespec="seconds"), relative(value, now), f"{value:%Y-%m-%d %H:%M} UTC")


def optional_moment(value: datetime | None, now: datetime) -> Moment | None:
    """Describe a moment, or nothing where there is none."""
    return None if value is None else moment(value, now)


def relative(value: datetime, now: datetime) -> str:
    """Say roughly how long ago a moment was, or how far ahead it lies: `3 days ago`, `in 2 hours`."""
    distance = now - value
    seconds = abs(distance.total_seconds())
    if seconds < 60:
        return "just now" if distance >= timedelta(0) else "in a moment"
    size, unit = next(entry for entry in UNITS if seconds >= entry[0])
    count = int(seconds // size)
    words = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{words} ago" if distance > timedelta(0) else f"in {words}"


def for_input(value: datetime | None) -> str:
    """Write a moment as a date-and-time field takes it, in UTC and to the minute."""
    return "" if value is None else value.astimezone(UTC).strftime(INPUT_FORMAT)
