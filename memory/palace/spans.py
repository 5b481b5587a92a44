"""Spans of time that people choose quickly, counted from a day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

QUICK: Final[Mapping[str, str | Promise]] = {
    "today": gettext_lazy("today"),
    "yesterday": gettext_lazy("yesterday"),
    "this-week": gettext_lazy("this week"),
    "last-week": gettext_lazy("last week"),
    "this-month": gettext_lazy("this month"),
    "last-month": gettext_lazy("last month"),
    "this-year": gettext_lazy("this year"),
    "last-year": gettext_lazy("last year"),
}


def quick_span(name: str, today: date) -> tuple[date, date]:
    """Give the first day of a quick choice and the day after its last; weeks begin on Monday.

    Args:
        name: one of `QUICK`.
        today: the day from which it is counted.
    """
    if name in ("today", "yesterday"):
        first = today - timedelta(days=name == "yesterday")
        return first, first + timedelta(days=1)
    if name.endswith("-week"):
        first = today - timedelta(days=today.weekday() + 7 * name.startswith("last"))
        return first, first + timedelta(days=7)
    if name.endswith("-month"):
        first = today.replace(day=1)
        if name.startswith("last"):
            first = (first - timedelta(days=1)).replace(day=1)
        return first, (first + timedelta(days=31)).replace(day=1)
    first = date(today.year - name.startswith("last"), 1, 1)
    return first, date(first.year + 1, 1, 1)
