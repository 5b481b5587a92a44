"""Consolidation as plain values: how it stands, what comes next and why, and what a run did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from memory.palace import consolidation_words as words
from memory.palace.dates import Moment, moment, optional_moment, relative
from memory.palace.numbers import local
from memory.palace.presenters import Card, card
from memory.palace.review_words import KINDS as REVIEW_KINDS
from memory.services.consolidation.groups import Group
from memory.services.consolidation.made import Made, Some
from memory.services.consolidation.upcoming import Upcoming

PREVIEW_CHARACTERS: Final = 140
MODULARITY: Final = "modularity_thousandths"
UNITS: Final = ("B", "kB", "MB", "GB")
STEP: Final = 1000
MOST_TOLD: Final = 4
"""News of a run in its one line."""


@dataclass(frozen=True, slots=True)
class StageView:
    """What one stage did, or that it is to come."""

    name: str
    group: str
    state: str
    state_label: str
    why: str
    counts: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, at work or ended."""

    id: UUID
    state: str
    state_label: str
    trigger: str
    started: Moment | None
    asked: Moment | None
    finished: Moment | None
    duration: str
    now_at: str
    done: int
    total: int
    stages: tuple[StageView, ...]
    risk: str
    reads: bool
    extractor: str
    error: str
    numbers: tuple[tuple[str, str], ...]
    outcome: str
    tokens: int
    calls: int
    at_work: bool


@dataclass(frozen=True, slots=True)
class NextGroup:
    """When a group is due, in words."""

    label: str
    due: Moment
    overdue: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """Memories that a run made, under a heading."""

    heading: str
    cards: tuple[Card, ...]
    count: int
    restorable: bool


def size(count: int) -> str:
    """Write a number of bytes as people read it: `1.2 kB`."""
    value, unit = float(count), 0
    while value >= STEP and unit < len(UNITS) - 1:
        value, unit = value / STEP, unit + 1
    return f"{count} B" if not unit else local(f"{value:.1f} {UNITS[unit]}")


def run_view(run: Mapping[str, Any], now: datetime) -> RunView:
    """Describe a run as `described` gives it."""
    stages = tuple(_stage(report) for report in run["stages"])
    ended = [one for one in stages if one.state != "waiting"]
    error = run["error_code"]
    return RunView(
        id=run["id"],
        state=run["state"],
        state_label=str(words.RUN_STATES[run["state"]]),
        trigger=str(words.TRIGGERS.get(run["trigger"], run["trigger"])),
        started=optional_moment(run["started_at"], now),
        asked=optional_moment(run["asked_at"], now),
        finished=optional_moment(run["finished_at"], now),
        duration=_duration(run["started_at"], run["finished_at"], now),
        now_at=words.stage(run["stage"]) if run["state"] == "running" and run["stage"] else "",
        done=len(ended),
        total=len(stages),
        stages=stages,
        risk=str(words.RISKS.get(run["risk_class"], run["risk_class"])),
        reads=run["risk_class"] != "none",
        extractor=run["extractor"],
        error=words.sentence(error) if error else "",
        numbers=_numbers(run),
        outcome=_outcome(stages),
        tokens=(run["prompt_tokens"] or 0) + (run["completion_tokens"] or 0),
        calls=run["llm_calls"] or 0,
        at_work=run["state"] in ("running", "waiting"),
    )


def next_groups(coming: Upcoming, now: datetime) -> list[NextGroup]:
    """Say which groups are due when, the first ones first."""
    found = sorted(coming.due.items(), key=lambda one: (max(one[1], now), list(Group).index(one[0])))
    return [NextGroup(str(words.GROUPS[group]), moment(max(due, now), now), due <= now) for group, due in found]


