"""Where the marks of the charts stand.

Widths are percentages and heights are pixels, so a chart fills any screen while its letters keep their size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

ROW_HEIGHT: Final = 46
AXIS_HEIGHT: Final = 22
BAR_TOP: Final = 23
BAR_HEIGHT: Final = 15
LABEL_HEIGHT: Final = 20
TICKS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
# The mark of Pareto: what stands above it is the vital few.
VITAL: Final = 0.8

TREND_HEIGHT: Final = 120
TREND_TOP: Final = 8
TREND_FOOT: Final = 22
# A chart of small rates is drawn up to the next of these, so that its days can be told apart.
TREND_TOPS: Final = (0.1, 0.25, 0.5, 1.0)
MOST_DATES: Final = 4


@dataclass(frozen=True, slots=True)
class Share:
    """A bar to be placed: what it is called, what is written beside it, and its part and sum, from 0 to 1."""

    label: str
    value: str
    share: float
    cumulative: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A line of the grid, from the top to the bottom of the chart."""

    x: str
    label: str
    anchor: str
    vital: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight piece of a line."""

    x1: str
    y1: float
    x2: str
    y2: float


@dataclass(frozen=True, slots=True)
class Row:
    """A bar with its label above it."""

    label: str
    value: str
    top: int
    label_top: int
    bar_top: int
    width: str
    point_x: str
    point_y: float


@dataclass(frozen=True, slots=True)
class Pareto:
    """A Pareto chart that lies on its side: bars from the largest down, and the line of what they make up together."""

    height: int
    grid_top: int
    axis_y: int
    row_height: int
    bar_height: int
    label_height: int
    ticks: list[Tick]
    rows: list[Row]
    line: list[Segment]


@dataclass(frozen=True, slots=True)
class Point:
    """A day of a trend that had turns."""

    x: str
    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Dated:
    """A day that the axis names."""

    x: str
    label: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Trend:
    """A rate day by day; days without turns have no point, and the line does not cross them."""

    height: int
    foot: int
    ceiling: str
    ceiling_y: int
    base_y: int
    dates_y: int
    points: list[Point]
    line: list[Segment]
    dates: list[Dated]


def pareto(bars: Sequence[Share]) -> Pareto:
    """Place the bars of a Pareto chart and the line of their sums.

    Args:
        bars: from the largest down.
    """
    rows = [_row(bar, place) for place, bar in enumerate(bars)]
    return Pareto(
        height=AXIS_HEIGHT + ROW_HEIGHT * len(rows),
        grid_top=AXIS_HEIGHT - 4,
        axis_y=AXIS_HEIGHT - 8,
        row_height=ROW_HEIGHT,
        bar_height=BAR_HEIGHT,
        label_height=LABEL_HEIGHT,
        ticks=[_tick(value) for value in TICKS],
        rows=rows,
        line=_joined((row.point_x, row.point_y) for row in rows),
    )


def trend(days: Sequence[tuple[str, float | None]]) -> Trend:
    """Place the points of a rate day by day.

    Args:
        days: each day's name and its rate from 0 to 1, None for a day without turns; oldest first.
    """
    highest = max((rate for _, rate in days if rate is not None), default=0.0)
    ceiling = next(top for top in TREND_TOPS if highest <= top)
    base = TREND_HEIGHT - TREND_FOOT
    placed = [
        None if rate is None else Point(percent(_middle(at, len(days))), _rate_y(rate, ceiling), name)
        for at, (name, rate) in enumerate(days)
    ]
    return Trend(
        height=TREND_HEIGHT,
        foot=TREND_FOOT,
        ceiling=f"{100 * ceiling:.0f} %",
        ceiling_y=TREND_TOP,
        base_y=base,
        dates_y=TREND_HEIGHT - 6,
        points=[point for point in placed if point is not None],
        line=[
            Segment(one.x, one.y, other.x, other.y)
            for one, other in pairwise(placed)
            if one is not None and other is not None
        ],
        dates=named_dates([name for name, _ in days]),
    )


def named_dates(names: Sequence[str]) -> list[Dated]:
    """Name the first and the last day and a few evenly between them.

    Args:
        names: of all days, oldest first.
    """
    if not names:
        return []
    last = len(names) - 1
    places = sorted({round(last * part / (MOST_DATES - 1)) for part in range(MOST_DATES)})
    anchors = {0: "start", last: "end" if last else "start"}
    return [Dated(percent(_middle(at, len(names))), names[at], anchors.get(at, "middle")) for at in places]


def percent(part: float) -> str:
    """Write a part of one as a length, to two decimal places."""
    return f"{100 * part:.2f}%"


def _row(bar: Share, place: int) -> Row:
    top = AXIS_HEIGHT + ROW_HEIGHT * place
    return Row(
        label=bar.label,
        value=bar.value,
        top=top,
        label_top=top + 1,
        bar_top=top + BAR_TOP,
        width=percent(bar.share),
        point_x=percent(min(bar.cumulative, 1.0)),
        point_y=top + BAR_TOP + BAR_HEIGHT / 2,
    )


def _tick(value: float) -> Tick:
    anchor = "start" if value == 0 else "end" if value == 1 else "middle"
    return Tick(percent(value), f"{100 * value:.0f} %", anchor, value == VITAL)


def _joined(points: Iterable[tuple[str, float]]) -> list[Segment]:
    return [Segment(one[0], one[1], other[0], other[1]) for one, other in pairwise(points)]


def _middle(at: int, many: int) -> float:
    return (at + 0.5) / many


def _rate_y(rate: float, ceiling: float) -> float:
    return round(TREND_TOP + (1 - rate / ceiling) * (TREND_HEIGHT - TREND_FOOT - TREND_TOP), 1)
