"""When stages are due: rules over settings and what is known of an owner, without a look at the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

from memory.services.consolidation.groups import Group

FORGET_EVERY: Final = timedelta(hours=24)
# Between two divisions of the graph: each looks at all of it, and one turn more hardly moves a community.
DIVIDE_EVERY: Final = timedelta(minutes=10)
# Between two looks for personal data that leave nothing to do; a model that fails is not asked more often either.
LOOK_EVERY: Final = timedelta(minutes=15)
# After a run, whatever has become due meanwhile to be tried once more.
RETRY_AFTER: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(seconds=300)
FIRST_PAUSE: Final = timedelta(seconds=15)
SUNDAY: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What decides when an owner's stages are due.

    Attributes:
        settings: the owner's, by name, with defaults.
        turns: how many were stored since the last run that drew from them.
        backlog_since: since when the oldest row waits from which nothing was drawn; None where none waits.
        retry_at: when the next extraction that failed is tried again.
        unslept: rows not slept over, counted up to `sleep_least_rows`.
        unslept_since: since when the oldest of them waits.
        memories: whether there is any memory at all.
        agents_fade: whether a policy that lets memories go was chosen for an agent alone.
        sessions_open: whether a session has turns that no summary tells of.
        session_due_at: when the first of these, of those that came since the last summaries, was closed or became idle.
        graph_changed_at: when the graph changed that its communities do not know yet; None where they know it.
        divided_at: when the communities were made.
        unclassified_since: since when the oldest memory waits that no language model has read for personal data; None
            where none waits, or all are not to be read.
        classified_at: when a run last looked for that.
        left: groups that the last run has left work of, and from when on it may be done.
        last_turn_at, consolidated_at, slept_at, forgotten_at, summarised_at, reflected_at: when it last happened.
        not_before: after an error, no run begins by itself before this moment.
    """

    settings: Mapping[str, Any]
    turns: int = 0
    backlog_since: datetime | None = None
    retry_at: datetime | None = None
    unslept: int = 0
    unslept_since: datetime | None = None
    memories: bool = False
    agents_fade: bool = False
    sessions_open: bool = False
    session_due_at: datetime | None = None
    graph_changed_at: datetime | None = None
    divided_at: datetime | None = None
    unclassified_since: datetime | None = None
    classified_at: datetime | None = None
    left: Mapping[Group, datetime] = field(default_factory=dict)
    last_turn_at: datetime | None = None
    consolidated_at: datetime | None = None
    slept_at: datetime | None = None
    forgotten_at: datetime | None = None
    summarised_at: datetime | None = None
    reflected_at: datetime | None = None
    not_before: datetime | None = None


def switched_on(settings: Mapping[str, Any]) -> frozenset[Group]:
    """Give the groups that an owner's settings let run; none where consolidation is off."""
    if not settings["consolidation"]:
        return frozenset()
    on = {
        Group.KNOWLEDGE: True,
        Group.SLEEP: settings["sleep"] != "off",
        Group.SUMMARIES: settings["summaries"] or settings["reflection"] or settings["skills"],
        Group.PRIVACY: settings["privacy_model"] == "all",
        Group.FORGETTING: settings["forgetting"],
        Group.COMMUNITIES: settings["communities"],
    }
    return frozenset(group for group, chosen in on.items() if chosen)


def due_times(situation: Situation) -> dict[Group, datetime]:
    """Give the moment at which each group is due; a group that is not there has nothing to do."""
    rules = {
        Group.KNOWLEDGE: _knowledge,
        Group.SLEEP: _sleep,
        Group.SUMMARIES: _summaries,
        Group.PRIVACY: _privacy,
        Group.FORGETTING: _forgetting,
        Group.COMMUNITIES: _communities,
    }
    found: dict[Group, datetime] = {}
    for group in switched_on(situation.settings):
        moments = [moment for moment in (rules[group](situation), situation.left.get(group)) if moment is not None]
        if moments:
            found[group] = min(moments)
    return found


def due_groups(situation: Situation, moment: datetime) -> tuple[Group, ...]:
    """Give the groups that a run of that moment has, in its order.

    Communities join whatever draws from texts, since that changes the graph; they are divided once for both.
    """
    if situation.not_before is not None and moment < situation.not_before:
        return ()
    due = {group for group, at in due_times(situation).items() if at <= moment}
    rested = situation.divided_at is None or situation.divided_at + DIVIDE_EVERY <= moment
    if Group.KNOWLEDGE in due and rested and Group.COMMUNITIES in switched_on(situation.settings):
        due.add(Group.COMMUNITIES)
    return tuple(group for group in Group if group in due)


