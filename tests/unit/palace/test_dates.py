"""Moments in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory.palace.dates import for_input, moment, optional_moment, relative

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(seconds=-5), "in a moment"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(hours=5, minutes=59), "5 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=-2), "in 2 days"),
        (timedelta(days=13), "1 week ago"),
        (timedelta(days=70), "2 months ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_distance_in_words(before: timedelta, words: str) -> None:
    assert relative(NOW - before, NOW) == words


def test_a_moment_is_shown_in_utc() -> None:
    there = datetime(2026, 3, 1, 1, 30, tzinfo=timezone(timedelta(hours=2)))
    shown = moment(there, NOW)
    assert shown.absolute == "2026-02-28 23:30 UTC"
    assert shown.iso == "2026-02-28T23:30:00+00:00"
    assert for_input(there) == "2026-02-28T23:30"


def test_nothing_stays_nothing() -> None:
    assert optional_moment(None, NOW) is None
    assert for_input(None) == ""
