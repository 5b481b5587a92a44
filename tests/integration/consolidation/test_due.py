"""Who is taken up and when: triggers, fairness, making way, pauses, and what an idle machine asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import LanguageModelUnavailable
from memory.models import DueWork, RunState, RunTrigger, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation import due, runner
from memory.services.consolidation.due import consolidate_due
from memory.services.consolidation.runs import ask_for_run
from memory.services.consolidation.triggers import call_for_consolidation
from memory.services.drafts import Draft
from memory.services.sessions import close_session, list_sessions
from memory.services.settings import change_settings
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.consolidation.running import (
    activity_of,
    does,
    draws,
    draws_all,
    due_of,
    knowledge,
    quiet,
    raises,
    runs_of,
    stages,
    state,
    undrawn,
)
from tests.integration.consolidation.stage import Stopped

NOW, RETRY, SOME_TIME = DueWork.CONSOLIDATE_NOW, DueWork.CONSOLIDATE_RETRY, DueWork.CONSOLIDATE


def say(owner: Actor, *texts: str) -> None:
    ingest_turns(actor=owner, session="talk", turns=[TurnDraft(draft=Draft(text=text, role="user")) for text in texts])


def leave_work_waiting(owner: Actor, time: Stopped) -> None:
    DueWork.objects.create(owner_id=owner.owner_id, job=DueWork.ERASE, due_at=time.at - timedelta(seconds=6))


class TestTriggers:
    def test_turns_are_counted_and_the_fifth_makes_a_run_due(self, alice: Actor, time: Stopped) -> None:
        quiet(alice)
        say(alice, "one", "two", "three", "four")
        assert due_of(alice) == {SOME_TIME: time.at + timedelta(minutes=5)}
        say(alice, "five")
        assert due_of(alice) == {SOME_TIME: time.at}

    def test_a_conversation_that_is_closed_makes_a_run_due(self, alice: Actor, time: Stopped) -> None:
        quiet(alice)
        say(alice, "one", "two")
        session = list_sessions(actor=alice, after=None, size=1)[0]
        close_session(actor=alice, session_id=session.pk)
        assert due_of(alice) == {SOME_TIME: time.at}

    def test_closing_one_without_consolidation_makes_none_due(self, alice: Actor, time: Stopped) -> None:
        quiet(alice, consolidation=False)
        say(alice, "one", "two")
        session = list_sessions(actor=alice, after=None, size=1)[0]
        close_session(actor=alice, session_id=session.pk)
        assert due_of(alice) == {}

    def test_the_number_of_turns_is_a_setting(self, alice: Actor, time: Stopped) -> None:
        quiet(alice, consolidation_every_turns=2)
        say(alice, "one", "two")
        assert due_of(alice) == {SOME_TIME: time.at}

    def test_statements_make_it_due_after_the_interval(self, alice: Actor, time: Stopped) -> None:
        quiet(alice, consolidation_every_minutes=7)
        state(alice, "Likes tea.")
        first = time.at
        time.pass_(minutes=1)
        state(alice, "Likes coffee.")
        assert due_of(alice) == {SOME_TIME: first + timedelta(minutes=7)}

    def test_on_write_it_is_due_at_once(self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch) -> None:
        quiet(alice, consolidation_on_write=True)
        stages(monkeypatch, knowledge(draws_all))
        state(alice, "Likes tea.")
        assert due_of(alice) == {SOME_TIME: time.at}
        consolidate_due()
        assert [run.trigger for run in runs_of(alice)] == [RunTrigger.WRITE]

    def test_off_notes_nothing_and_on_looks_again(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(draws_all))
        quiet(alice, consolidation=False)
        say(alice, *"abcdef")
        assert due_of(alice) == {}
        change_settings(actor=alice, changes={"consolidation": True})
        consolidate_due()
        assert undrawn(alice) == 0

    def test_what_no_write_has_noted_is_found_by_the_hour(
        self, alice: Actor, mallory: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(draws_all))
        quiet(alice)
        quiet(mallory, consolidation=False)
        state(alice, "Likes tea.")
        DueWork.objects.all().delete()
        time.pass_(hours=1)
        assert call_for_consolidation() == 1
        assert call_for_consolidation() == 0
        assert consolidate_due()["runs"] == 1
        assert undrawn(alice) == 0

    @pytest.mark.parametrize(
        ("texts", "passed", "trigger"),
        [("abcde", 0, RunTrigger.COUNT), ("abcd", 5, RunTrigger.SCHEDULE)],
        ids=["count", "schedule"],
    )
    def test_the_run_says_what_began_it(
        self,
        alice: Actor,
        time: Stopped,
        monkeypatch: pytest.MonkeyPatch,
        texts: str,
        passed: int,
        trigger: RunTrigger,
    ) -> None:
        stages(monkeypatch, knowledge(draws_all))
        quiet(alice)
        say(alice, *texts)
        time.pass_(minutes=passed)
        consolidate_due()
        assert [run.trigger for run in runs_of(alice)] == [trigger]
        assert activity_of(alice).turns_since_consolidation == 0
        assert due_of(alice) == {}


class TestRest:
    def test_a_backlog_is_worked_off_batch_by_batch(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(draws(2)))
        quiet(alice)
        say(alice, *"abcde")
        consolidate_due()
        assert [(run.rows_seen, run.backlog_rows) for run in runs_of(alice)] == [(2, 3), (2, 1), (1, 0)]
        assert due_of(alice) == {}

    def test_one_large_backlog_starves_nobody(
        self, make_owner: Callable[..., Actor], time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        order: list[Any] = []

        def moves_on(context: Any) -> Any:
            order.append(context.actor.owner_id)
            time.pass_(seconds=1)
            return draws(1)(context)

        stages(monkeypatch, knowledge(moves_on))
        large, *small = [make_owner(name) for name in ("large", "first", "second", "third")]
        for owner in (large, *small):
            quiet(owner, consolidation_every_turns=1)
            say(owner, *("abcdef" if owner is large else "a"))
            time.pass_(seconds=1)
        consolidate_due()
        expected = [large, *small]
        assert order[:4] == [owner.owner_id for owner in expected]
        assert order.count(large.owner_id) == 6
        assert len(order) == 9

    def test_time_that_was_up_is_gone_on_with(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(due, "RUN_SECONDS", 0)
        stages(monkeypatch, knowledge(draws_all, "one"), knowledge(draws_all, "two"))
        quiet(alice)
        say(alice, *"abcde")
        consolidate_due(begin_seconds=0)
        assert due_of(alice) == {SOME_TIME: time.at}

    def test_a_row_that_no_stage_takes_does_not_begin_runs_without_end(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(does(lambda context: None)))
        quiet(alice, consolidation_on_write=True)
        state(alice, "Likes tea.")
        time.pass_(seconds=1)
        assert consolidate_due()["runs"] == 1
        assert due_of(alice) == {SOME_TIME: time.at + timedelta(minutes=5)}


class TestMakingWay:
    def test_a_run_that_would_begin_waits_a_minute(
        self, alice: Actor, mallory: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(draws_all))
        quiet(alice)
        say(alice, *"abcde")
        leave_work_waiting(mallory, time)
        assert consolidate_due() == {"runs": 0, "deferred": 1}
        assert due_of(alice) == {SOME_TIME: time.at + timedelta(seconds=60)}
        assert runs_of(alice) == []

    def test_one_by_hand_does_not(
        self, alice: Actor, mallory: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(draws_all))
        quiet(alice)
        say(alice, "a")
        leave_work_waiting(mallory, time)
        ask_for_run(actor=alice)
        assert consolidate_due()["runs"] == 1
        assert undrawn(alice) == 0

    def test_work_that_a_worker_is_about_to_take_is_not_waiting(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(draws_all))
        quiet(alice)
        say(alice, *"abcde")
        DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.ERASE, due_at=time.at - timedelta(seconds=1))
        DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.TOKENS, due_at=time.at - timedelta(hours=1))
        assert consolidate_due()["runs"] == 1

    def test_one_that_has_begun_ends_and_goes_on_a_minute_later(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def somebody_deletes(context: Any) -> None:
            if not DueWork.objects.filter(job=DueWork.ERASE).exists():
                leave_work_waiting(alice, time)

        stages(monkeypatch, knowledge(does(somebody_deletes), "one"), knowledge(draws_all, "two"))
        quiet(alice)
        say(alice, *"abcde")
        consolidate_due()
        assert [(run.state, run.error_code) for run in runs_of(alice)] == [(RunState.DEFERRED, "work.waiting")]
        assert due_of(alice) == {SOME_TIME: time.at + timedelta(seconds=60)}
        DueWork.objects.filter(job=DueWork.ERASE).update(due_at=time.at + timedelta(hours=1))
        time.pass_(seconds=60)
        consolidate_due()
        assert undrawn(alice) == 0

    def test_memory_that_is_switched_off_lets_everything_wait(
        self, alice: Actor, time: Stopped, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        quiet(alice)
        say(alice, *"abcde")
        settings.MEMORY_ENABLED = False
        assert consolidate_due() == {"runs": 0, "deferred": 1}


class TestErrors:
    def test_a_failed_run_is_tried_again_after_its_pause(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(raises(LanguageModelUnavailable())))
        quiet(alice)
        say(alice, *"abcde")
        consolidate_due()
        again = time.at + timedelta(seconds=15)
        assert due_of(alice) == {SOME_TIME: again, RETRY: again}
        say(alice, "f")
        assert consolidate_due()["runs"] == 0
        stages(monkeypatch, knowledge(draws_all))
        time.pass_(seconds=15)
        assert consolidate_due()["runs"] == 1
        assert due_of(alice) == {}
        assert [run.state for run in runs_of(alice)] == [RunState.FAILED, RunState.DONE]

    def test_what_there_is_no_need_for_any_more_is_not_tried_without_end(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(raises(LanguageModelUnavailable())))
        quiet(alice)
        say(alice, *"abcde")
        consolidate_due()
        with owner_scope(alice.owner_id):
            from memory.models import Memory

            Memory.objects.update(extracted_at=time.at)
        time.pass_(minutes=10)
        assert consolidate_due()["runs"] == 0
        assert due_of(alice) == {}

    def test_one_owner_whose_keys_are_gone_stops_nobody(
        self, alice: Actor, mallory: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from memory.errors import KeysUnavailable

        def opens(context: Any) -> Any:
            if context.actor.owner_id == alice.owner_id:
                raise KeysUnavailable
            return draws_all(context)

        stages(monkeypatch, knowledge(opens))
        for owner in (alice, mallory):
            quiet(owner)
            say(owner, *"abcde")
        assert consolidate_due()["runs"] == 2
        assert undrawn(mallory) == 0
        assert [run.error_code for run in runs_of(alice)] == ["keys.unavailable"]


class TestByHand:
    def test_a_request_is_done_by_the_next_worker(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stages(monkeypatch, knowledge(draws_all))
        quiet(alice)
        state(alice, "Likes tea.")
        asked = ask_for_run(actor=alice)
        assert due_of(alice)[NOW] == time.at
        consolidate_due()
        (row,) = runs_of(alice)
        assert (row.pk, row.state, row.trigger) == (asked.pk, RunState.DONE, RunTrigger.HAND)
        assert undrawn(alice) == 0
        assert NOW not in due_of(alice)

    def test_one_that_was_killed_is_done_to_its_end(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Killed(BaseException):
            """What no handler of errors catches."""

        quiet(alice)
        stages(
            monkeypatch,
            knowledge(does(lambda context: None), "one"),
            knowledge(raises(Killed()), "two"),  # type: ignore[arg-type]
        )
        ask_for_run(actor=alice)
        with pytest.raises(Killed):
            consolidate_due()
        assert [run.state for run in runs_of(alice)] == [RunState.RUNNING]
        stages(monkeypatch, knowledge(draws_all, "two"))
        time.pass_(minutes=2)
        assert consolidate_due()["runs"] == 0
        time.pass_(seconds=due.CLAIMED_FOR.total_seconds())
        assert consolidate_due()["runs"] == 1
        assert [(run.state, run.trigger) for run in runs_of(alice)] == [
            (RunState.INTERRUPTED, RunTrigger.HAND),
            (RunState.DONE, RunTrigger.HAND),
        ]

    def test_what_there_was_no_time_for_is_asked_for_again(
        self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(due, "RUN_SECONDS", 0)
        stages(monkeypatch, knowledge(draws_all, "one"), knowledge(draws_all, "two"))
        quiet(alice)
        ask_for_run(actor=alice)
        consolidate_due(begin_seconds=0)
        assert NOW in due_of(alice)
        monkeypatch.setattr(due, "RUN_SECONDS", 60)
        time.pass_(seconds=6)
        consolidate_due()
        assert [(run.state, run.error_code, run.trigger) for run in runs_of(alice)] == [
            (RunState.DEFERRED, "time.up", RunTrigger.HAND),
            (RunState.DONE, "", RunTrigger.HAND),
        ]
        assert due_of(alice) == {}


def test_an_idle_tick_asks_the_same_for_any_number_of_owners(make_owner: Callable[..., Actor], time: Stopped) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert consolidate_due() == {"runs": 0, "deferred": 0}
        return len(queries)

    first = make_owner("first")
    quiet(first)
    say(first, "a")
    one = asked()
    for count in range(5):
        owner = make_owner(f"further{count}")
        quiet(owner)
        say(owner, "a")
    assert asked() == one == 3


def test_the_claim_of_a_killed_worker_comes_up_again(alice: Actor, time: Stopped) -> None:
    DueWork.objects.create(owner_id=alice.owner_id, job=SOME_TIME, due_at=time.at)
    assert due._claim([SOME_TIME], time.at) == (alice.owner_id, SOME_TIME)
    assert due._claim([SOME_TIME], time.at) is None
    time.pass_(seconds=due.CLAIMED_FOR.total_seconds())
    assert due._claim([SOME_TIME], time.at) == (alice.owner_id, SOME_TIME)


def test_a_run_stays_below_the_time_out_of_the_queue(settings: Any) -> None:
    longest_stage = 3 * settings.LLM_TIMEOUT
    assert due.BEGIN_SECONDS + runner.RUN_SECONDS + longest_stage < settings.Q_CLUSTER["timeout"]
