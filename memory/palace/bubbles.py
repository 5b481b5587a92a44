"""The picture of a view without scripts: bubbles by category, each as large as its importance.

The bubbles of a category stand close together, and the categories stand in a circle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.urls import reverse

from memory.graph.layout import sunflower
from memory.palace.presenters import HUES, tag
from memory.services.graph_view.things import Thing

MOST_BUBBLES: Final = 150
LEAST_RADIUS: Final = 7.0
MORE_RADIUS: Final = 13.0
MARGIN: Final = 14.0
CAPTION: Final = 34.0
"""Room for the word above a group."""


@dataclass(frozen=True, slots=True)
class Bubble:
    """One bubble: where, how large, its hue and shape, where it leads and what it is called."""

    x: str
    y: str
    radius: str
    hue: int
    href: str
    title: str
    inferred: bool
    contested: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The bubbles of one category under its word."""

    word: str
    x: str
    y: str
    bubbles: list[Bubble]


@dataclass(frozen=True, slots=True)
class Picture:
    """The whole picture; `view_box` is what an SVG takes."""

    view_box: str
    groups: list[Group]
    shown: int


@dataclass(frozen=True, slots=True)
class _Packed:
    members: Sequence[Thing]
    radius: float
    places: Sequence[tuple[float, float]]


def bubbles(things: Sequence[Thing], titles: dict[int, str], *, by_community: bool) -> Picture:
    """Draw the foremost things of a view.

    Args:
        things: what counts most first; their words are opened.
        titles: of the communities that occur.
        by_community: whether groups are communities and not categories.
    """
    shown = things[:MOST_BUBBLES]
    if not shown:
        return Picture("0 0 1 1", [], 0)
    grouped: dict[tuple[str, int], list[Thing]] = {}
    for one in shown:
        grouped.setdefault(group_of(one, titles, by_community=by_community), []).append(one)
    packed = {name: _pack(members) for name, members in grouped.items()}
    around = _circle([one.radius + MARGIN + CAPTION / 2 for one in packed.values()])
    groups, reach = [], 0.0
    for (name, disc), (x, y) in zip(packed.items(), around, strict=True):
        pairs = zip(disc.members, disc.places, strict=True)
        drawn = [_bubble(thing, x + dx, y + dy, name[1]) for thing, (dx, dy) in pairs]
        groups.append(Group(name[0], _at(x), _at(y - disc.radius - 8), drawn))
        reach = max(reach, math.hypot(x, y) + disc.radius + CAPTION)
    side = max(2 * reach, 1.0)
    return Picture(f"{_at(-reach)} {_at(-reach)} {_at(side)} {_at(side)}", groups, len(shown))


def group_of(one: Thing, titles: dict[int, str], *, by_community: bool) -> tuple[str, int]:
    """Give the word and the hue of the group that a thing belongs to."""
    if not by_community:
        named = tag(one.category)
        return named.name, named.hue
    if one.community is None:
        return "", HUES - 1
    return titles.get(one.community, ""), one.community % HUES


def radius_of(one: Thing) -> float:
    """Give how large a thing is drawn; the area grows with the importance."""
    return LEAST_RADIUS + MORE_RADIUS * math.sqrt(one.importance)


def _pack(members: Sequence[Thing]) -> _Packed:
    ranked = sorted(members, key=lambda one: (-one.importance, one.id.bytes))
    largest = max(radius_of(one) for one in ranked)
    # Leaves of a sunflower stand at least 1.5 over the root of their number apart.
    reach = largest * 1.35 * math.sqrt(len(ranked)) if len(ranked) > 1 else 0.0
    places = [(float(x) * reach, float(y) * reach) for x, y in sunflower(len(ranked))]
    return _Packed(ranked, reach + largest, places)


def _circle(radii: Sequence[float]) -> list[tuple[float, float]]:
    """Give the middles of discs that stand in a circle and touch each other at most."""
    if len(radii) == 1:
        return [(0.0, 0.0)]
    low, high = max(radii), 2 * sum(radii)
    for _step in range(40):
        middle = (low + high) / 2
        if _turn(radii, middle) > math.tau:
            low = middle
        else:
            high = middle
    angle, places = -math.pi / 2, []
    spare = (math.tau - _turn(radii, high)) / len(radii)
    for number, radius in enumerate(radii):
        places.append((high * math.cos(angle), high * math.sin(angle)))
        following = radii[(number + 1) % len(radii)]
        angle += 2 * math.asin(min(1.0, (radius + following) / 2 / high)) + spare
    return places


def _turn(radii: Sequence[float], reach: float) -> float:
    pairs = zip(radii, [*radii[1:], radii[0]], strict=True)
    return sum(2 * math.asin(min(1.0, (one + other) / 2 / reach)) for one, other in pairs)


def _bubble(one: Thing, x: float, y: float, hue: int) -> Bubble:
    page = "palace:memory" if one.is_memory else "palace:entity"
    return Bubble(
        x=_at(x),
        y=_at(y),
        radius=_at(radius_of(one)),
        hue=hue,
        href=reverse(page, args=[one.id]),
        title=one.preview,
        inferred=one.inferred,
        contested=one.contested,
    )


def _at(value: float) -> str:
    """Write a coordinate, which no language may write with a comma."""
    return f"{value:.1f}"
