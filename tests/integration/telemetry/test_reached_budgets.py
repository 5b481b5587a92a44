"""Budgets that are reached: every process's health sees it, however it was noticed, and for as long as it holds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client, override_settings
from pytest_django import DjangoAssertNumQueries

from memory.models import DueWork, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.consolidation.waiting import user_work_waits
from memory.services.drafts import Draft
from memory.services.due_work import CLAIMED_FOR, run_due_work
from memory.services.health import forget_health, health_findings
from memory.services.health.work import waiting_work, work_findings
from memory.services.jobs import consolidation_is_due, plans, work_is_due
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from telemetry.models import ModelUsage
from telemetry.services.costs import spending
from telemetry.services.costs.budgets import BudgetDraft, remove_budget, set_budget
from telemetry.services.costs.health import budgets_finding
from telemetry.services.costs.reached import HARD, JOBS, SOFT, look_at_all, look_when_over
from telemetry.tasks import look_at_budgets
from tests.integration.telemetry.clocks import SetClock
from tests.integration.telemetry.test_budget_processes import OTHER
from tests.integration.telemetry.test_budgets import AT, clock, spend
from tests.integration.telemetry.test_metrics import value

__all__ = ["clock"]

pytestmark = pytest.mark.django_db

MIDNIGHT = datetime(2026, 4, 1, tzinfo=UTC)
NEXT_MIDNIGHT = MIDNIGHT + timedelta(days=1)
MONTH_ENDS = datetime(2026, 5, 1, tzinfo=UTC)
NONE = "No budget for models is reached."


@pytest.fixture(autouse=True)
def _looks_anew() -> Iterator[None]:
    forget_health()
    yield
    forget_health()


def budget(actor: Actor, period: str = "day", **limits: object) -> None:
    set_budget(actor=actor, draft=BudgetDraft(period=period, **limits))  # type: ignore[arg-type]


def pay(actor: Actor, amount: str) -> None:
    """Spend so much, and let it be written."""
    spend(actor, amount)
    spending.flush()


def noted(actor: Actor) -> dict[str, datetime]:
    """Give until when limits of the owner are noted as reached."""
    return dict(DueWork.objects.filter(owner_id=actor.owner_id, job__in=JOBS).values_list("job", "due_at"))


def said() -> tuple[str, str]:
    found = budgets_finding()
    return found.status, found.detail


class TestNote:
    def test_it_counts_owners_and_names_none(
        self, alice: Actor, mallory: Actor, clock: SetClock, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        assert said() == ("ok", NONE)
        budget(alice, soft=1, hard=2)
        pay(mallory, "5")
        pay(alice, "1")
        assert said() == ("ok", "The soft limit for models is reached for 1 owner; work goes on.")
        pay(alice, "1")
        found = budgets_finding()
        assert (found.status, "used up for 1 owner" in found.detail) == ("degraded", True)
        assert str(alice.owner_id) not in found.detail + found.remedy
        budget(mallory, hard=1)
        with django_assert_num_queries(1):
            assert "used up for 2 owners" in budgets_finding().detail

    def test_it_lasts_until_the_longest_of_the_periods_that_are_reached(self, alice: Actor, clock: SetClock) -> None:
        clock.at = MIDNIGHT + timedelta(hours=1)
        budget(alice, soft=1, hard=2)
        budget(alice, "month", soft=1, hard=3)
        pay(alice, "2")
        assert noted(alice) == {SOFT: MONTH_ENDS, HARD: NEXT_MIDNIGHT}
        pay(alice, "1")
        assert noted(alice) == {SOFT: MONTH_ENDS, HARD: MONTH_ENDS}

    def test_a_raised_or_removed_budget_is_reached_no_more(self, alice: Actor, clock: SetClock) -> None:
        budget(alice, soft=1, hard=2)
        pay(alice, "2")
        budget(alice, soft=1, hard=3)
        assert (noted(alice), said()[0]) == ({SOFT: MIDNIGHT}, "ok")
        remove_budget(actor=alice, period="day")
        assert (noted(alice), said()) == ({}, ("ok", NONE))

    def test_one_is_raised_while_others_stay_reached(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]], clock: SetClock
    ) -> None:
        clock.at = MIDNIGHT + timedelta(hours=1)
        agent = make_agent(alice)[0]
        budget(alice, "month", hard=1)
        budget(alice, hard=1, agent_id=agent.agent_id)
        pay(agent, "2")
        assert noted(alice) == {HARD: MONTH_ENDS}
        budget(alice, "month", hard=9)
        assert noted(alice) == {HARD: NEXT_MIDNIGHT}
        assert said()[0] == "degraded"
        remove_budget(actor=alice, period="day", agent_id=agent.agent_id)
        assert noted(alice) == {}

    def test_a_limit_below_what_is_spent_is_reached_at_once(self, alice: Actor, clock: SetClock) -> None:
        pay(alice, "2")
        budget(alice, hard=1)
        assert said()[0] == "degraded"

    def test_a_change_that_fails_changes_no_note(self, alice: Actor, clock: SetClock) -> None:
        budget(alice, hard=1)
        pay(alice, "2")

        def raise_it_and_fail() -> None:
            with owner_scope(alice.owner_id):
                budget(alice, hard=9)
                assert noted(alice) == {}
                raise RuntimeError

        with pytest.raises(RuntimeError):
            raise_it_and_fail()
        assert noted(alice) == {HARD: MIDNIGHT}


class TestNextPeriod:
    def test_it_is_over_by_the_clock_also_before_a_worker_comes(self, alice: Actor, clock: SetClock) -> None:
        budget(alice, hard=1)
        pay(alice, "2")
        clock.at = MIDNIGHT
        assert said() == ("ok", NONE)
        # What a worker holds is no limit that is reached.
        DueWork.objects.filter(job=HARD).update(due_at=clock.at + CLAIMED_FOR)
        assert said() == ("ok", NONE)

    def test_the_worker_takes_the_note_away(self, alice: Actor, clock: SetClock) -> None:
        budget(alice, soft=1, hard=1)
        pay(alice, "2")
        assert run_due_work()[HARD] == 0
        assert noted(alice) == {HARD: MIDNIGHT, SOFT: MIDNIGHT}
        clock.at = MIDNIGHT
        run_due_work()
        assert noted(alice) == {}

    def test_a_limit_of_nothing_is_reached_again(self, alice: Actor, clock: SetClock) -> None:
        budget(alice, hard=0)
        clock.at = MIDNIGHT
        run_due_work()
        assert (noted(alice), said()[0]) == ({HARD: NEXT_MIDNIGHT}, "degraded")

    def test_what_the_day_leaves_the_month_keeps(self, alice: Actor, clock: SetClock) -> None:
        clock.at = MIDNIGHT + timedelta(hours=1)
        budget(alice, hard=1)
        budget(alice, "month", soft=1)
        pay(alice, "2")
        clock.at = NEXT_MIDNIGHT
        assert said() == ("ok", "The soft limit for models is reached for 1 owner; work goes on.")

    def test_a_clock_that_was_wrong_leaves_nothing(self, alice: Actor, clock: SetClock) -> None:
        clock.at = AT + timedelta(days=70)
        budget(alice, hard=1)
        pay(alice, "2")
        clock.at = AT
        assert said() == ("ok", NONE)
        look_at_all()
        assert noted(alice) == {}


class TestHourly:
    def test_it_finds_what_nobody_has_noted(self, alice: Actor, mallory: Actor, clock: SetClock) -> None:
        assert ("telemetry.tasks.look_at_budgets", 60) in {(plan.task, plan.minutes) for plan in plans()}
        pay(alice, "2")
        for hard, status in ((Decimal(1), "degraded"), (Decimal(9), "ok")):
            with override_settings(BUDGET_SOFT=Decimal(1), BUDGET_HARD=hard):
                assert look_at_budgets() >= 2
                assert said()[0] == status
        look_at_budgets()
        assert (noted(alice), noted(mallory)) == ({}, {})


class TestNoWork:
    def test_a_note_counts_nowhere_as_work_that_waits(self, alice: Actor) -> None:
        before = [(found.name, found.status, found.detail) for found in work_findings(waiting_work())]
        budget(alice, soft=0, hard=0)
        assert set(noted(alice)) == {SOFT, HARD}
        assert not work_is_due()
        assert not consolidation_is_due()
        assert not user_work_waits(now() + timedelta(days=40))
        assert [(found.name, found.status, found.detail) for found in work_findings(waiting_work())] == before


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
class TestProcesses:
    def test_what_a_worker_uses_up_the_web_process_tells(self, alice: Actor, client: Client) -> None:
        token = {"Authorization": f"Bearer {settings.METRICS_TOKEN}"}
        assert client.get("/metrics", headers=token).status_code == 200
        assert value(client, "loci_health_check", check="budgets") == 0
        budget(alice, "month", soft="0.5", hard=1)
        name = str(connections["default"].settings_dict["NAME"])
        command = [sys.executable, "-c", OTHER, str(alice.owner_id), name]
        other = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=True, timeout=120)
        assert other.stdout.strip() == "100"

        for tells, status in ((True, "degraded"), (False, "ok")):
            forget_health()
            (found,) = [one for one in health_findings() if one.name == "budgets"]
            assert found.status == status
            assert "1 owner" in found.detail
            checks = {one["name"]: one["status"] for one in client.get("/health/ready").json()["checks"]}
            assert checks["budgets"] == status
            assert value(client, "loci_health_check", check="budgets") == float(tells)
            assert value(client, "loci_due_work", kind=HARD) is None
            budget(alice, "month", soft="0.5", hard=2)

    def test_who_sets_a_budget_while_another_one_spends_sees_what_it_reached(self, alice: Actor) -> None:
        """However they come, what is noted is so afterwards."""
        name = str(connections["default"].settings_dict["NAME"])
        budget(alice, "month", hard=1)
        command = [sys.executable, "-c", OTHER, str(alice.owner_id), name]
        with subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, text=True) as other:
            for hard in ("0.2", "0.4", "0.3") * 5:
                budget(alice, "month", hard=hard)
            assert other.wait(timeout=120) == 0
        with owner_scope(alice.owner_id):
            total = sum(ModelUsage.objects.values_list("cost", flat=True), Decimal(0))
        assert total >= Decimal("0.3")
        assert set(noted(alice)) == {HARD}

    def test_a_purge_leaves_none(self, alice: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Something."))
        budget(alice, soft=0, hard=0)
        assert set(noted(alice)) == {SOFT, HARD}
        purge = begin_purge(actor=alice).purge
        run_purge(purge_id=purge.pk)
        assert noted(alice) == {}
        assert look_at_all() == 0
        assert said() == ("ok", NONE)


def test_the_job_may_come_twice(alice: Actor, clock: SetClock) -> None:
    budget(alice, hard=0)
    for _ in range(2):
        assert look_when_over(owner_id=alice.owner_id, at=clock.at) == (0, None)
        assert noted(alice) == {HARD: MIDNIGHT}
