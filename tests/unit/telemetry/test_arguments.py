"""What the actions of `manage.py telemetry` read from the command line, and what they refuse."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import UTC, datetime
from uuid import UUID

import pytest

from telemetry.management.arguments import id_of, moment, up_to


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("007", 7), ("400", 400)])
def test_numbers(text: str, number: int) -> None:
    assert up_to(400)(text) == number


@pytest.mark.parametrize("text", ["", "0", "401", "-1", "+1", "1.0", "1e2", " 1", "²", "٣", "1" * 5_000])
def test_what_is_no_number_within_the_limits(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=r"is no whole number from 1 to 400\.$") as caught:
        up_to(400)(text)
    assert len(str(caught.value)) < 90


def test_ids_and_moments() -> None:
    text = "01890a5d-ac96-774b-bcce-b302099a8057"
    assert id_of(text) == UUID(text)
    assert moment("2026-03-01T10:30:00Z") == datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
    with pytest.raises(ArgumentTypeError, match="'scribe' is no id"):
        id_of("scribe")
    with pytest.raises(ArgumentTypeError):
        moment("soon")
