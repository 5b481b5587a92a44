"""The picture of how memories have grown: areas stacked by tier, and the same in a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.palace.dates import day_words
from memory.palace.numbers import whole
from memory.services.growth import TIERS, Week

WIDTH: Final = 1000
HEIGHT: Final = 200
MOST_ROWS: Final = 30
NAMES: Final = {
    "episodic": gettext_lazy("what happened"),
    "semantic": gettext_lazy("what is so"),
    "procedural": gettext_lazy("how things are done"),
    "reflection": gettext_lazy("what was concluded"),
}


@dataclass(frozen=True, slots=True)
class Layer:
    """One area: its tier, the outline in the picture's coordinates, and how many memories it holds at the end."""

    name: str
    tier: str
    outline: str
    count: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the scale: where it stands from above, and the number that it means."""

    top: str
    number: str


@dataclass(frozen=True, slots=True)
class Growth:
    """The picture and its table. Coordinates are written in a form that no language changes."""

    layers: list[Layer]
    lines: list[Line]
    first: str
    last: str
    told: str
    names: list[str]
    rows: list[dict[str, object]]
    height: str = str(HEIGHT)
    view_box: str = f"0 0 {WIDTH} {HEIGHT}"


def growth_view(weeks: Sequence[Week]) -> Growth | None:
    """Draw the weeks; None where there are none."""
    if not weeks:
        return None
    most = max(sum(week.total.values()) for week in weeks)
    top = _ceiling(most)
    used = [tier for tier in TIERS if any(week.total[tier] for week in weeks)]
    layers, below = list[Layer](), [0] * len(weeks)
    for tier in used:
        above = [low + week.total[tier] for low, week in zip(below, weeks, strict=True)]
        layers.append(Layer(str(NAMES[tier]), tier, _outline(below, above, top), whole(weeks[-1].total[tier])))
        below = above
    return Growth(
        layers=layers,
        lines=[_line(share, top) for share in (0, 0.5, 1) if share * top == int(share * top)],
        first=_day(weeks[0]),
        last=_day(weeks[-1]),
        told=_told(weeks),
        names=[str(NAMES[tier]) for tier in used],
        rows=[
            {
                "week": _day(week),
                "counts": [whole(week.total[tier]) for tier in used],
                "total": whole(sum(week.total.values())),
                "new": whole(week.new),
            }
            for week in reversed(weeks[-MOST_ROWS:])
        ],
    )


def _ceiling(most: int) -> int:
    """Give the first round number that is not below: 1, 2 or 5 and zeros."""
    size = 1
    while True:
        for step in (1, 2, 5):
            if step * size >= most:
                return step * size
        size *= 10


def _outline(below: Sequence[int], above: Sequence[int], top: int) -> str:
    """Write the corners of an area: along its upper edge and back along its lower one."""
    if len(above) == 1:
        below, above = [*below, *below], [*above, *above]
    step = WIDTH / (len(above) - 1)
    upper = [(place * step, high) for place, high in enumerate(above)]
    lower = [(place * step, low) for place, low in enumerate(below)]
    return " ".join(f"{x:.1f},{HEIGHT - HEIGHT * y / top:.1f}" for x, y in [*upper, *reversed(lower)])


def _line(share: float, top: int) -> Line:
    return Line(f"{HEIGHT - HEIGHT * share:.0f}", whole(int(share * top)))


def _day(week: Week) -> str:
    return day_words(week.monday)


def _told(weeks: Sequence[Week]) -> str:
    """Say in a sentence what the picture shows."""
    total, fresh = sum(weeks[-1].total.values()), sum(week.new for week in weeks[-4:])
    return _("%(total)s memories are kept; %(fresh)s of them came in the last four weeks.") % {
        "total": whole(total),
        "fresh": whole(fresh),
    }
