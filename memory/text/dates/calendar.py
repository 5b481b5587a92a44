"""Arithmetic on days, weeks, months, seasons and years. Weeks begin on Monday; seasons are the northern ones by month.

A date that the calendar does not have raises ValueError or OverflowError.
"""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from enum import IntEnum
from fractions import Fraction

from memory.text.dates.spans import Days

DAY = timedelta(days=1)


class Unit(IntEnum):
    """A unit of time that phrases count in."""

    MINUTE = 0
    HOUR = 1
    DAY = 2
    WEEK = 3
    WEEKEND = 4
    FORTNIGHT = 5
    MONTH = 6
    QUARTER = 7
    YEAR = 8
    DECADE = 9


MONTHS_IN: dict[Unit, int] = {Unit.MONTH: 1, Unit.QUARTER: 3, Unit.YEAR: 12, Unit.DECADE: 120}
DAYS_IN: dict[Unit, int] = {Unit.DAY: 1, Unit.WEEK: 7, Unit.WEEKEND: 7, Unit.FORTNIGHT: 14}


def one_day(day: date) -> Days:
    """Give a single day."""
    return Days(day, day + DAY)


def month(year: int, number: int) -> Days:
    """Give a month; the number may run over the ends of the year."""
    return Days(_first_of(year * 12 + number - 1), _first_of(year * 12 + number))


def quarter(year: int, number: int) -> Days:
    """Give a quarter of a year, counted from 1."""
    return Days(month(year, 3 * number - 2).start, month(year, 3 * number).end)


def half(year: int, number: int) -> Days:
    """Give a half of a year, counted from 1."""
    return Days(month(year, 6 * number - 5).start, month(year, 6 * number).end)


def years(first: int, count: int = 1) -> Days:
    """Give whole years."""
    return Days(date(first, 1, 1), date(first + count, 1, 1))


def season(year: int, number: int) -> Days:
    """Give a season, from 1 for spring (March to May) to 4 for winter, which begins in December of the year."""
    return Days(month(year, 3 * number).start, month(year, 3 * number + 2).end)


def at_offset(unit: Unit, reference: date, offset: int) -> Days:
    """Give the week, month and so on that lies so many units after the one that a day is in."""
    if unit in DAYS_IN:
        length = DAYS_IN[unit]
        if unit is Unit.DAY:
            return one_day(reference + offset * DAY)
        monday = reference - reference.weekday() * DAY + offset * length * DAY
        if unit is Unit.WEEKEND:
            return Days(monday + 5 * DAY, monday + 7 * DAY)
        return Days(monday, monday + length * DAY)
    length = MONTHS_IN[unit]
    index = reference.year * 12 + reference.month - 1
    first = (index // length + offset) * length
    return Days(_first_of(first), _first_of(first + length))


def away(unit: Unit, reference: date, least: int, most: int) -> Days:
    """Give what "so many units before or after" means: the precision is the unit's.

    Days are exact, weeks are seven days around the day, months and years are those of the calendar.

    Args:
        unit: day or longer.
        reference: the day counted from.
        least: the smaller number of units, below zero for the past.
        most: the larger one, equal to the smaller unless the phrase is vague ("a few").
    """
    if unit in (Unit.WEEK, Unit.FORTNIGHT):
        length = DAYS_IN[unit]
        return Days(reference + (least * length - 3) * DAY, reference + (most * length + 4) * DAY)
    if unit is Unit.DECADE:
        return Days(date(reference.year + 10 * least - 2, 1, 1), date(reference.year + 10 * most + 3, 1, 1))
    return Days(at_offset(unit, reference, least).start, at_offset(unit, reference, most).end)


def rolling(unit: Unit, reference: date, count: int) -> Days:
    """Give so many units up to the end of a day, or from it on when the count is below one."""
    if unit in DAYS_IN:
        other = reference - count * DAYS_IN[unit] * DAY
    else:
        index = reference.year * 12 + reference.month - 1 - count * MONTHS_IN[unit]
        first = _first_of(index)
        other = first.replace(day=min(reference.day, calendar.monthrange(first.year, first.month)[1]))
    return Days(other, reference + DAY) if count > 0 else Days(reference, other + DAY)


def weekday(number: int, reference: date, offset: int) -> Days:
    """Give a day of the week (0 is Monday): before the reference, in its week, or after it.

    Args:
        number: which day.
        reference: the day it is reckoned from.
        offset: -1 for the last one before, 0 for the one of the same week, 1 for the next one; 2 and -2 go on.
    """
    if offset == 0:
        return one_day(reference + (number - reference.weekday()) * DAY)
    if offset < 0:
        back = (reference.weekday() - number) % 7 or 7
        return one_day(reference - (back - 7 * (offset + 1)) * DAY)
    ahead = (number - reference.weekday()) % 7 or 7
    return one_day(reference + (ahead + 7 * (offset - 1)) * DAY)


def month_near(number: int, reference: date, offset: int | None) -> int:
    """Give the year of a month: the last such month up to now (None), before this one (-1), of the year, or to come."""
    year = reference.year
    if offset is None:
        return year if number <= reference.month else year - 1
    if offset == 0:
        return year
    if offset < 0:
        return (year if number < reference.month else year - 1) + offset + 1
    return (year if number > reference.month else year + 1) + offset - 1


def season_near(number: int, reference: date, offset: int | None) -> int:
    """Give the year of a season: the last one that has begun (None), has ended (-1), of the year, or is to come."""
    # The winter of a January began in the year before.
    year = reference.year - (1 if number == 4 and reference.month < 3 else 0)
    if offset == 0:
        return year
    if offset is None:
        return year if season(year, number).start <= reference else year - 1
    if offset < 0:
        return (year if season(year, number).end <= reference else year - 1) + offset + 1
    return (year if season(year, number).start > reference else year + 1) + offset - 1


def day_in(year: int, number: int, day: int) -> Days:
    """Give a day of a month."""
    return one_day(date(year, number, day))


def day_near(number: int, day: int, reference: date) -> int:
    """Give the last year in which a day of a month was, the reference's own day included."""
    for year in range(reference.year, reference.year - 9, -1):
        if day <= calendar.monthrange(year, number)[1] and date(year, number, day) <= reference:
            return year
    raise ValueError("no such day")


def portion(days: Days, start: Fraction, end: Fraction) -> Days:
    """Give a part of a span, in whole days and at least one."""
    length = (days.end - days.start).days
    first = days.start + int(length * start) * DAY
    return Days(first, max(first + DAY, days.start + int(length * end) * DAY))


def _first_of(index: int) -> date:
    return date(index // 12, index % 12 + 1, 1)
