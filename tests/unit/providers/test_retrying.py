"""Pauses grow, spread, and keep to what a server asks for, within a bound."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from memory.providers.retrying import FIRST_PAUSE_SECONDS, LONGEST_RETRY_AFTER_SECONDS, asked_wait, pause_before


@pytest.mark.parametrize("attempt", [0, 1, 2])
def test_a_pause_doubles_and_is_never_the_same_for_all(attempt: int) -> None:
    pauses = [pause_before(attempt, None) for _ in range(200)]
    whole = FIRST_PAUSE_SECONDS * 2**attempt
    assert min(pauses) >= whole / 2
    assert max(pauses) <= whole
    assert len(set(pauses)) > 100


def test_what_the_server_asks_for_is_kept_and_spread() -> None:
    pauses = [pause_before(1, 3.0) for _ in range(200)]
    assert min(pauses) > 3.0
    assert max(pauses) <= 3.0 + FIRST_PAUSE_SECONDS
    assert len(set(pauses)) > 100


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("3600", LONGEST_RETRY_AFTER_SECONDS),
        ("9" * 400, LONGEST_RETRY_AFTER_SECONDS),
    ],
)
def test_a_wait_is_read_from_seconds(header: str | None, seconds: float | None) -> None:
    assert asked_wait(header) == seconds


@pytest.mark.parametrize(
    ("away", "seconds"), [(timedelta(hours=-1), 0.0), (timedelta(hours=1), LONGEST_RETRY_AFTER_SECONDS)]
)
def test_a_wait_is_read_from_a_date(away: timedelta, seconds: float) -> None:
    assert asked_wait(format_datetime(datetime.now(UTC) + away)) == seconds
