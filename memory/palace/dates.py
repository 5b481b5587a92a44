"""Moments as people read them: how long ago, and the exact time for those who want it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext_lazy, pgettext

DAY: Final = 86_400
UNITS: Final = (365.25 * DAY, 30.44 * DAY, 7 * DAY, DAY, 3600, 60)
"""Seconds of a year, a month, a week, a day, an hour and a minute."""

# In a sentence of their own, since languages bend the words after "before" and "in".
AGO: Final = (
    ngettext_lazy("%(count)s year ago", "%(count)s years ago", "count"),
    ngettext_lazy("%(count)s month ago", "%(count)s months ago", "count"),
    ngettext_lazy("%(count)s week ago", "%(count)s weeks ago", "count"),
    ngettext_lazy("%(count)s day ago", "%(count)s days ago", "count"),
    ngettext_lazy("%(count)s hour ago", "%(count)s hours ago", "count"),
    ngettext_lazy("%(count)s minute ago", "%(count)s minutes ago", "count"),
)
AHEAD: Final = (
    ngettext_lazy("in %(count)s year", "in %(count)s years", "count"),
    ngettext_lazy("in %(count)s month", "in %(count)s months", "count"),
    ngettext_lazy("in %(count)s week", "in %(count)s weeks", "count"),
    ngettext_lazy("in %(count)s day", "in %(count)s days", "count"),
    ngettext_lazy("in %(count)s hour", "in %(count)s hours", "count"),
    ngettext_lazy("in %(count)s minute", "in %(count)s minutes", "count"),
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
        return _("just now") if distance >= timedelta(0) else _("in a moment")
    place, size = next((place, size) for place, size in enumerate(UNITS) if seconds >= size)
    words = (AGO if distance > timedelta(0) else AHEAD)[place]
    return str(words % {"count": int(seconds // size)})


def day_words(value: date) -> str:
    """Write a day with its month as a word, as the language of the page does: `3 November 2026`."""
    return date_format(value, pgettext("how a day is written", "j F Y"))


def short_day(value: date) -> str:
    """Write a day of a year that is known: `3 Nov`."""
    return date_format(value, pgettext("how a day is written", "j M"))


def for_input(value: datetime | None) -> str:
    """Write a moment as a date-and-time field takes it, in UTC and to the minute."""
    return "" if value is None else value.astimezone(UTC).strftime(INPUT_FORMAT)
