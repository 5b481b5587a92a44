"""Where the marks of the charts stand."""

from __future__ import annotations

import pytest

from telemetry.palace import chart
from telemetry.palace.chart import Share

BARS = [
    Share("travel", "60 · 60 %", 0.6, 0.6),
    Share("invoices", "30 · 30 %", 0.3, 0.9),
    Share("tea", "10 · 10 %", 0.1, 1.0),
]


def test_bars_have_the_width_of_their_share() -> None:
    rows = chart.pareto(BARS).rows
    assert [row.width for row in rows] == ["60.00%", "30.00%", "10.00%"]
    assert [(row.label, row.value) for row in rows] == [(bar.label, bar.value) for bar in BARS]


def test_the_line_goes_through_the_sums_beside_the_bars() -> None:
    placed = chart.pareto(BARS)
    assert [(piece.x1, piece.x2) for piece in placed.line] == [("60.00%", "90.00%"), ("90.00%", "100.00%")]
    assert [(piece.y1, piece.y2) for piece in placed.line] == [
        (placed.rows[0].point_y, placed.rows[1].point_y),
        (placed.rows[1].point_y, placed.rows[2].point_y),
    ]
    for row in placed.rows:
        assert row.bar_top < row.point_y < row.bar_top + placed.bar_height


def test_rows_do_not_overlap_and_fill_the_chart() -> None:
    placed = chart.pareto(BARS)
    assert [row.top for row in placed.rows] == [22, 68, 114]
    assert placed.rows[-1].top + placed.row_height == placed.height
    for row in placed.rows:
        assert row.label_top + placed.label_height <= row.bar_top
        assert row.bar_top + placed.bar_height <= row.top + placed.row_height


def test_eighty_percent_is_marked_and_nothing_else() -> None:
    assert [(tick.x, tick.label) for tick in chart.pareto(BARS).ticks if tick.vital] == [("80.00%", "80 %")]


def test_sums_that_are_rounded_above_one_stay_inside() -> None:
    rows = chart.pareto([Share("all", "3", 1.0, 1.0000001)]).rows
    assert rows[0].point_x == "100.00%"


def test_no_bars_make_an_empty_chart() -> None:
    placed = chart.pareto([])
    assert (placed.rows, placed.line) == ([], [])


def test_a_trend_stops_at_days_without_turns() -> None:
    placed = chart.trend([("1 Nov", 0.1), ("2 Nov", 0.2), ("3 Nov", None), ("4 Nov", 0.25)])
    assert [point.label for point in placed.points] == ["1 Nov", "2 Nov", "4 Nov"]
    assert [(piece.x1, piece.x2) for piece in placed.line] == [("12.50%", "37.50%")]
    assert placed.ceiling == "25 %"
    assert placed.points[2].y == placed.ceiling_y


@pytest.mark.parametrize(
    ("rate", "ceiling"), [(0.0, "10 %"), (0.1, "10 %"), (0.11, "25 %"), (0.6, "100 %"), (1.0, "100 %")]
)
def test_a_trend_is_drawn_up_to_a_round_rate(rate: float, ceiling: str) -> None:
    placed = chart.trend([("1 Nov", rate)])
    assert placed.ceiling == ceiling
    assert placed.ceiling_y <= placed.points[0].y <= placed.base_y


@pytest.mark.parametrize(("days", "named"), [(0, 0), (1, 1), (2, 2), (7, 4), (30, 4)])
def test_a_trend_names_a_few_days(days: int, named: int) -> None:
    placed = chart.trend([(f"day {at}", 0.5) for at in range(days)])
    assert len(placed.dates) == named
    if days > 1:
        assert (placed.dates[0].label, placed.dates[-1].label) == ("day 0", f"day {days - 1}")
        assert (placed.dates[0].anchor, placed.dates[-1].anchor) == ("start", "end")
