"""Finds the phrases of time in a text, in any of the languages known, and resolves them against a moment."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final

from memory.text.dates.chinese import find_chinese
from memory.text.dates.lexicon import TRIGGERS
from memory.text.dates.ranges import RangeRules
from memory.text.dates.scanner import scan
from memory.text.dates.spans import Found, TimeSpan, at_midnight

MAX_CHARACTERS: Final = 20_000
"""Only so much of a text is looked at."""

_WORD = re.compile(r"[^\W\d_]+")
_FIGURES = re.compile(r"(?<!\d)(?:1[89]|2[01])\d\d(?!\d)|\d[./-]\d{1,2}[./-]\d|\b[QqHhTt][1-4]\b|['’]\d\d\b")
_HAN_TIME = re.compile(r"[年月日号號天周週星礼禮昨今季春夏秋冬先来來]")


def may_hold_dates(text: str) -> bool:
    """Tell in some microseconds whether a text can hold a phrase of time at all; seldom true without one."""
    text = text[:MAX_CHARACTERS]
    if _FIGURES.search(text) is not None:
        return True
    if not text.isascii() and _HAN_TIME.search(text) is not None:
        return True
    return not TRIGGERS.isdisjoint(_WORD.findall(text.casefold()))


def find_spans(text: str, *, reference: datetime, limit: int = 8) -> list[TimeSpan]:
    """Find the phrases of time in a text and say which spans of time they mean.

    Without a year the last such day, month or season up to the reference is meant, unless a word says that it is to
    come ("next", "kommenden"). A "week" begins on Monday, seasons are the northern ones by whole months, "two weeks
    ago" is the seven days around that day. 7/5/2023 is the fifth of July in an English text and the seventh of May in
    another; with points or hyphens between, the day stands first everywhere. Open spans ("before 2020", "until May")
    run from `EARLIEST`, those after a point end with the reference's day.

    Args:
        text: any text; only its first 20,000 characters are looked at, and the cost is linear in them.
        reference: the moment that the text speaks from, with a time zone, in which its days begin.
        limit: most spans, the first ones in the text.

    Returns:
        The spans in the order of the text. Phrases that the calendar does not have (31 February) give none.

    Raises:
        ValueError: the reference has no time zone.
    """
    if reference.tzinfo is None:
        raise ValueError("The reference needs a time zone.")
    text = text[:MAX_CHARACTERS]
    if limit < 1 or not may_hold_dates(text):
        return []
    spans = _spaced(text, reference, limit)
    if not text.isascii() and _HAN_TIME.search(text):
        spans = sorted([*spans, *find_chinese(text, reference, limit)], key=lambda one: one.offset)[:limit]
    return spans


def _spaced(text: str, reference: datetime, limit: int) -> list[TimeSpan]:
    tokens = scan(text)
    rules = RangeRules(tokens, reference)
    spans: list[TimeSpan] = []
    place = 0
    while place < len(tokens) and len(spans) < limit:
        if not rules.can_start(place):
            place += 1
            continue
        found = _tried(rules.phrase, place)
        span = None if found is None else _span(text, found, reference, tokens[place].start, tokens[found.end - 1].end)
        if found is None or span is None:
            place += 1
        else:
            spans.append(span)
            place = found.end
    return spans


def _tried(rule: Callable[[int], Found | None], place: int) -> Found | None:
    try:
        return rule(place)
    except (ValueError, OverflowError):
        # What the calendar does not have is no date: 31 February, nine thousand years ago.
        return None


def _span(text: str, found: Found, reference: datetime, start: int, end: int) -> TimeSpan | None:
    zone = reference.tzinfo
    assert zone is not None
    try:
        starts_at, ends_at = at_midnight(found.days.start, zone), at_midnight(found.days.end, zone)
    except OverflowError:
        # The first or last days of the calendar may not be had in another time zone.
        return None
    return TimeSpan(starts_at, ends_at, text[start:end], start, found.relative) if starts_at < ends_at else None
