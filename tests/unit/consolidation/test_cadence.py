"""When stages are due, for every rule on both sides of its moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.services.consolidation.cadence import (
    DIVIDE_EVERY,
    LOOK_EVERY,
    Situation,
    counts_full,
    due_groups,
    due_times,
    next_due,
    pause_after_errors,
    switched_on,
)
from memory.services.consolidation.groups import Group
from memory.services.settings_table import OWNER_SETTINGS

# A Wednesday.
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 5, tzinfo=UTC)
SUNDAY = datetime(2026, 3, 8, tzinfo=UTC)
A_SECOND = timedelta(seconds=1)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def chosen(**changes: Any) -> dict[str, Any]:
    """Give the default settings with everything off that a test does not switch on."""
    off = {"summaries": False, "reflection": False, "skills": False, "forgetting": False, "communities": False}
    return {name: one.default for name, one in OWNER_SETTINGS.items()} | off | changes


def at_of(group: Group, settings: dict[str, Any], **known: Any) -> datetime | None:
    return due_times(Situation(settings=settings, **known)).get(group)


class TestKnowledge:
    def test_a_backlog_is_due_after_the_interval(self) -> None:
        assert at_of(Group.KNOWLEDGE, chosen(), backlog_since=NOON) == NOON + minutes(5)

    def test_the_interval_counts_from_the_last_run(self) -> None:
        found = at_of(Group.KNOWLEDGE, chosen(), backlog_since=NOON, consolidated_at=NOON + minutes(2))
        assert found == NOON + minutes(7)

    def test_without_a_backlog_it_is_never_due(self) -> None:
        assert at_of(Group.KNOWLEDGE, chosen(), turns=100) is None

    @pytest.mark.parametrize(("turns", "due"), [(4, False), (5, True), (6, True)])
    def test_enough_turns_are_due_at_once(self, turns: int, due: bool) -> None:
        situation = Situation(settings=chosen(), backlog_since=NOON, turns=turns)
        assert (due_groups(situation, NOON) == (Group.KNOWLEDGE,)) is due

    def test_zero_turns_never_begin_a_run(self) -> None:
        assert not counts_full(chosen(consolidation_every_turns=0), 1_000)

    def test_zero_minutes_leave_it_to_turns(self) -> None:
        assert at_of(Group.KNOWLEDGE, chosen(consolidation_every_minutes=0), backlog_since=NOON, turns=4) is None

    def test_on_write_is_at_once_for_what_no_run_has_seen(self) -> None:
        on_write = chosen(consolidation_on_write=True)
        assert at_of(Group.KNOWLEDGE, on_write, backlog_since=NOON) == NOON
        seen = at_of(Group.KNOWLEDGE, on_write, backlog_since=NOON, consolidated_at=NOON + A_SECOND)
        assert seen == NOON + A_SECOND + minutes(5)

    def test_what_failed_is_due_when_it_is_to_be_tried_again(self) -> None:
        assert at_of(Group.KNOWLEDGE, chosen(), retry_at=NOON) == NOON

    def test_what_failed_and_is_not_taken_does_not_begin_runs_without_end(self) -> None:
        found = at_of(Group.KNOWLEDGE, chosen(), retry_at=NOON, consolidated_at=NOON + A_SECOND)
        assert found == NOON + A_SECOND + minutes(1)

    def test_what_was_left_is_due_at_once(self) -> None:
        left = {Group.KNOWLEDGE: NOON}
        assert at_of(Group.KNOWLEDGE, chosen(), backlog_since=NOON, consolidated_at=NOON, left=left) == NOON


class TestSleep:
    def test_it_can_be_switched_off(self) -> None:
        assert at_of(Group.SLEEP, chosen(sleep="off"), unslept=3, unslept_since=NOON) is None

    @pytest.mark.parametrize(("rows", "due"), [(2, None), (3, NOON)])
    def test_it_needs_enough_rows(self, rows: int, due: datetime | None) -> None:
        assert at_of(Group.SLEEP, chosen(sleep="rules"), unslept=rows, unslept_since=NOON) == due

    def test_it_waits_its_interval(self) -> None:
        found = at_of(Group.SLEEP, chosen(sleep="rules"), unslept=3, unslept_since=NOON, slept_at=NOON)
        assert found == NOON + minutes(30)


class TestSummaries:
    ON = chosen(summaries=True)

    def test_nothing_said_is_nothing_to_sum_up(self) -> None:
        assert at_of(Group.SUMMARIES, self.ON) is None

    def test_a_quiet_owner_is_due_after_the_idle_time(self) -> None:
        assert at_of(Group.SUMMARIES, self.ON, last_turn_at=NOON, sessions_open=True) == NOON + minutes(30)

    def test_a_session_that_was_closed_is_due_at_once(self) -> None:
        known = {"last_turn_at": NOON, "sessions_open": True, "session_due_at": NOON + A_SECOND}
        assert at_of(Group.SUMMARIES, self.ON, **known) == NOON + A_SECOND

    def test_a_session_that_was_left_as_it_is_waits_for_the_day(self) -> None:
        known = {"last_turn_at": NOON, "sessions_open": True, "summarised_at": NOON + minutes(31)}
        assert at_of(Group.SUMMARIES, self.ON, **known) == MIDNIGHT

    def test_the_day_is_summed_up_once(self) -> None:
        known = {"last_turn_at": NOON, "summarised_at": MIDNIGHT, "reflected_at": SUNDAY}
        assert at_of(Group.SUMMARIES, self.ON, **known) is None

    def test_the_week_is_looked_back_on_on_sunday(self) -> None:
        known = {"last_turn_at": NOON, "summarised_at": MIDNIGHT}
        assert at_of(Group.SUMMARIES, self.ON, **known) == SUNDAY

    def test_a_missed_sunday_is_made_up_for(self) -> None:
        known = {"last_turn_at": NOON, "summarised_at": MIDNIGHT, "reflected_at": SUNDAY - timedelta(days=14)}
        assert at_of(Group.SUMMARIES, self.ON, **known) == SUNDAY - timedelta(days=7)

    def test_a_sunday_on_which_it_was_done_is_not_done_again(self) -> None:
        spoken = SUNDAY + minutes(60)
        known = {"last_turn_at": spoken, "summarised_at": SUNDAY + minutes(120), "reflected_at": SUNDAY}
        assert at_of(Group.SUMMARIES, self.ON, **known) == SUNDAY + timedelta(days=1)

    @pytest.mark.parametrize("name", ["summaries", "reflection", "skills"])
    def test_any_of_its_parts_switches_it_on(self, name: str) -> None:
        assert Group.SUMMARIES in switched_on(chosen(**{name: True}))


class TestForgetting:
    ON = chosen(forgetting=True)

    def test_it_is_due_a_day_after_the_last_time(self) -> None:
        known = {"memories": True, "forgotten_at": NOON}
        assert at_of(Group.FORGETTING, self.ON, **known) == NOON + timedelta(hours=24)

    def test_the_first_time_comes_with_the_first_run(self) -> None:
        assert due_groups(Situation(settings=self.ON, memories=True), NOON) == (Group.FORGETTING,)

    def test_nothing_is_forgotten_where_nothing_is_or_everything_is_kept(self) -> None:
        assert at_of(Group.FORGETTING, self.ON) is None
        assert at_of(Group.FORGETTING, chosen(forgetting=True, retention_policy="keep"), memories=True) is None


class TestCommunities:
    ON = chosen(communities=True)

    def test_an_unchanged_graph_is_not_divided_again(self) -> None:
        assert at_of(Group.COMMUNITIES, self.ON, divided_at=NOON) is None

    def test_a_changed_one_waits_for_a_while_after_the_last_division(self) -> None:
        assert at_of(Group.COMMUNITIES, self.ON, graph_changed_at=NOON) == NOON
        changed = {"graph_changed_at": NOON, "divided_at": NOON - A_SECOND}
        assert at_of(Group.COMMUNITIES, self.ON, **changed) == NOON - A_SECOND + DIVIDE_EVERY

    def test_they_join_a_run_that_changes_the_graph(self) -> None:
        situation = Situation(settings=self.ON, backlog_since=NOON - minutes(5))
        assert due_groups(situation, NOON) == (Group.KNOWLEDGE, Group.COMMUNITIES)


class TestPrivacy:
    ON = chosen(privacy_model="all")

    @pytest.mark.parametrize("which", ["off", "flagged"])
    def test_only_who_wants_all_texts_read_has_it_in_runs(self, which: str) -> None:
        assert at_of(Group.PRIVACY, chosen(privacy_model=which), unclassified_since=NOON) is None

    def test_what_was_not_read_is_due_at_once_and_then_after_a_while(self) -> None:
        assert at_of(Group.PRIVACY, self.ON) is None
        assert at_of(Group.PRIVACY, self.ON, unclassified_since=NOON) == NOON
        later = at_of(Group.PRIVACY, self.ON, unclassified_since=NOON, classified_at=NOON + A_SECOND)
        assert later == NOON + A_SECOND + LOOK_EVERY

    def test_what_a_run_has_left_is_due_at_once(self) -> None:
        known = {"unclassified_since": NOON, "classified_at": NOON, "left": {Group.PRIVACY: NOON + A_SECOND}}
        assert at_of(Group.PRIVACY, self.ON, **known) == NOON + A_SECOND


class TestTogether:
    def test_the_master_switch_stops_everything(self) -> None:
        everything = {name: one.default for name, one in OWNER_SETTINGS.items()} | {"consolidation": False}
        situation = Situation(
            settings=everything, backlog_since=NOON, memories=True, graph_changed_at=NOON, last_turn_at=NOON
        )
        assert due_times(situation) == {}
        assert next_due(situation) is None

    def test_the_groups_of_a_run_stand_in_its_order(self) -> None:
        settings = {name: one.default for name, one in OWNER_SETTINGS.items()} | {"privacy_model": "all"}
        situation = Situation(
            settings=settings,
            backlog_since=NOON - timedelta(days=1),
            unslept=3,
            unslept_since=NOON,
            memories=True,
            unclassified_since=NOON,
            graph_changed_at=NOON,
            last_turn_at=NOON - timedelta(days=1),
        )
        assert due_groups(situation, NOON) == tuple(Group)

    def test_the_next_run_is_that_of_the_first_group(self) -> None:
        settings = chosen(forgetting=True)
        situation = Situation(settings=settings, memories=True, forgotten_at=NOON, backlog_since=NOON)
        assert next_due(situation) == NOON + minutes(5)
        assert due_groups(situation, NOON + minutes(5) - A_SECOND) == ()
        assert due_groups(situation, NOON + minutes(5)) == (Group.KNOWLEDGE,)

    def test_after_an_error_nothing_begins_before_the_pause_has_ended(self) -> None:
        situation = Situation(settings=chosen(), turns=5, backlog_since=NOON, not_before=NOON + A_SECOND)
        assert due_groups(situation, NOON) == ()
        assert next_due(situation) == NOON + A_SECOND
        assert due_groups(situation, NOON + A_SECOND) == (Group.KNOWLEDGE,)


class TestPauses:
    def test_they_grow_up_to_the_longest(self) -> None:
        found = [pause_after_errors(errors, chosen(consolidation_every_minutes=60)) for errors in range(1, 8)]
        assert [pause.total_seconds() for pause in found] == [15, 30, 60, 120, 240, 300, 300]

    def test_the_interval_of_runs_is_another_bound(self) -> None:
        assert pause_after_errors(9, chosen(consolidation_every_minutes=1)) == minutes(1)

    def test_without_an_interval_the_longest_counts(self) -> None:
        assert pause_after_errors(1_000, chosen(consolidation_every_minutes=0)) == minutes(5)
