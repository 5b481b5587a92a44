"""The map of the communities: discs as large as their members are many, joined by what leads from one to another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from memory.graph.layout import discs
from memory.palace.graph_state import GraphState
from memory.palace.numbers import local
from memory.palace.presenters import HUES
from memory.privacy.masking import masked_value
from memory.services.graph.communities import Bridge, CommunityView

LEAST_RADIUS: Final = 26.0
MORE_RADIUS: Final = 64.0
GAP: Final = 26.0
MOST_THICK: Final = 12.0
SHORT: Final = 22
LETTER: Final = 12.5
"""How wide a letter below a disc is at most, which is on a narrow screen."""


@dataclass(frozen=True, slots=True)
class Disc:
    """One community on the map and in the table beside it."""

    number: str
    title: str
    short: str
    name: str
    members: int
    memories: int
    entities: int
    share_within: str
    x: str
    y: str
    radius: str
    label_y: str
    hue: int
    href: str


@dataclass(frozen=True, slots=True)
class Road:
    """What joins two communities."""

    first: str
    second: str
    relations: int
    weight: str
    x1: str
    y1: str
    x2: str
    y2: str
    thick: str


@dataclass(frozen=True, slots=True)
class CommunityMap:
    """The map; `view_box` is what an SVG takes."""

    view_box: str
    discs: list[Disc]
    roads: list[Road]


def community_map(communities: Sequence[CommunityView], bridges: Sequence[Bridge]) -> CommunityMap:
    """Draw communities, the largest first, and the bridges between those that are drawn."""
    if not communities:
        return CommunityMap("0 0 1 1", [], [])
    largest = max(one.size for one in communities) or 1
    radii = np.array([LEAST_RADIUS + MORE_RADIUS * math.sqrt(one.size / largest) for one in communities])
    place = {one.number: number for number, one in enumerate(communities)}
    joined = [one for one in bridges if one.first in place and one.second in place]
    ends = np.array([[place[one.first], place[one.second]] for one in joined], dtype=np.int64).reshape(-1, 2)
    weights = np.array([one.weight for one in joined], dtype=np.float64)
    both = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    middles = discs(radii / GAP, both[0], both[1], np.tile(weights, 2)) * GAP
    names = {one.number: str(masked_value(one.title)) for one in communities}
    drawn = [
        _disc(one, names[one.number], float(radius), float(x), float(y))
        for one, radius, (x, y) in zip(communities, radii, middles, strict=True)
    ]
    heaviest = float(weights.max(initial=0.0)) or 1.0
    roads = [
        _road(one, names, middles[place[one.first]].tolist(), middles[place[one.second]].tolist(), heaviest)
        for one in joined
    ]
    words = np.array([len(one.short) for one in drawn]) * LETTER / 2
    reach = np.stack([np.maximum(radii, words), radii], axis=1)
    low = (middles - reach).min(axis=0) - GAP
    high = (middles + reach).max(axis=0) + GAP
    box = " ".join(_at(float(value)) for value in (*low, *(high - low)))
    return CommunityMap(box, drawn, roads)


def _disc(one: CommunityView, title: str, radius: float, x: float, y: float) -> Disc:
    inner, outer = one.inner_weight, one.outer_weight
    within = (
        local(f"{inner / (inner + outer):.0%}") if inner is not None and outer is not None and inner + outer else ""
    )
    return Disc(
        number=str(one.number),
        title=title,
        short=title if len(title) <= SHORT else title[: SHORT - 1].rstrip() + "…",
        name=one.name or "",
        members=one.size,
        memories=one.memories,
        entities=one.entities,
        share_within=within,
        x=_at(x),
        y=_at(y),
        radius=_at(radius),
        label_y=_at(y + radius + 16),
        hue=one.number % HUES,
        href=GraphState().seeded(community=str(one.number)),
    )


def _road(one: Bridge, names: dict[int, str], start: list[float], end: list[float], heaviest: float) -> Road:
    return Road(
        first=names[one.first],
        second=names[one.second],
        relations=one.count,
        weight=local(f"{one.weight:.1f}"),
        x1=_at(start[0]),
        y1=_at(start[1]),
        x2=_at(end[0]),
        y2=_at(end[1]),
        thick=_at(1.0 + MOST_THICK * one.weight / heaviest),
    )


def _at(value: float) -> str:
    """Write a coordinate, which no language may write with a comma."""
    return f"{value:.1f}"
