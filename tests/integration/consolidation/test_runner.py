"""One run: reports as they come, errors kept to their stage, the lease, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection

from memory.errors import LanguageModelUnavailable
from memory.ids import new_id
from memory.models import ConsolidationLease, ConsolidationRun, DueWork, RunState, RunTrigger, owner_scope
from memory.ports import Usage
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.consolidation import lease, runner
from memory.services.consolidation.order import Group, Step
from memory.services.consolidation.runner import run_consolidation
from memory.services.consolidation.stages import FAILED, RunStopped, StageContext, StageReport
from tests.integration.consolidation.running import activity_of, does, draws_all, knowledge, raises, runs_of, state
from tests.integration.consolidation.stage import Stopped


def run(owner: Actor, *steps: Step, trigger: RunTrigger = RunTrigger.SCHEDULE, **options: Any) -> ConsolidationRun:
    done = run_consolidation(
        owner_id=owner.owner_id, trigger=trigger, groups=list({step.group for step in steps}), steps=steps, **options
    )
    assert done is not None
    return done


def names(row: ConsolidationRun) -> list[tuple[str, str]]:
    return [(report["name"], report["state"]) for report in row.stages]


class TestReports:
    def test_a_run_that_is_done_says_what_it_did(self, alice: Actor) -> None:
        def stage(context: StageContext) -> Sequence[StageReport]:
            context.totals.batches, context.totals.rows_seen, context.totals.bytes_seen = 2, 7, 300
            context.totals.bytes_skipped, context.totals.failed_writes = 20, 1
            context.spend(Usage(3, 1, 500, 40))
            return [StageReport("first", counts={"facts": 4}, notes=["odd"]), StageReport("second")]

        found = run(alice, knowledge(stage))
        assert found.state == RunState.DONE
        assert found.finished_at is not None
        assert names(found) == [("first", "done"), ("second", "done")]
        assert found.stages[0]["counts"] == {"facts": 4}
        assert found.stages[0]["notes"] == ["odd"]
        assert (found.batches, found.rows_seen, found.bytes_seen, found.bytes_skipped) == (2, 7, 300, 20)
        assert (found.llm_calls, found.llm_failures, found.prompt_tokens, found.completion_tokens) == (3, 1, 500, 40)
        assert found.failed_writes == 1
        assert found.extractor == "rules"
        assert found.risk_class == "none"

    def test_each_report_is_there_as_soon_as_its_stage_is_done(self, alice: Actor) -> None:
        seen: list[Any] = []

        def look(context: StageContext) -> None:
            (row,) = runs_of(alice)
            seen.append((row.state, row.stage, names(row)))

        run(alice, knowledge(does(look), "one"), knowledge(does(look), "two"))
        assert seen == [
            ("running", "one", [("one", "waiting"), ("two", "waiting")]),
            ("running", "two", [("did", "done"), ("two", "waiting")]),
        ]

    def test_nobody_else_sees_it(self, alice: Actor, mallory: Actor) -> None:
        run(alice, knowledge(draws_all))
        assert runs_of(mallory) == []

    def test_a_wished_model_that_is_not_there_is_said(self, alice: Actor) -> None:
        from memory.services.settings import change_settings

        change_settings(actor=alice, changes={"consolidation_extractor": "llm"})
        found = run(alice, knowledge(draws_all))
        assert found.stages[0]["notes"] == ["extractor.unavailable"]
        assert found.extractor == "rules"


class TestErrors:
    def test_they_stay_with_their_stage(self, alice: Actor, caplog: pytest.LogCaptureFixture) -> None:
        def breaks_sql(context: StageContext) -> None:
            with owner_scope(alice.owner_id), connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")

        found = run(
            alice,
            knowledge(raises(LanguageModelUnavailable("what somebody said")), "asks"),
            knowledge(does(breaks_sql), "writes"),
            knowledge(raises(ValueError("what somebody said")), "computes"),
            knowledge(raises(DatabaseError("what somebody said")), "reads"),
            knowledge(draws_all, "draw"),
        )
        assert names(found) == [
            ("asks", "failed"), ("writes", "failed"), ("computes", "failed"), ("reads", "failed"), ("draw", "done"),
        ]  # fmt: skip
        assert [report["skipped_reason"] for report in found.stages] == [
            "llm.unavailable", "database.failed", "internal", "database.failed", "",
        ]  # fmt: skip
        assert (found.state, found.error_code) == (RunState.FAILED, "llm.unavailable")
        assert "what somebody said" not in caplog.text
        assert "ValueError in running.py" in caplog.text

    def test_a_report_that_says_failed_makes_the_run_failed(self, alice: Actor) -> None:
        failing = StageReport("asks", state=FAILED, notes=["llm.unusable"])
        found = run(alice, knowledge(lambda context: [failing]))
        assert (found.state, found.error_code) == (RunState.FAILED, "llm.unusable")

    def test_pauses_grow_and_end_with_success(self, alice: Actor, time: Stopped) -> None:
        failing = knowledge(raises(LanguageModelUnavailable()))
        pauses = []
        for _ in range(3):
            run(alice, failing)
            after = activity_of(alice).consolidate_after
            assert after is not None
            pauses.append((after - now()).total_seconds())
        assert pauses == [15, 30, 60]
        assert activity_of(alice).consolidation_errors == 3
        assert activity_of(alice).last_consolidated_at is None
        run(alice, knowledge(draws_all))
        assert (activity_of(alice).consolidation_errors, activity_of(alice).consolidate_after) == (0, None)

    def test_settings_of_the_model_that_cannot_work_end_the_run(self, alice: Actor, settings: Any) -> None:
        from memory.services.settings import change_settings

        change_settings(actor=alice, changes={"consolidation_extractor": "llm"})
        settings.LLM_BASE_URL = "no address"
        found = run(alice, knowledge(draws_all))
        assert found.state == RunState.FAILED
        assert found.error_code == "provider.misconfigured"


class TestMarks:
    def test_turns_that_come_meanwhile_count_for_the_next_run(self, alice: Actor) -> None:
        from memory.services.turns import TurnDraft, ingest_turns

        def say(text: str) -> None:
            from memory.services.drafts import Draft

            ingest_turns(actor=alice, session="s", turns=[TurnDraft(draft=Draft(text=text, role="user"))])

        say("one")
        say("two")
        run(alice, knowledge(does(lambda context: say("three"))))
        assert activity_of(alice).turns_since_consolidation == 1

    @pytest.mark.parametrize(
        ("group", "mark"),
        [
            (Group.KNOWLEDGE, "last_consolidated_at"),
            (Group.SLEEP, "last_slept_at"),
            (Group.SUMMARIES, "last_summarised_at"),
            (Group.FORGETTING, "last_forgotten_at"),
        ],
        ids=str,
    )
    def test_a_group_that_is_finished_leaves_its_moment(
        self, alice: Actor, time: Stopped, group: Group, mark: str
    ) -> None:
        more = StageReport("x", notes=["more"])
        for unfinished in (raises(LanguageModelUnavailable()), lambda context: [more]):
            run(alice, Step("x", group, unfinished))
            assert getattr(activity_of(alice), mark) is None
        run(alice, Step("x", group, draws_all))
        assert getattr(activity_of(alice), mark) == time.at


class TestLease:
    def test_two_runs_of_one_owner_exclude_each_other(self, alice: Actor, mallory: Actor) -> None:
        second: list[ConsolidationRun | None] = []

        def begin_another(context: StageContext) -> None:
            for owner in (alice, mallory):
                second.append(
                    run_consolidation(
                        owner_id=owner.owner_id,
                        trigger=RunTrigger.SCHEDULE,
                        groups=[Group.KNOWLEDGE],
                        steps=[knowledge(draws_all)],
                    )
                )

        run(alice, knowledge(does(begin_another)))
        assert second[0] is None
        assert second[1] is not None
        assert len(runs_of(alice)) == 1

    def test_a_silent_one_is_taken_over(self, alice: Actor, time: Stopped) -> None:
        dead = _dies(alice)
        time.pass_(seconds=lease.longest_silence().total_seconds() - 1)
        assert not _begins(alice)
        time.pass_(seconds=2)
        assert _begins(alice)
        first, second = runs_of(alice)
        assert (first.pk, first.state, first.error_code) == (dead, RunState.INTERRUPTED, "lease.lost")
        assert first.finished_at == second.started_at
        assert second.state == RunState.DONE

    def test_a_heartbeat_from_the_future_does_not_hold_it(self, alice: Actor, time: Stopped) -> None:
        _dies(alice)
        time.pass_(days=-30)
        assert _begins(alice)

    def test_whoever_has_lost_it_stops_and_writes_nothing_more(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(runner, "BEAT_SECONDS", 0.0)
        reached: list[str] = []

        def overtaken(context: StageContext) -> None:
            other = new_id()
            with owner_scope(alice.owner_id):
                ConsolidationLease.objects.update(heartbeat_at=now() - timedelta(hours=1))
                assert lease.take(other, moment=now())
            with pytest.raises(RunStopped, match=r"lease\.lost"):
                context.beat()
            context.beat()

        found = run(alice, knowledge(does(overtaken), "one"), knowledge(does(lambda c: reached.append("two")), "two"))
        assert reached == []
        assert found.state == RunState.INTERRUPTED
        assert names(found) == [("one", "waiting"), ("two", "waiting")]
        with owner_scope(alice.owner_id):
            assert ConsolidationLease.objects.count() == 1

    def test_the_heartbeat_is_renewed(self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(runner, "BEAT_SECONDS", 0.0)
        beats: list[Any] = []

        def lives(context: StageContext) -> None:
            for _ in range(2):
                time.pass_(seconds=50)
                context.beat()
                with owner_scope(alice.owner_id):
                    beats.append(ConsolidationLease.objects.get().heartbeat_at == time.at)

        run(alice, knowledge(does(lives)))
        assert beats == [True, True]
        with owner_scope(alice.owner_id):
            assert not ConsolidationLease.objects.exists()


class TestEnds:
    def test_time_that_is_up_leaves_the_rest(self, alice: Actor) -> None:
        found = run(alice, knowledge(draws_all, "one"), Step("two", Group.FORGETTING, draws_all), seconds=0)
        assert (found.state, found.error_code) == (RunState.DEFERRED, "time.up")
        assert names(found) == [("draw", "done"), ("two", "waiting")]
        assert activity_of(alice).last_consolidated_at is not None
        assert activity_of(alice).last_forgotten_at is None
        assert activity_of(alice).consolidation_errors == 0

    def test_a_stage_that_is_stopped_within_is_to_be_done_again(self, alice: Actor) -> None:
        found = run(alice, knowledge(does(lambda context: context.beat()), "one"), seconds=0)
        assert names(found) == [("one", "stopped")]
        assert activity_of(alice).last_consolidated_at is None

    @pytest.mark.parametrize(
        ("trigger", "ends"), [(RunTrigger.SCHEDULE, RunState.DEFERRED), (RunTrigger.HAND, RunState.DONE)], ids=str
    )
    def test_users_work_comes_first_unless_somebody_asked(
        self, alice: Actor, trigger: RunTrigger, ends: RunState
    ) -> None:
        def somebody_deletes(context: StageContext) -> None:
            DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.ERASE, due_at=now() - timedelta(seconds=6))

        found = run(alice, knowledge(does(somebody_deletes), "one"), knowledge(draws_all, "two"), trigger=trigger)
        assert found.state == ends
        assert found.error_code == ("work.waiting" if ends == RunState.DEFERRED else "")

    def test_communities_wait_for_the_rest_of_a_backlog(self, alice: Actor) -> None:
        def leaves(context: StageContext) -> None:
            context.totals.backlog_rows = 3

        steps = (knowledge(does(leaves)), Step("divide", Group.COMMUNITIES, draws_all))
        assert names(run(alice, *steps)) == [("did", "done"), ("divide", "skipped")]
        assert names(run(alice, *steps, trigger=RunTrigger.HAND)) == [("did", "done"), ("draw", "done")]


def _dies(owner: Actor) -> Any:
    """Leave what a run leaves whose process is killed in its first stage."""

    class Killed(BaseException):
        """What no handler of errors catches."""

    with pytest.raises(Killed):
        run(owner, knowledge(raises(Killed())))  # type: ignore[arg-type]
    (row,) = runs_of(owner)
    assert row.state == RunState.RUNNING
    return row.pk


def _begins(owner: Actor) -> bool:
    state(owner, "Something to draw from.")
    done = run_consolidation(
        owner_id=owner.owner_id, trigger=RunTrigger.SCHEDULE, groups=[Group.KNOWLEDGE], steps=[knowledge(draws_all)]
    )
    return done is not None
