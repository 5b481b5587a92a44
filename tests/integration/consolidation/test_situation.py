"""What is read of an owner before it is decided what is due."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from memory.models import (
    CommunityState,
    ConsolidationRun,
    ExtractionFailure,
    Memory,
    OwnerActivity,
    RunState,
    RunTrigger,
    Session,
    Status,
    owner_scope,
)
from memory.services.actors import Actor
from memory.services.consolidation.cadence import Situation
from memory.services.consolidation.groups import Group
from memory.services.consolidation.reports import kept
from memory.services.consolidation.situation import backlog, look
from memory.services.consolidation.stages import StageReport
from memory.services.drafts import Draft
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.remember import remember
from memory.services.sessions import close_session
from memory.services.settings import current_settings
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.consolidation.stage import Stopped


def seen(owner: Actor) -> Situation:
    with owner_scope(owner.owner_id):
        return look(current_settings()["values"])


def state(owner: Actor, text: str, **fields: Any) -> UUID:
    return remember(actor=owner, draft=Draft(text=text, **fields)).memory_id


def say(owner: Actor, *roles: str, session: str = "talk", at: datetime | None = None) -> UUID:
    turns = [
        TurnDraft(draft=Draft(text=f"{session} {place}", role=role, occurred_at=at)) for place, role in enumerate(roles)
    ]
    session_id = ingest_turns(actor=owner, session=session, turns=turns).session_id
    assert session_id is not None
    return session_id


def change(owner: Actor, model: Any, **values: Any) -> None:
    with owner_scope(owner.owner_id):
        model.objects.update(**values)


def ended(owner: Actor, at: datetime, reports: list[tuple[StageReport, Group]], **fields: Any) -> None:
    with owner_scope(owner.owner_id):
        ConsolidationRun.objects.create(
            owner_id=owner.owner_id,
            trigger=RunTrigger.SCHEDULE,
            stages=[kept(report, group) for report, group in reports],
            started_at=at,
            finished_at=at,
            **{"state": RunState.DONE, **fields},
        )


class TestBacklog:
    def test_a_new_owner_has_none(self, alice: Actor, mallory: Actor) -> None:
        state(mallory, "Likes tea.")
        found = seen(alice)
        assert found.backlog_since is None
        assert not found.memories
        assert found.last_turn_at is None

    def test_the_oldest_row_that_waits(self, alice: Actor, time: Stopped) -> None:
        first = time.at
        drawn = state(alice, "Likes tea.")
        time.pass_(minutes=1)
        state(alice, "Likes coffee.")
        assert seen(alice).backlog_since == first
        with owner_scope(alice.owner_id):
            Memory.objects.filter(pk=drawn).update(extracted_at=time.at)
            assert backlog()[0] == 1
        assert seen(alice).backlog_since == time.at

    @pytest.mark.parametrize("kind", ["summary", "insight"])
    def test_what_was_drawn_itself_is_none(self, alice: Actor, kind: str) -> None:
        state(alice, "Al is fond of tea.", kind=kind)
        assert seen(alice).backlog_since is None

    def test_turns_of_tools_and_prompts_are_none(self, alice: Actor) -> None:
        say(alice, "system", "tool")
        assert seen(alice).backlog_since is None

    def test_archived_rows_are_none(self, alice: Actor) -> None:
        state(alice, "Likes tea.")
        change(alice, Memory, status=Status.ARCHIVED)
        assert seen(alice).backlog_since is None

    def test_what_failed_waits_for_its_next_attempt(self, alice: Actor, time: Stopped) -> None:
        memory_id = state(alice, "Likes tea.")
        later = time.at + timedelta(hours=1)
        with owner_scope(alice.owner_id):
            ExtractionFailure.objects.create(
                owner_id=alice.owner_id, memory_id=memory_id, code="llm.unusable", failed_at=time.at, next_at=later
            )
            assert backlog()[0] == 0
        found = seen(alice)
        assert (found.backlog_since, found.retry_at) == (None, later)
        time.pass_(hours=1)
        with owner_scope(alice.owner_id):
            assert backlog()[0] == 1
            ExtractionFailure.objects.update(next_at=None)
        assert seen(alice).retry_at is None


class TestSessions:
    def test_one_that_goes_on_is_due_when_it_is_idle(self, alice: Actor, time: Stopped) -> None:
        say(alice, "user")
        found = seen(alice)
        assert found.sessions_open
        assert found.session_due_at == time.at + timedelta(minutes=30)

    def test_a_closed_one_is_due_at_once(self, alice: Actor, time: Stopped) -> None:
        session_id = say(alice, "user")
        time.pass_(minutes=1)
        close_session(actor=alice, session_id=session_id)
        assert seen(alice).session_due_at == time.at

    @pytest.mark.parametrize("days", [-400, 400])
    def test_an_imported_one_is_idle_from_its_import_on(self, alice: Actor, time: Stopped, days: int) -> None:
        say(alice, "user", at=time.at + timedelta(days=days))
        assert seen(alice).session_due_at == time.at + timedelta(minutes=30)

    def test_one_that_the_last_summaries_left_is_not_due_again(self, alice: Actor, time: Stopped) -> None:
        say(alice, "user")
        change(alice, OwnerActivity, last_summarised_at=time.at + timedelta(minutes=31))
        found = seen(alice)
        assert found.sessions_open
        assert found.session_due_at is None

    def test_one_that_is_summed_up_is_not_open(self, alice: Actor) -> None:
        say(alice, "user", "assistant")
        change(alice, Session, summarised_until=2)
        assert not seen(alice).sessions_open


class TestGraph:
    def test_a_change_is_seen_until_the_communities_know_it(self, alice: Actor, time: Stopped) -> None:
        assert seen(alice).graph_changed_at is None
        merge_entity(actor=alice, draft=EntityDraft(name="Tea"))
        assert seen(alice).graph_changed_at == time.at
        with owner_scope(alice.owner_id):
            CommunityState.objects.create(
                owner_id=alice.owner_id, graph_version=1, modularity=0, communities=1, nodes=1, edges=0,
                computed_at=time.at,
            )  # fmt: skip
        found = seen(alice)
        assert (found.graph_changed_at, found.divided_at) == (None, time.at)

    def test_a_division_that_left_no_state_counts_too(self, alice: Actor, time: Stopped) -> None:
        merge_entity(actor=alice, draft=EntityDraft(name="Tea"))
        ended(alice, time.at, [(StageReport("communities"), Group.COMMUNITIES)])
        assert seen(alice).divided_at == time.at


class TestLeft:
    def test_a_run_that_is_done_leaves_nothing(self, alice: Actor, time: Stopped) -> None:
        ended(alice, time.at, [(StageReport("x"), Group.SLEEP)])
        assert seen(alice).left == {}

    @pytest.mark.parametrize(("code", "seconds"), [("time.up", 0), ("work.waiting", 60)])
    def test_one_that_made_way_leaves_what_it_did_not_do(
        self, alice: Actor, time: Stopped, code: str, seconds: int
    ) -> None:
        reports = [
            (StageReport("a"), Group.KNOWLEDGE),
            (StageReport("b", state="stopped"), Group.SLEEP),
            (StageReport("c", state="waiting"), Group.FORGETTING),
        ]
        ended(alice, time.at, reports, state=RunState.DEFERRED, error_code=code)
        again = time.at + timedelta(seconds=seconds)
        assert seen(alice).left == {Group.SLEEP: again, Group.FORGETTING: again}

    def test_more_and_a_backlog_are_gone_on_with(self, alice: Actor, time: Stopped) -> None:
        ended(alice, time.at, [(StageReport("x", notes=["more"]), Group.SUMMARIES)], backlog_rows=5, rows_seen=2)
        assert seen(alice).left == {Group.SUMMARIES: time.at, Group.KNOWLEDGE: time.at}

    def test_a_backlog_of_which_nothing_was_taken_is_not(self, alice: Actor, time: Stopped) -> None:
        ended(alice, time.at, [(StageReport("x"), Group.KNOWLEDGE)], backlog_rows=5, rows_seen=0)
        assert seen(alice).left == {}
