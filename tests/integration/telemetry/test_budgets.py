"""Budgets: nothing that costs is asked above the hard limit, everything else goes on, and whoever is told knows why."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.db import connections
from django.test import override_settings

from config.settings.prices import Price
from memory.errors import BudgetExceeded, Conflict, EmbedderUnavailable, InvalidInput, NotFound, PermissionRefused
from memory.models import DueWork, ExtractionFailure, Memory, RunState, RunTrigger, owner_scope
from memory.ports import ChatMessage
from memory.ports.live import add_announcer
from memory.ports.outbound import on_behalf_of
from memory.ports.recorder import model_called
from memory.providers import composition
from memory.services.actors import AGENT_DEFAULT, Actor, Permission
from memory.services.audit.access_log import LogRequest, access_log
from memory.services.clock import now, set_clock
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.drafts import Draft
from memory.services.due_work import run_due_work
from memory.services.profiles import change_profile
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.settings import change_settings
from telemetry.metrics.counting import counted_here
from telemetry.services.costs import spending
from telemetry.services.costs.budgets import (
    BudgetDraft,
    get_budget,
    list_budgets,
    remove_budget,
    set_budget,
)
from telemetry.services.coverage.reporting import ReportRequest, coverage_report
from telemetry.services.coverage.request_vectors import JOB, fill_vectors
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, Script, as_json
from tests.integration.telemetry.clocks import SetClock
from tests.integration.telemetry.providers import PRICES, configured, counted
from tests.integration.telemetry.test_usage import call_for

pytestmark = pytest.mark.django_db

Serve = Callable[[Script], LoopbackServer]
AT = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)
MILLION = 1_000_000
PROMPT = [ChatMessage("user", "Hello.")]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(LoopbackServer(script))


@pytest.fixture
def clock() -> Iterator[SetClock]:
    made = SetClock(AT)
    set_clock(made)
    yield made
    set_clock(None)


def spend(actor: Actor, amount: str, *, at: datetime | None = None, **changes: Any) -> None:
    """Count one call that costs so much."""
    tokens = int(Decimal(amount) * MILLION)
    with override_settings(MODEL_PRICES={"chat": Price(input=Decimal(1))}):
        model_called(call_for(actor, input_tokens=tokens, output_tokens=0, at=at or now(), **changes))


def talking(request: Received) -> Reply:
    """Answer any prompt with nothing drawn, at 1,000 tokens."""
    if request.path.endswith("/embeddings"):
        return counted(request)
    text = json.dumps({"entities": [], "relations": [], "facts": [], "events": [], "causes": []})
    return as_json(
        {
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1_000, "completion_tokens": 0},
        }
    )


def ask(actor: Actor) -> None:
    with on_behalf_of(actor.owner_id, "test", agent_id=actor.agent_id):
        composition.language_model().complete(PROMPT, component="test")


def refusals() -> float:
    """Count the calls of language models that a budget has forbidden to this process."""
    return counted_here().get_sample_value("loci_budget_refusals_total", {"kind": "llm"}) or 0.0


def chat(server: LoopbackServer, **values: Any) -> Any:
    chosen = {"LLM_BASE_URL": server.address, "LLM_MODEL": "chat", "MODEL_PRICES": {"chat": Price(input=Decimal(1))}}
    return configured(**{**chosen, **values})


class TestStop:
    def test_from_the_hard_limit_on_no_model_is_asked_that_costs(self, alice: Actor, serve: Serve) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="month", hard="0.0025"))
        before = refusals()
        server = serve(talking)
        with chat(server):
            for _ in range(3):
                ask(alice)
            with pytest.raises(BudgetExceeded) as caught:
                ask(alice)
        assert len(server.received) == 3
        assert caught.value.machine_code == "budget.exceeded"
        assert refusals() == before + 1
        assert caught.value.details["period"] == "month"
        assert (list_budgets(actor=alice)[0].spent, list_budgets(actor=alice)[0].state) == (
            Decimal("0.003"), "hard",
        )  # fmt: skip

    def test_what_costs_nothing_or_has_no_price_is_asked_on(self, alice: Actor, serve: Serve) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard="1"))
        spend(alice, "2")
        server = serve(talking)
        for prices in ({}, {"chat": Price()}):
            with chat(server, MODEL_PRICES=prices):
                ask(alice)
        with on_behalf_of(alice.owner_id, "store"):
            assert len(composition.embedder().embed(["x"])) == 1
        assert len(server.received) == 2

    def test_a_limit_of_nothing_stops_at_once(self, alice: Actor, serve: Serve) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=0))
        server = serve(talking)
        with chat(server), pytest.raises(BudgetExceeded):
            ask(alice)
        assert server.received == []

    def test_another_owner_and_nobody_go_on(self, alice: Actor, mallory: Actor, serve: Serve) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=0))
        server = serve(talking)
        with chat(server):
            ask(mallory)
            composition.language_model().complete(PROMPT, component="probe")
        assert len(server.received) == 2

    def test_an_agent_has_a_budget_of_its_own(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]], serve: Serve
    ) -> None:
        first, second = make_agent(alice, "first")[0], make_agent(alice, "second")[0]
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard="0.001", agent_id=first.agent_id))
        server = serve(talking)
        with chat(server):
            ask(first)
            with pytest.raises(BudgetExceeded, match="This agent's budget"):
                ask(first)
            ask(second)
            ask(alice)
        spent = {one.agent_id: one.spent for one in list_budgets(actor=alice)}
        assert spent == {first.agent_id: Decimal("0.001")}

    def test_a_refusal_does_not_pause_the_provider_for_others(self, alice: Actor, mallory: Actor, serve: Serve) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=0))
        chosen = configured(
            EMBEDDING_PROVIDER="openai", EMBEDDING_BASE_URL=serve(counted).address, EMBEDDING_MODEL="paid",
            MODEL_PRICES=PRICES,
        )  # fmt: skip
        with chosen:
            for _ in range(5):
                with on_behalf_of(alice.owner_id, "store"), pytest.raises(EmbedderUnavailable) as caught:
                    composition.embedder().embed(["x"])
                assert caught.value.machine_code == "budget.exceeded"
            with on_behalf_of(mallory.owner_id, "store"):
                assert len(composition.embedder().embed(["x"])) == 1

    def test_a_raised_budget_counts_at_once(self, alice: Actor, serve: Serve) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=0))
        with chat(serve(talking)):
            with pytest.raises(BudgetExceeded):
                ask(alice)
            set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1))
            ask(alice)
            remove_budget(actor=alice, period="day")
            ask(alice)

    def test_the_word_costs_one_look_in_five_seconds(
        self, alice: Actor, serve: Serve, django_assert_num_queries: Any
    ) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1))
        with chat(serve(talking)):
            ask(alice)
            with django_assert_num_queries(0):
                for _ in range(5):
                    ask(alice)


class TestPeriods:
    def test_a_day_and_a_month_begin_anew_at_midnight_utc(self, alice: Actor, serve: Serve, clock: SetClock) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="month", hard=1))
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard="0.5"))
        spend(alice, "0.6")
        with chat(serve(talking)):
            with pytest.raises(BudgetExceeded) as caught:
                ask(alice)
            assert caught.value.details == {"period": "day", "until": "2026-04-01T00:00:00+00:00"}
            clock.at = AT + timedelta(minutes=30)
            ask(alice)
        assert [(one.period.sort.value, one.spent) for one in list_budgets(actor=alice)][1] == ("month", Decimal(0))

    def test_a_month_goes_over_its_days(self, alice: Actor, serve: Serve, clock: SetClock) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="month", hard=1))
        spend(alice, "0.7", at=AT - timedelta(days=29))
        spend(alice, "0.4")
        with chat(serve(talking)), pytest.raises(BudgetExceeded, match="month"):
            ask(alice)

    def test_a_clock_that_is_set_back_looks_at_that_day(self, alice: Actor, serve: Serve, clock: SetClock) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1))
        spend(alice, "2")
        with chat(serve(talking)):
            with pytest.raises(BudgetExceeded):
                ask(alice)
            clock.at = AT - timedelta(days=2)
            ask(alice)
            clock.at = AT
            with pytest.raises(BudgetExceeded):
                ask(alice)

    def test_what_a_leap_of_the_clock_has_dated_later_is_not_spent_yet(self, alice: Actor, clock: SetClock) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="month", hard=1))
        spend(alice, "5", at=AT + timedelta(days=40))
        assert get_budget(actor=alice, period="month").spent == 0


class TestCallersGoOn:
    def test_recall_goes_on_by_words_and_says_why(self, alice: Actor, serve: Serve) -> None:
        server = serve(talking)
        chosen = configured(
            EMBEDDING_PROVIDER="openai", EMBEDDING_BASE_URL=server.address, EMBEDDING_MODEL="paid",
            LLM_BASE_URL=server.address, LLM_MODEL="chat", RERANKER_PROVIDER="http", RERANKER_URL=server.address,
            RERANKER_MODEL="rank", MODEL_PRICES=PRICES,
        )  # fmt: skip
        with chosen:
            for text in ("The violet cushion is on the chair.", "The violet cushion was washed."):
                remember(actor=alice, draft=Draft(text=text))
            change_profile(actor=alice, name="default", changes={"expand": True, "reranker": "cross_encoder"})
            set_budget(actor=alice, draft=BudgetDraft(period="day", hard=0))
            asked = len(server.received)
            answer = recall(actor=alice, request=RecallRequest(query="Where is the violet cushion?"))
            stored = remember(actor=alice, draft=Draft(text="Anna has a blue boat."))
        assert len(answer.hits) == 2
        assert answer.degraded.count("budget.exceeded") == 1
        assert not any(code.endswith(".unavailable") for code in answer.degraded)
        assert len(server.received) == asked
        assert stored.vector_pending

    def test_the_coverage_report_groups_by_spokes_says_why_and_is_tried_next_day(
        self, alice: Actor, serve: Serve, clock: SetClock
    ) -> None:
        server = serve(counted)
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=0))
        record_events(actor=alice, events=[TurnDraft(request="book a table"), TurnDraft(request="rent a car")])
        with configured(
            EMBEDDING_PROVIDER="openai", EMBEDDING_BASE_URL=server.address, EMBEDDING_MODEL="paid", MODEL_PRICES=PRICES
        ):
            report = coverage_report(actor=alice, request=ReportRequest())
            assert (report.degraded, report.pending, report.pending_requests) == ("budget.exceeded", False, 2)
            assert [one.by_vector for one in report.clusters] == [False]
            midnight = datetime(2026, 4, 1, tzinfo=UTC)
            assert fill_vectors(owner_id=alice.owner_id, at=now()) == (0, midnight)
            assert server.received == []
            # A worker that was called before it was used up comes back when all processes know of a change.
            with owner_scope(alice.owner_id):
                DueWork.objects.create(owner_id=alice.owner_id, job=JOB, due_at=midnight)
            set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1))
            clock.at += timedelta(seconds=spending.REFRESH_SECONDS)
            assert DueWork.objects.get(job=JOB).due_at == clock.at
            assert run_due_work()[JOB] == 2
            report = coverage_report(actor=alice, request=ReportRequest())
            assert (report.degraded, report.pending_requests) == ("", 0)

    def test_a_run_of_consolidation_ends_cleanly_says_why_and_burns_no_attempt(
        self, alice: Actor, serve: Serve
    ) -> None:
        change_settings(actor=alice, changes={"consolidation_extractor": "llm", "consolidation_batch_characters": 500})
        for number in range(4):
            remember(
                actor=alice, draft=Draft(text=f"Anna bought boat number {number}. " + "It sails on the lake. " * 20)
            )
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard="0.002"))
        server = serve(talking)
        with chat(server):
            run = run_consolidation(owner_id=alice.owner_id, trigger=RunTrigger.HAND, groups=[Group.KNOWLEDGE])
            assert run is not None
            asked = len(server.received)
            assert asked == 2
            again = run_consolidation(owner_id=alice.owner_id, trigger=RunTrigger.HAND, groups=[Group.KNOWLEDGE])
            assert again is not None
            assert len(server.received) == asked
        assert (run.state, run.error_code, run.llm_calls) == (RunState.DONE, "", 2)
        notes = {note for report in run.stages for note in report["notes"]}
        assert {"budget.exceeded", "extractor.away"} <= notes
        with owner_scope(alice.owner_id):
            left = list(ExtractionFailure.objects.all())
            assert Memory.objects.exclude(extracted_at=None).count() == 2
        midnight = (now() + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        assert {(row.code, row.attempts, row.next_at) for row in left} == {("budget.exceeded", 0, midnight)}
        with chat(server):
            set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1))
            done = run_consolidation(owner_id=alice.owner_id, trigger=RunTrigger.HAND, groups=[Group.KNOWLEDGE])
        assert done is not None
        assert done.state == RunState.DONE
        with owner_scope(alice.owner_id):
            assert not ExtractionFailure.objects.exists()
            assert not Memory.objects.filter(extracted_at=None).exists()


class TestWarnings:
    def test_a_limit_is_announced_once_in_a_period(
        self, alice: Actor, clock: SetClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        heard: list[tuple[UUID, str, str]] = []
        monkeypatch.setattr("memory.ports.live._announcers", [])
        add_announcer(lambda owner_id, sort, object_id, version: heard.append((owner_id, sort, object_id)))
        set_budget(actor=alice, draft=BudgetDraft(period="month", soft=1, hard=2))
        heard.clear()
        for amount in ("0.6", "0.5", "0.1", "0.1"):
            spend(alice, amount)
            spending.flush()
        assert heard == [(alice.owner_id, "budget", "")]
        spend(alice, "1")
        spending.flush()
        assert len(heard) == 2
        clock.at = AT + timedelta(hours=1)
        spend(alice, "1.5")
        spending.flush()
        assert len(heard) == 3

    def test_a_change_is_announced_with_whose_it_is(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agent, _ = make_agent(alice)
        heard: list[tuple[UUID, str, str, int]] = []
        monkeypatch.setattr("memory.ports.live._announcers", [])
        add_announcer(lambda *told: heard.append(told))
        for hard in (1, 2):
            set_budget(actor=alice, draft=BudgetDraft(period="month", hard=hard))
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1, agent_id=agent.agent_id))
        remove_budget(actor=alice, period="day", agent_id=agent.agent_id)
        with pytest.raises(InvalidInput):
            set_budget(actor=alice, draft=BudgetDraft(period="month"))
        with pytest.raises(NotFound):
            remove_budget(actor=alice, period="day")
        agents = str(agent.agent_id)
        told = [("", 1), ("", 2), (agents, 1), (agents, 0)]
        assert heard == [(alice.owner_id, "budget", whose, version) for whose, version in told]

    def test_the_default_budget_holds_for_owners_without_one_of_the_month(self, alice: Actor, serve: Serve) -> None:
        with override_settings(BUDGET_SOFT=Decimal(1), BUDGET_HARD=Decimal(2)):
            (found,) = list_budgets(actor=alice)
            assert (found.soft, found.hard, found.own, found.version) == (Decimal(1), Decimal(2), False, 0)
            set_budget(actor=alice, draft=BudgetDraft(period="day", hard=9))
            assert [(one.own, one.hard) for one in list_budgets(actor=alice)] == [
                (True, Decimal(9)), (False, Decimal(2)),
            ]  # fmt: skip
            spend(alice, "3")
            with chat(serve(talking)), pytest.raises(BudgetExceeded, match="month"):
                ask(alice)
            set_budget(actor=alice, draft=BudgetDraft(period="month", soft=5))
            with chat(serve(talking)):
                ask(alice)


class TestChanges:
    @pytest.mark.parametrize(
        ("draft", "code"),
        [
            (BudgetDraft(period="week", hard=1), "budget.period_invalid"),
            (BudgetDraft(period=None, hard=1), "budget.period_invalid"),
            (BudgetDraft(period="day"), "budget.empty"),
            (BudgetDraft(period="day", soft=2, hard=1), "budget.order"),
            *[
                (BudgetDraft(period="day", hard=value), "budget.amount_invalid")
                for value in (-1, "much", True, [1], "NaN", "Infinity", 1e30, "0.0000001", 2 * 10**9)
            ],
        ],
    )
    def test_what_cannot_be_used_is_refused(self, alice: Actor, draft: BudgetDraft, code: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            set_budget(actor=alice, draft=draft)
        assert caught.value.machine_code == code
        assert list_budgets(actor=alice) == []

    def test_a_change_from_an_outdated_version_is_refused(self, alice: Actor) -> None:
        assert set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1), version=0).version == 1
        for version in (0, 2):
            with pytest.raises(Conflict):
                set_budget(actor=alice, draft=BudgetDraft(period="day", hard=9), version=version)
            with pytest.raises(Conflict):
                remove_budget(actor=alice, period="day", version=version)
        assert get_budget(actor=alice, period="day").hard == 1
        remove_budget(actor=alice, period="day", version=1)
        with pytest.raises(NotFound):
            remove_budget(actor=alice, period="day")

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize(("version", "succeed"), [(None, 8), (0, 1)], ids=["any version", "where none is"])
    def test_first_ones_that_come_at_once_take_their_turns(
        self, alice: Actor, version: int | None, succeed: int
    ) -> None:
        meeting = threading.Barrier(8, timeout=20)

        def first(number: int) -> int:
            try:
                meeting.wait()
                return set_budget(actor=alice, draft=BudgetDraft(period="day", hard=number), version=version).version
            except Conflict:
                return 0
            finally:
                connections.close_all()

        with ThreadPoolExecutor(8) as pool:
            found = sorted(pool.map(first, range(1, 9)))
        assert found == [0] * (8 - succeed) + list(range(1, succeed + 1))
        assert get_budget(actor=alice, period="day").version == succeed

    def test_changes_stand_in_the_audit(self, alice: Actor) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1))
        remove_budget(actor=alice, period="day")
        log = access_log(actor=alice, request=LogRequest(verb=None), after=None, size=10)
        assert [(row.event.verb, row.event.object_kind) for row in log] == [("reset", "budget"), ("change", "budget")]

    def test_who_may_see_and_change_it(
        self, alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        agent, _ = make_agent(alice)
        assert Permission.TELEMETRY_READ not in AGENT_DEFAULT
        for refused in (
            lambda: list_budgets(actor=agent),
            lambda: get_budget(actor=agent, period="day"),
            lambda: set_budget(actor=agent, draft=BudgetDraft(period="day", hard=1)),
            lambda: remove_budget(actor=agent, period="day"),
        ):
            with pytest.raises(PermissionRefused):
                refused()
        with pytest.raises(NotFound):
            set_budget(actor=mallory, draft=BudgetDraft(period="day", hard=1, agent_id=agent.agent_id))
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1))
        assert list_budgets(actor=mallory) == []
        permitted = replace(agent, permissions=AGENT_DEFAULT | {Permission.TELEMETRY_READ})
        assert len(list_budgets(actor=permitted)) == 1
