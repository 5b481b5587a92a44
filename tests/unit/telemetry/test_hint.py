"""The hint of a report: each published threshold from both sides, and the correction of which clusters count."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import UUID

import numpy as np
import pytest

from telemetry.coverage.hint import Figures
from telemetry.coverage.hint import hint as hint_of
from telemetry.coverage.trend import Day, trend
from telemetry.coverage.turns import SpokeName, Turns


def hint(
    turns: int = 200, fallback: float = 0.0, failure: float = 0.0, clusters: int = 1, *, compared: bool = True
) -> str:
    return " ".join(map(str, hint_of(Figures(turns, fallback, failure, clusters, compared))))


@pytest.mark.parametrize(
    ("figures", "begins"),
    [
        ((0, 0.0), "No data"),
        ((1, 1.0), "Collect more data: 1 turn is"),
        ((49, 0.5), "Collect more data: 49 turns are"),
        ((50, 0.5), "STOP"),
        ((50, 0.0), "Stay with the present spokes (L0)"),
        ((200, 0.0499), "Stay with the present spokes (L0)"),
        ((200, 0.05), "Add spokes"),
        ((200, 0.1499), "Add spokes"),
        ((200, 0.15), "Significant gap"),
        ((200, 0.2999), "Significant gap"),
        ((200, 0.30), "STOP"),
        ((200, 1.0), "STOP"),
    ],
)
def test_each_threshold(figures: tuple[int, float], begins: str) -> None:
    assert hint(*figures).startswith(begins)


def test_too_few_turns_ask_for_a_hundred_in_two_weeks() -> None:
    assert "100 over two weeks" in hint(49)


def test_failures_are_remarked_on_from_a_tenth_where_coverage_is_good() -> None:
    assert "quality" not in hint(failure=0.0999)
    assert "quality" in hint(failure=0.10)
    assert "quality" not in hint(fallback=0.07, failure=0.5)


def test_three_clusters_of_fallbacks_call_for_spokes_and_four_for_phase_1() -> None:
    assert hint(fallback=0.1, clusters=3).startswith("Add spokes")
    assert hint(fallback=0.1, clusters=4).startswith("Phase 1 is justified")


def test_the_number_of_clusters_says_nothing_elsewhere() -> None:
    for fallback in (0.01, 0.2, 0.5):
        assert hint(fallback=fallback, clusters=1) == hint(fallback=fallback, clusters=9)


def test_clusters_by_spoke_do_not_tell_a_few_spokes_from_phase_1() -> None:
    assert hint(fallback=0.1, clusters=1, compared=False).startswith("Add spokes or begin phase 1")
    assert hint(fallback=0.01, compared=False) == hint(fallback=0.01)


class TestTrend:
    def turns(self, *rows: tuple[datetime, bool]) -> Turns:
        return Turns(
            ids=np.array([b""] * len(rows), dtype="S16"),
            at=np.array([int(at.timestamp()) * 1_000_000 for at, _ in rows], dtype=np.int64),
            requests=np.arange(len(rows)),
            spokes=np.array([int(fell) for _, fell in rows], dtype=np.int64),
            failed=np.zeros(len(rows), dtype=np.bool_),
            sizes=np.ones(len(rows), dtype=np.int64),
            spoke_names=(SpokeName(UUID(int=1), "a", False), SpokeName(UUID(int=2), "generic", True)),
        )

    def test_days_without_turns_are_there_and_a_day_is_one_of_utc(self) -> None:
        since, until = datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 4, 12, tzinfo=UTC)
        turns = self.turns(
            (datetime(2026, 3, 4, 0, 0, 0, tzinfo=UTC), True),
            (datetime(2026, 3, 3, 23, 59, 59, tzinfo=UTC), False),
            (datetime(2026, 3, 3, 1, tzinfo=UTC), True),
            (datetime(2026, 3, 1, 13, tzinfo=UTC), False),
        )
        assert trend(turns, since=since, until=until) == (
            Day(date(2026, 3, 1), 1, 0, 0.0),
            Day(date(2026, 3, 2), 0, 0, 0.0),
            Day(date(2026, 3, 3), 2, 1, 0.5),
            Day(date(2026, 3, 4), 1, 1, 1.0),
        )

    def test_nothing_is_a_row_of_empty_days(self) -> None:
        since = datetime(2026, 3, 1, tzinfo=UTC)
        assert [day.turns for day in trend(self.turns(), since=since, until=datetime(2026, 3, 2, tzinfo=UTC))] == [0, 0]