def why_next(coming: Upcoming, settings: Mapping[str, Any], *, asked: bool, now: datetime) -> str:
    """Say why the next run comes when it comes, or why none does."""
    if not settings["consolidation"]:
        return _("Consolidation is switched off, so no run comes by itself.")
    if asked:
        return _("Somebody has asked for a run; it begins as soon as a worker is free.")
    if not coming.due:
        return _("Nothing waits, so no run is due. One comes when something new is stored.")
    if coming.not_before is not None and coming.not_before > now:
        return _("The last run failed, so the next one waits %(when)s.") % {"when": relative(coming.not_before, now)}
    group = min(coming.due, key=lambda one: (max(coming.due[one], now), list(Group).index(one)))
    return _("The first thing that is due: “%(group)s”.") % {"group": words.GROUPS[group]}


def made_view(made: Made, now: datetime) -> tuple[list[Shown], list[tuple[str, int]]]:
    """Describe what a run made: memories under headings, and review items by kind."""
    parts = [
        (_("Facts that it drew"), made.facts, False),
        (_("What it concluded"), made.concluded, False),
        (_("What it archived"), made.archived, True),
        (_("Statements that made way for newer ones"), made.superseded, True),
    ]
    shown = [_shown(heading, some, now, restorable=back) for heading, some, back in parts if some.count]
    return shown, [(str(REVIEW_KINDS.get(kind, kind)), count) for kind, count in sorted(made.reviews.items())]


def _shown(heading: str, some: Some, now: datetime, *, restorable: bool) -> Shown:
    cards = tuple(card(row, now, characters=PREVIEW_CHARACTERS) for row in some.rows)
    return Shown(heading, cards, some.count, restorable)


def _stage(report: Mapping[str, Any]) -> StageView:
    counts = [(words.counted(name), count) for name, count in report["counts"].items() if count and name != MODULARITY]
    reason = report["skipped_reason"]
    notes = [one for one in report["notes"] if one != reason]
    return StageView(
        name=words.stage(report["name"]),
        group=str(words.GROUPS.get(report["group"], report["group"])),
        state=report["state"],
        state_label=str(words.STAGE_STATES.get(report["state"], report["state"])),
        why=words.sentence(reason) if reason else "",
        counts=tuple(counts),
        notes=tuple(words.sentence(note) for note in notes),
    )


def _outcome(stages: tuple[StageView, ...]) -> str:
    """Say what a run came to in one line: its largest counts that tell of something new."""
    news = {words.counted(new) for new in _NEWS}
    told: Counter[str] = Counter()
    for one in stages:
        if one.state == "done":
            # Several stages may make what people call the same.
            for name, count in one.counts:
                told[name] += count if name in news else 0
    return ", ".join([local(f"{name}: {count:,}") for name, count in told.items() if count][:MOST_TOLD])


_NEWS: Final = ("new", "entities_new", "relations_new", "connections", "insights", "patterns", "archived", "session",
                "learned", "retired")  # fmt: skip


def _numbers(run: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Give the numbers of a run with their names, without those that are nothing."""
    found: list[tuple[str, int | None, Callable[[int], str]]] = [
        (_("memories read"), run["rows_seen"], str),
        (pgettext("amount", "read"), run["bytes_seen"], size),
        (_("left out"), run["bytes_skipped"], size),
        (_("batches"), run["batches"], str),
        (_("memories left for the next run"), run["backlog_rows"], str),
        (_("left for the next run"), run["backlog_bytes"], size),
        (_("writes that failed"), run["failed_writes"], str),
        (_("questions to the language model"), run["llm_calls"], str),
        (_("of these failed"), run["llm_failures"], str),
        (_("tokens asked"), run["prompt_tokens"], str),
        (_("tokens answered"), run["completion_tokens"], str),
    ]
    return tuple((name, written(number)) for name, number, written in found if number)


def _duration(started: datetime | None, finished: datetime | None, now: datetime) -> str:
    if started is None:
        return ""
    seconds = max(((finished or now) - started).total_seconds(), 0.0)
    if seconds < 1:
        return _("under a second")
    if seconds < 60:
        whole = round(seconds)
        return ngettext("%(count)s second", "%(count)s seconds", whole) % {"count": whole}
    minutes = round(seconds / 60)
    return ngettext("%(count)s minute", "%(count)s minutes", minutes) % {"count": minutes}
