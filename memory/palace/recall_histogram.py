"""When the memories that were found happened: bars by week, month, quarter or year, each of which narrows the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.palace.dates import day_words

MOST_BARS: Final = 14
HEIGHT: Final = 40


@dataclass(frozen=True, slots=True)
class Bar:
    """One span of time: its words, how many memories, its filter, and its place in a picture 40 high, in per cent."""

    said: str
    count: int
    value: str
    title: str
    x: str
    width: str
    y: str
    height: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bars, oldest first, and the words for the ends of the axis."""

    bars: list[Bar]
    first: str
    last: str
    unit: str


def _week(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _months(size: int) -> tuple[Callable[[date], date], Callable[[date], date]]:
    """Give what begins a span of some months that divide a year, and what begins the next one."""

    def begin(day: date) -> date:
        return date(day.year, (day.month - 1) // size * size + 1, 1)

    def following(day: date) -> date:
        months = day.month - 1 + size
        return date(day.year + months // 12, months % 12 + 1, 1)

    return begin, following


Span = tuple[str, Callable[[date], date], Callable[[date], date]]
UNITS: Final[Sequence[Span]] = (
    ("week", _week, lambda day: day + timedelta(days=7)),
    ("month", *_months(1)),
    ("quarter", *_months(3)),
    ("year", *_months(12)),
)


def histogram(moments: Sequence[datetime]) -> Histogram | None:
    """Count moments by the finest span of time of which at most 14 lie between them, years where none does.

    Of more than 14 years the latest are shown. None where all lie within one span.
    """
    days = sorted(moment.astimezone(UTC).date() for moment in moments)
    if not days:
        return None
    unit, begin, following = next((one for one in UNITS if len(_spans(days, one[1], one[2])) <= MOST_BARS), UNITS[-1])
    spans = _spans(days, begin, following)[-MOST_BARS:]
    if len(spans) < 2:
        return None
    counts = Counter(begin(day) for day in days)
    most = max(counts[start] for start in spans)
    wide = 100 / len(spans)
    bars = []
    for place, start in enumerate(spans):
        count, end = counts[start], following(start) - timedelta(days=1)
        high = HEIGHT * count / most
        said = _said(unit, start, end)
        found = ngettext("%(count)s memory", "%(count)s memories", count) % {"count": count}
        bars.append(
            Bar(
                said=said,
                count=count,
                value=f"{start.isoformat()}..{end.isoformat()}",
                title=f"{said}: {found}",
                x=f"{place * wide + wide * 0.08:.2f}%",
                width=f"{wide * 0.84:.2f}%",
                y=f"{HEIGHT - high:.2f}",
                height=f"{high:.2f}",
            )
        )
    units = {"week": _("by week"), "month": _("by month"), "quarter": _("by quarter"), "year": _("by year")}
    return Histogram(bars, bars[0].said, bars[-1].said, units[unit])


def _spans(days: Sequence[date], begin: Callable[[date], date], following: Callable[[date], date]) -> list[date]:
    found = [begin(days[0])]
    while (after := following(found[-1])) <= days[-1]:
        found.append(after)
    return found


def _said(unit: str, start: date, end: date) -> str:
    if unit == "year":
        return str(start.year)
    if unit == "month":
        return date_format(start, "F Y")
    if unit == "quarter":
        return _("%(first)s to %(last)s") % {"first": date_format(start, "M Y"), "last": date_format(end, "M Y")}
    return _("week of %(day)s") % {"day": day_words(start)}