def next_due(situation: Situation) -> datetime | None:
    """Give when the owner's next run is due, not before its pause after an error ends; None when nothing is to do."""
    moments = due_times(situation).values()
    if not moments:
        return None
    return max(min(moments), situation.not_before) if situation.not_before else min(moments)


def counts_full(settings: Mapping[str, Any], turns: int) -> bool:
    """Tell whether so many turns begin a run at once."""
    return bool(0 < settings["consolidation_every_turns"] <= turns)


def pause_after_errors(errors: int, settings: Mapping[str, Any]) -> timedelta:
    """Give how long to wait after so many errors in a row: doubling, at most the interval of runs and 300 seconds."""
    interval = timedelta(minutes=settings["consolidation_every_minutes"]) or LONGEST_PAUSE
    pause: timedelta = FIRST_PAUSE * 2 ** min(max(errors - 1, 0), 10)
    return min(pause, interval, LONGEST_PAUSE)


def week_over_at(spoken: datetime, reflected: datetime | None) -> datetime | None:
    """Give when the week is to be looked back on: on Sundays, where something was said since the last time.

    Args:
        spoken: when the last turn was stored.
        reflected: when the week was last looked back on.
    """
    if reflected is None:
        return _sunday_from(spoken)
    return _sunday_after(reflected) if reflected < spoken else None


def _knowledge(situation: Situation) -> datetime | None:
    settings, since, before, moments = situation.settings, situation.backlog_since, situation.consolidated_at, []
    if since is not None:
        # What a run has seen and left is no reason to run again at once.
        fresh = before is None or since > before
        if counts_full(settings, situation.turns) or (settings["consolidation_on_write"] and fresh):
            moments.append(since)
        if settings["consolidation_every_minutes"]:
            interval = timedelta(minutes=settings["consolidation_every_minutes"])
            moments.append(_latest(since, before) + interval)
    if situation.retry_at is not None:
        moments.append(situation.retry_at if before is None else max(situation.retry_at, before + RETRY_AFTER))
    return min(moments, default=None)


def _sleep(situation: Situation) -> datetime | None:
    if situation.unslept_since is None or situation.unslept < situation.settings["sleep_least_rows"]:
        return None
    if situation.slept_at is None:
        return situation.unslept_since
    return situation.slept_at + timedelta(minutes=situation.settings["sleep_every_minutes"])


def _summaries(situation: Situation) -> datetime | None:
    spoken, done = situation.last_turn_at, situation.summarised_at
    if spoken is None:
        return None
    moments = []
    if situation.session_due_at is not None:
        moments.append(situation.session_due_at)
    quiet = spoken + timedelta(minutes=situation.settings["session_idle_minutes"])
    if situation.sessions_open and (done is None or done < quiet):
        moments.append(quiet)
    day_over = _midnight(spoken) + timedelta(days=1)
    if done is None or done < day_over:
        moments.append(day_over)
    week_over = week_over_at(spoken, situation.reflected_at)
    if week_over is not None:
        moments.append(week_over)
    return min(moments, default=None)


def _privacy(situation: Situation) -> datetime | None:
    since, before = situation.unclassified_since, situation.classified_at
    if since is None or before is None:
        return since
    return max(since, before + LOOK_EVERY)


def _forgetting(situation: Situation) -> datetime | None:
    fades = situation.settings["retention_policy"] != "keep" or situation.agents_fade
    if not situation.memories or not fades:
        return None
    # Before the first time it is due with whatever else begins a run.
    return situation.forgotten_at + FORGET_EVERY if situation.forgotten_at else datetime(1970, 1, 1, tzinfo=UTC)


def _communities(situation: Situation) -> datetime | None:
    if situation.graph_changed_at is None:
        return None
    if situation.divided_at is None:
        return situation.graph_changed_at
    return max(situation.graph_changed_at, situation.divided_at + DIVIDE_EVERY)


def _latest(first: datetime, second: datetime | None) -> datetime:
    return first if second is None else max(first, second)


def _midnight(moment: datetime) -> datetime:
    """Give the beginning of the UTC day of a moment."""
    return datetime.combine(moment.astimezone(UTC).date(), time(), UTC)


def _sunday_from(moment: datetime) -> datetime:
    """Give the beginning of the Sunday on which a moment is, or else of the next one."""
    day = _midnight(moment)
    return day + timedelta(days=(SUNDAY - day.weekday()) % 7)


def _sunday_after(moment: datetime) -> datetime:
    """Give the beginning of the first Sunday that began after a moment."""
    day = _sunday_from(moment)
    return day if day > moment else day + timedelta(days=7)
