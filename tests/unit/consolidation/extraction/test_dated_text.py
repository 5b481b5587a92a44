"""A statement that is read later says which day was meant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memory.consolidation.extraction.dated_text import with_dates
from tests.unit.consolidation.extraction.drawing import draw

AT = datetime(2026, 5, 6, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("Ana moved to Rome last weekend.", "Ana moved to Rome last weekend (2026-05-02 to 2026-05-03)."),
        ("Ana chose Postgres two days ago.", "Ana chose Postgres two days ago (2026-05-04)."),
        ("Ana lives in Rome this year and left Oslo last month.",
         "Ana lives in Rome this year (2026) and left Oslo last month (2026-04)."),
        ("Yesterday Ana began at Acme.", "Yesterday (2026-05-05) Ana began at Acme."),
        ("Ana zog letzte Woche nach Berlin.", "Ana zog letzte Woche (2026-04-27 to 2026-05-03) nach Berlin."),
        ("Ana se mudó ayer a Lima.", "Ana se mudó ayer (2026-05-05) a Lima."),
    ],
)  # fmt: skip
def test_what_counts_from_its_moment_gets_a_date(text: str, dated: str) -> None:
    assert with_dates(text, moment=AT) == dated
    assert with_dates(dated, moment=AT + timedelta(days=400)) == dated


@pytest.mark.parametrize(
    "text",
    [
        "Ana lives in Leipzig.", "Ana hates Mondays.", "Ana prefers calls on Friday.", "Ana bought it on 12 May.",
        "Ana was born in 1990.", "Ana has lived in Rome for the last ten years.", "Ana likes the song Yesterday.",
        "Always read today's mail first.", "Tell Ana the news of today every evening.", "Ana runs in the morning.", "",
    ],
)  # fmt: skip
def test_what_needs_none_stays(text: str) -> None:
    assert with_dates(text, moment=AT) == text


def test_days_are_those_of_the_speaker() -> None:
    late = datetime(2026, 5, 6, 23, tzinfo=timezone(timedelta(hours=-5)))
    assert with_dates("Ana moved yesterday.", moment=late) == "Ana moved yesterday (2026-05-05)."


def test_statements_are_drawn_with_their_dates() -> None:
    fact = next(one for one in draw("I moved to Leipzig last weekend.").facts if one.claim)
    assert fact.text.startswith("Ana moved to Leipzig last weekend (")
    assert fact.valid_from is not None
    assert f"({fact.valid_from:%Y-%m-%d} to " in fact.text
    assert fact.claim is not None
    assert fact.claim.value == "leipzig"
