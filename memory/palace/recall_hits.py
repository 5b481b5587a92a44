"""Hits and bars with the addresses to which they lead: the same search, narrowed to what they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memory.palace.presenters import HitView
from memory.palace.recall_filters import Names
from memory.palace.recall_histogram import Bar, Histogram
from memory.palace.recall_state import RecallState


@dataclass(frozen=True, slots=True)
class LinkedHit:
    """A hit, with the name of its agent and the addresses of the search for its category, agent and source."""

    view: HitView
    category: str
    agent: str
    agent_name: str
    source: str


@dataclass(frozen=True, slots=True)
class LinkedBar:
    """A bar, and the address of the same search within its time."""

    view: Bar
    address: str


@dataclass(frozen=True, slots=True)
class LinkedTimes:
    """A histogram with its addresses."""

    bars: list[LinkedBar]
    first: str
    last: str
    unit: str


def linked_hits(hits: Sequence[HitView], state: RecallState, names: Names) -> list[LinkedHit]:
    """Add to hits where their category, agent and source lead; what is covered leads nowhere."""
    found = []
    for hit in hits:
        agent, source = str(hit.origin.agent_id or ""), hit.origin.source_value
        found.append(
            LinkedHit(
                view=hit,
                category=state.with_filter("category", hit.tag.value).address,
                agent=state.with_filter("agent", agent).address if agent else "",
                agent_name=names.get(agent, ""),
                source=state.with_filter("source", source).address if source else "",
            )
        )
    return found


def linked_times(times: Histogram | None, state: RecallState) -> LinkedTimes | None:
    """Add to bars where they lead: the same search, with this time in the place of another one."""
    if times is None:
        return None
    rest = replace(state, terms=tuple(term for term in state.terms if term.field != "occurred"))
    bars = [LinkedBar(bar, rest.with_filter("occurred", bar.value).address) for bar in times.bars]
    return LinkedTimes(bars, times.first, times.last, times.unit)
