"""What recurs in a person's conversations, found by counting: topics, requests, and tools one after another.

Every pattern names its events, the turns that speak for it, so that none is counted twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from memory.consolidation.summarising import Passage as Quotable
from memory.consolidation.summarising import sentences_of
from memory.text.tokens import query_terms

LEAST_EVENTS: Final = 2
MOST_TOPICS: Final = 10
MOST_REQUESTS: Final = 5
MOST_SEQUENCES: Final = 5
MOST_COMPARED: Final = 500
LEAST_TERMS: Final = 3
ALIKE: Final = 0.7
LONGEST_SEQUENCE: Final = 4
REGULAR_EVENTS: Final = 3
REGULAR_SHARE: Final = 0.8
LONGEST_QUOTE: Final = 160

WEEKDAYS: Final = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


class Sort(StrEnum):
    """What recurs."""

    TOPIC = "topic"
    REQUEST = "request"
    TOOLS = "tools"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One turn.

    Attributes:
        key: the turn's memory.
        session: its conversation.
        text: what was said.
        at: when.
        asks: whether the person said it, not an assistant or a tool.
        names: what it speaks of, as it is to be written.
        tool: the tool that it called with success, blank for none.
    """

    key: UUID
    session: UUID
    text: str
    at: datetime
    asks: bool = True
    names: tuple[str, ...] = ()
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern: its identity over time, how it is put, what speaks for it and how sure it is by that alone."""

    sort: Sort
    identity: str
    text: str
    events: tuple[UUID, ...]
    sessions: tuple[UUID, ...]
    confidence: float


def recurring(episodes: Sequence[Episode]) -> list[Found]:
    """Find what recurs in episodes, in the order of their times.

    Returns:
        Patterns with at least two events each: topics of several conversations, requests that are put again, tools
        that are called one after the other in several conversations. Cost is linear but for requests, of which the
        newest 500 are compared with each other.
    """
    return [*_topics(episodes), *_requests(episodes), *_sequences(episodes)]


def _topics(episodes: Sequence[Episode]) -> list[Found]:
    events: dict[str, dict[UUID, Episode]] = defaultdict(dict)
    written: dict[str, str] = {}
    for episode in episodes:
        for name in episode.names if episode.asks else ():
            written.setdefault(name.casefold(), name)
            events[name.casefold()].setdefault(episode.session, episode)
    ranked = sorted(
        ((folded, list(found.values())) for folded, found in events.items() if len(found) >= LEAST_EVENTS),
        key=lambda one: (-len(one[1]), one[0]),
    )
    return [
        _found(Sort.TOPIC, folded, f"Keeps coming back to {written[folded]}{_regularly(found)}.", found)
        for folded, found in ranked[:MOST_TOPICS]
    ]


def _regularly(found: Sequence[Episode]) -> str:
    """Say on which weekday or at which time of the day it mostly is, where that is clear."""
    if len(found) < REGULAR_EVENTS:
        return ""
    for describe, words in ((_weekday, " mostly on {}"), (_part_of_day, " mostly {}")):
        name, times = Counter(describe(one.at) for one in found).most_common(1)[0]
        if times >= REGULAR_SHARE * len(found):
            return "," + words.format(name)
    return ""


def _weekday(moment: datetime) -> str:
    return WEEKDAYS[moment.astimezone(UTC).weekday()]


def _part_of_day(moment: datetime) -> str:
    hour = moment.astimezone(UTC).hour
    return ("at night", "in the morning", "in the afternoon", "in the evening")[hour // 6]


def _requests(episodes: Sequence[Episode]) -> list[Found]:
    groups: list[tuple[frozenset[str], list[Episode]]] = []
    for episode in [one for one in episodes if one.asks][-MOST_COMPARED:]:
        terms = frozenset(query_terms(episode.text))
        if len(terms) < LEAST_TERMS:
            continue
        for known, members in groups:
            if len(terms & known) >= ALIKE * len(terms | known):
                members.append(episode)
                break
        else:
            groups.append((terms, [episode]))
    repeated = [(terms, members) for terms, members in groups if len(members) >= LEAST_EVENTS]
    repeated.sort(key=lambda one: (-len(one[1]), one[1][0].at, one[1][0].key))
    quoted = [(terms, members, quote(members)) for terms, members in repeated]
    return [
        _found(Sort.REQUEST, " ".join(sorted(terms)), f"Says again and again: “{words}”", members)
        for terms, members, words in quoted
        if words
    ][:MOST_REQUESTS]


def quote(members: Sequence[Episode]) -> str:
    """Give the shortest of some texts for quoting: one line, without what addresses a model and without secrets."""
    texts = []
    for one in members:
        passage = Quotable(key=one.key, text=one.text, speaker="", occurred_at=one.at)
        texts.append(" ".join(sentence.text for sentence in sentences_of([passage])))
    shortest = min((text for text in texts if text), key=lambda text: (len(text), text), default="")
    return shortest if len(shortest) <= LONGEST_QUOTE else f"{shortest[: LONGEST_QUOTE - 1].rstrip()}…"


def _sequences(episodes: Sequence[Episode]) -> list[Found]:
    calls: dict[UUID, list[Episode]] = defaultdict(list)
    for episode in episodes:
        if episode.tool:
            calls[episode.session].append(episode)
    events: dict[tuple[str, ...], dict[UUID, Episode]] = defaultdict(dict)
    for session, made in calls.items():
        for length in range(2, LONGEST_SEQUENCE + 1):
            for start in range(len(made) - length + 1):
                names = tuple(one.tool for one in made[start : start + length])
                if len(set(names)) > 1:
                    events[names].setdefault(session, made[start])
    repeated = {names: found for names, found in events.items() if len(found) >= LEAST_EVENTS}
    kept = [
        (names, list(found.values()))
        for names, found in repeated.items()
        if not any(_inside(names, longer) and set(found) <= set(repeated[longer]) for longer in repeated)
    ]
    kept.sort(key=lambda one: (-len(one[1]), -len(one[0]), one[0]))
    return [
        _found(Sort.TOOLS, " > ".join(names), f"Uses {', then '.join(names)}, one after the other.", found)
        for names, found in kept[:MOST_SEQUENCES]
    ]


def _inside(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    return len(short) < len(long) and any(
        long[start : start + len(short)] == short for start in range(len(long) - len(short) + 1)
    )


def _found(sort: Sort, identity: str, text: str, members: Sequence[Episode]) -> Found:
    events = tuple(dict.fromkeys(one.key for one in members))
    sessions = tuple(dict.fromkeys(one.session for one in members))
    return Found(sort, f"{sort}:{identity}", text, events, sessions, confidence_of(len(events)))


def confidence_of(events: int) -> float:
    """Give how sure a counted pattern is: 0.5 for two events, 0.1 more for each further one, at most 0.9."""
    return round(min(0.9, 0.3 + 0.1 * events), 6)


def running_average(before: float, times: int, now: float, more: int) -> float:
    """Give the mean of a confidence that stood for some events and one for more of them."""
    return (before * times + now * more) / (times + more) if times + more else now
