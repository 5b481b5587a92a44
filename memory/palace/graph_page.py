"""The graph page as plain values: its rows, words, times and picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.palace.bubbles import Picture, bubbles, group_of
from memory.palace.dates import relative
from memory.palace.graph_payload import payload_text
from memory.palace.graph_state import ROWS, GraphState
from memory.palace.graph_words import kind_word
from memory.palace.numbers import local, whole
from memory.palace.presenters import Tag, tag
from memory.services.graph_view.things import Thing
from memory.services.graph_view.view import GraphView

MOST_ENTRIES: Final = 16
SEED_SENTENCES: Final[Mapping[str, str | Promise]] = {
    "today": gettext_lazy("It starts from what is new since yesterday."),
    "newest": gettext_lazy("Nothing is new since yesterday, so it starts from the newest."),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing in the list beside the picture."""

    id: UUID
    place: int
    text: str
    href: str
    around: str
    is_memory: bool
    kind: str
    tag: Tag
    community: str
    importance: int
    support: str
    sure: str
    seed: bool
    inferred: bool
    contested: bool
    masked: bool
    more: int
    more_words: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One colour of the legend."""

    word: str
    hue: int
    count: int


@dataclass(frozen=True, slots=True)
class TimeField:
    """A time that can be set: its name, the day as typed, the bounds, and what it says in words."""

    name: str
    label: str
    help: str
    value: str
    least: str
    most: str
    days: str
    offset: str
    words: str
    cleared: str


@dataclass(frozen=True, slots=True)
class GraphPage:
    """Everything that the page of a view shows."""

    rows: list[Row]
    more_rows: int
    more_address: str
    counts: str
    unseen: str
    start: str
    times: str
    true_on: TimeField
    known_on: TimeField
    legend: list[Entry]
    picture: Picture
    data: SafeString
    is_empty: bool


def graph_page(view: GraphView, state: GraphState, *, now: datetime, seed_words: str) -> GraphPage:
    """Describe a view for its page.

    Args:
        view: as the service gave it, all of it labelled.
        state: what the address says.
        now: the present moment.
        seed_words: what it starts from, where that is one thing or words.
    """
    by_community = state.colour == "community"
    rows = [_row(one, place, view, state) for place, one in enumerate(view.things[: state.rows])]
    hidden = len(view.things) - len(rows)
    return GraphPage(
        rows=rows,
        more_rows=hidden,
        more_address=state.address(rows=state.rows + 2 * ROWS),
        counts=_counts(view),
        unseen=_unseen(view),
        start=_start(view, seed_words),
        times=_times(state, now),
        true_on=_time(state, "true_on", view.true_since, now),
        known_on=_time(state, "known_on", view.known_since, now),
        legend=_legend(view, by_community=by_community),
        picture=bubbles(view.things, view.communities, by_community=by_community),
        data=payload_text(view),
        is_empty=not view.things,
    )


def _row(one: Thing, place: int, view: GraphView, state: GraphState) -> Row:
    page, seed = ("palace:memory", "memory") if one.is_memory else ("palace:entity", "entity")
    if one.is_memory:
        support = ngettext("said %(count)s time", "said %(count)s times", one.support) % {"count": whole(one.support)}
    else:
        support = ngettext("in %(count)s memory", "in %(count)s memories", one.support) % {"count": whole(one.support)}
    return Row(
        id=one.id,
        place=place,
        text=one.preview,
        href=reverse(page, args=[one.id]),
        around=state.seeded(**{seed: str(one.id)}),
        is_memory=one.is_memory,
        kind=kind_word(one.kind),
        tag=tag(one.category),
        community="" if one.community is None else view.communities.get(one.community, ""),
        importance=min(10, max(1, round(one.importance * 10))),
        support=support,
        sure=local(f"{one.confidence:.0%}"),
        seed=one.seed,
        inferred=one.inferred,
        contested=one.contested,
        masked=one.masked,
        more=one.more,
        more_words=ngettext("%(count)s more link", "%(count)s more links", one.more) % {"count": whole(one.more)},
    )


def _counts(view: GraphView) -> str:
    memories = sum(one.is_memory for one in view.things)
    others = len(view.things) - memories
    said = []
    if memories:
        said.append(ngettext("%(count)s memory", "%(count)s memories", memories) % {"count": whole(memories)})
    if others:
        said.append(ngettext("%(count)s name", "%(count)s names", others) % {"count": whole(others)})
    links = len(view.links)
    said.append(ngettext("%(count)s link", "%(count)s links", links) % {"count": whole(links)})
    return ", ".join(said)


def _unseen(view: GraphView) -> str:
    said = []
    if view.unseen:
        more = ngettext("and %(count)s more around them", "and %(count)s more around them", view.unseen)
        said.append(more % {"count": whole(view.unseen)})
    if view.more_links:
        more = ngettext("%(count)s link is not drawn", "%(count)s links are not drawn", view.more_links)
        said.append(more % {"count": whole(view.more_links)})
    return "; ".join(said)


def _start(view: GraphView, seed_words: str) -> str:
    if view.seeds.sort in SEED_SENTENCES:
        return str(SEED_SENTENCES[view.seeds.sort])
    return _("It starts from: %(seed)s") % {"seed": seed_words} if seed_words else ""


def _times(state: GraphState, now: datetime) -> str:
    true_on, known_on = _day(state.true_on), _day(state.known_on)
    if true_on and known_on:
        return _("What was true on %(true)s, as it was known on %(known)s.") % {
            "true": _said(true_on, now),
            "known": _said(known_on, now),
        }
    if true_on:
        return _("What was true on %(true)s, as it is known now.") % {"true": _said(true_on, now)}
    if known_on:
        return _("What was known on %(known)s.") % {"known": _said(known_on, now)}
    return _("What is known now.")


def _said(day: date, now: datetime) -> str:
    then = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return f"{date_format(day, 'DATE_FORMAT')} ({relative(then, now)})"


def _day(typed: str) -> date | None:
    return date.fromisoformat(typed) if typed else None


def _time(state: GraphState, name: str, since: datetime | None, now: datetime) -> TimeField:
    value = getattr(state, name)
    least = (since or now).astimezone(UTC).date()
    most = now.astimezone(UTC).date()
    chosen = min(most, max(least, _day(value) or most))
    labels = {
        "true_on": (_("True on"), _("What held on that day. Empty: now.")),
        "known_on": (_("Known on"), _("What I knew at the end of that day. Empty: now.")),
    }
    label, help_ = labels[name]
    return TimeField(
        name=name,
        label=label,
        help=help_,
        value=value,
        least=least.isoformat(),
        most=most.isoformat(),
        days=str((most - least).days),
        offset=str((chosen - least).days),
        words=date_format(chosen, "DATE_FORMAT") if value else _("now"),
        cleared=state.address(**{name: ""}),
    )


def _legend(view: GraphView, *, by_community: bool) -> list[Entry]:
    counted = Counter(group_of(one, view.communities, by_community=by_community) for one in view.things)
    return [Entry(word or _("no community"), hue, count) for (word, hue), count in counted.most_common(MOST_ENTRIES)]


def words_of_seed(things: Sequence[Thing], state: GraphState, communities: dict[int, str]) -> str:
    """Say what a view starts from, where that is one thing or words; empty otherwise."""
    wanted = state.memory or state.entity
    if wanted:
        return next((one.preview for one in things if str(one.id) == wanted), "")
    if state.community:
        return communities.get(int(state.community), "")
    return state.q
