"""Runs of consolidation that a budget or an outage stops: they end, wait, and do not follow one another at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from memory.models import ExtractionFailure, RunTrigger, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation.due import consolidate_due
from memory.services.drafts import Draft
from memory.services.remember import remember
from telemetry.services.costs.budgets import BudgetDraft, remove_budget, set_budget
from telemetry.services.costs.spending import REFRESH_SECONDS
from tests.contract.providers.loopback_server import Received, Reply
from tests.integration.consolidation.running import due_of, quiet, runs_of, undrawn
from tests.integration.telemetry.clocks import SetClock
from tests.integration.telemetry.test_budgets import AT, Serve, chat, clock, serve, talking
from tests.integration.telemetry.test_reached_budgets import MIDNIGHT

__all__ = ["clock", "serve"]

pytestmark = pytest.mark.django_db

BOATS = 6
DUE = AT + timedelta(minutes=6)


@pytest.fixture
def boats(alice: Actor, clock: SetClock) -> Actor:
    """Give an owner with texts of which each needs a batch of its own, and a run that is due."""
    quiet(alice, consolidation_extractor="llm", consolidation_batch_characters=500)
    for number in range(BOATS):
        text = f"Anna bought boat number {number}. " + "It sails on the lake. " * 20
        remember(actor=alice, draft=Draft(text=text))
    clock.at = DUE
    return alice


def failures(owner: Actor) -> list[tuple[str, int, datetime | None]]:
    with owner_scope(owner.owner_id):
        return list(ExtractionFailure.objects.values_list("code", "attempts", "next_at"))


def hard(amount: object) -> BudgetDraft:
    return BudgetDraft(period="day", hard=amount)


def broken(request: Received) -> Reply:
    return Reply(500)


class TestBudget:
    def test_one_run_leaves_all_of_it_to_the_next_day(self, boats: Actor, serve: Serve, clock: SetClock) -> None:
        set_budget(actor=boats, draft=hard(0))
        server = serve(talking)
        with chat(server):
            assert consolidate_due() == {"runs": 1, "deferred": 0}
            assert consolidate_due() == {"runs": 0, "deferred": 0}
            clock.at = MIDNIGHT - timedelta(seconds=1)
            assert consolidate_due() == {"runs": 0, "deferred": 0}
        (run,) = runs_of(boats)
        assert (run.trigger, run.rows_seen, run.backlog_rows, run.llm_calls) == (RunTrigger.SCHEDULE, 1, 0, 0)
        assert {note for report in run.stages for note in report["notes"]} == {"budget.exceeded", "extractor.away"}
        assert failures(boats) == [("budget.exceeded", 0, MIDNIGHT)] * BOATS
        assert due_of(boats) == {"consolidate": MIDNIGHT}
        assert server.received == []

    @pytest.mark.parametrize(
        "change",
        [
            lambda owner: set_budget(actor=owner, draft=hard(9)),
            lambda owner: remove_budget(actor=owner, period="day"),
        ],
    )
    def test_a_changed_budget_brings_one_run_when_all_processes_know_of_it(
        self, boats: Actor, serve: Serve, clock: SetClock, change: Callable[[Actor], Any]
    ) -> None:
        set_budget(actor=boats, draft=hard(0))
        with chat(serve(talking)):
            consolidate_due()
            clock.at += timedelta(minutes=2)
            change(boats)
            known = clock.at + timedelta(seconds=REFRESH_SECONDS)
            assert due_of(boats) == {"consolidate": known}
            clock.at = known - timedelta(seconds=1)
            assert consolidate_due()["runs"] == 0
            clock.at = known
            assert consolidate_due()["runs"] == 1
        assert (undrawn(boats), failures(boats)) == (0, [])

    def test_changes_that_help_nothing_bring_a_run_a_minute_at_most(
        self, boats: Actor, serve: Serve, clock: SetClock
    ) -> None:
        with chat(serve(talking)):
            for seconds in range(0, 180, 10):
                set_budget(actor=boats, draft=hard(0))
                clock.at = DUE + timedelta(seconds=seconds)
                consolidate_due()
        begun = [run.started_at for run in runs_of(boats)]
        assert len(begun) == 3
        assert all(later - before >= timedelta(minutes=1) for before, later in zip(begun, begun[1:], strict=False))


class TestOutage:
    def test_the_next_run_waits_for_its_time(self, boats: Actor, serve: Serve, clock: SetClock) -> None:
        server = serve(broken)
        with chat(server):
            assert consolidate_due()["runs"] == 1
            asked = len(server.received)
            assert consolidate_due()["runs"] == 0
        assert len(server.received) == asked
        (run,) = runs_of(boats)
        assert (run.rows_seen, run.backlog_rows) == (1, BOATS - 1)
        assert due_of(boats) == {"consolidate": DUE + timedelta(minutes=5)}
