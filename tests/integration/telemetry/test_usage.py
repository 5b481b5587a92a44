"""Calls of models become rows by the hour: once each, exactly, for whom they were made, and nothing is lost."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import override_settings
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from config.settings.prices import Price
from memory.errors import EmbedderUnavailable, RerankerUnavailable
from memory.models import Owner, owner_scope
from memory.ports.outbound import on_behalf_of
from memory.ports.recorder import ModelCalled, model_called
from memory.providers import composition
from memory.services import gathering
from memory.services.actors import Actor
from memory.services.archive.registry import parts
from memory.services.archive.rows import records
from memory.services.drafts import Draft
from memory.services.purge.agent_parts import agent_parts
from memory.services.purge.caches import forget_owner
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retention import remove_outdated
from telemetry.models import Budget, ModelUsage
from telemetry.services.costs import spending
from telemetry.services.costs.breakdown import GROUPS
from telemetry.services.costs.budgets import BudgetDraft, set_budget
from telemetry.services.costs.report import UsageRequest, usage_report
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, Script, as_json, openai, vector
from tests.integration.telemetry.providers import PRICES, configured, counted

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
FREE = Decimal(0)
Serve = Callable[[Script], LoopbackServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(LoopbackServer(script))


def call_for(actor: Actor, **changes: Any) -> ModelCalled:
    made = ModelCalled(
        owner_id=actor.owner_id,
        agent_id=actor.agent_id,
        kind="llm",
        component="memory_sleep",
        provider="openai",
        model="chat",
        input_tokens=1_000,
        output_tokens=100,
        seconds=0.25,
        ok=True,
        at=AT,
    )
    return replace(made, **changes)


def rows(actor: Actor) -> list[ModelUsage]:
    spending.flush()
    with owner_scope(actor.owner_id):
        return list(ModelUsage.objects.order_by("hour", "kind", "component", "model"))


def only(actor: Actor) -> ModelUsage:
    (row,) = rows(actor)
    return row


def embedding(server: LoopbackServer, model: str = "paid") -> Any:
    return configured(EMBEDDING_PROVIDER="openai", EMBEDDING_BASE_URL=server.address, EMBEDDING_MODEL=model)


class TestCalls:
    def test_an_embedding_is_counted_as_its_server_counted_it(self, alice: Actor, serve: Serve) -> None:
        with embedding(serve(counted)), override_settings(MODEL_PRICES=PRICES), on_behalf_of(alice.owner_id, "store"):
            composition.embedder().embed(["one", "two", "three"])
        row = only(alice)
        assert (row.kind, row.component, row.provider, row.model) == ("embedding", "store", "openai", "paid")
        assert (row.calls, row.failures, row.input_tokens, row.estimated_calls) == (1, 0, 21, 0)
        assert row.cost == Decimal("0.00000042")
        assert row.duration_us > 0

    def test_what_no_server_counts_is_estimated_and_said_so(self, alice: Actor, serve: Serve) -> None:
        with embedding(serve(openai)), on_behalf_of(alice.owner_id, "store"):
            composition.embedder().embed(["12345", "1234"])
        row = only(alice)
        assert (row.input_tokens, row.estimated_calls) == (3, 1)

    def test_ollama_counts_its_prompt(self, alice: Actor, serve: Serve) -> None:
        server = serve(lambda request: as_json({"embeddings": [vector("x")], "prompt_eval_count": 13}))
        chosen = configured(EMBEDDING_PROVIDER="ollama", OLLAMA_BASE_URL=server.address, EMBEDDING_MODEL="m")
        with chosen, on_behalf_of(alice.owner_id, "store"):
            composition.embedder().embed(["x"])
        assert (only(alice).provider, only(alice).input_tokens, only(alice).estimated_calls) == ("ollama", 13, 0)

    def test_batches_of_one_call_are_one_call(self, alice: Actor, serve: Serve) -> None:
        server = serve(counted)
        with embedding(server), on_behalf_of(alice.owner_id, "store"):
            composition.embedder().embed([f"text {number}" for number in range(150)])
        assert len(server.received) == 3
        assert (only(alice).calls, only(alice).input_tokens) == (1, 150 * 7)

    def test_a_call_that_is_tried_again_counts_once(self, alice: Actor, serve: Serve) -> None:
        fails = iter([True, True, False])
        server = serve(lambda request: Reply(503) if next(fails) else counted(request))
        with embedding(server), on_behalf_of(alice.owner_id, "store"):
            composition.embedder().embed(["x"])
        assert len(server.received) == 3
        assert (only(alice).calls, only(alice).failures, only(alice).input_tokens) == (1, 0, 7)

    def test_a_failure_counts_and_costs_nothing_that_nobody_has_counted(self, alice: Actor, serve: Serve) -> None:
        server = serve(lambda _: Reply(400, b"{}"))
        with embedding(server), override_settings(MODEL_PRICES=PRICES), on_behalf_of(alice.owner_id, "store"):
            for _ in range(2):
                with pytest.raises(EmbedderUnavailable):
                    composition.embedder().embed(["x"])
        row = only(alice)
        assert (row.calls, row.failures, row.input_tokens, row.cost) == (2, 2, 0, FREE)

    def test_a_provider_that_is_not_asked_during_a_pause_was_not_called(self, alice: Actor, serve: Serve) -> None:
        server = serve(lambda _: Reply(404))
        with embedding(server), on_behalf_of(alice.owner_id, "store"):
            for _ in range(5):
                with pytest.raises(EmbedderUnavailable):
                    composition.embedder().embed(["x"])
        assert len(server.received) == only(alice).calls == 3

    def test_a_reranker_is_counted_and_a_judge_only_as_the_language_model(self, alice: Actor, serve: Serve) -> None:
        def answer(request: Received) -> Reply:
            if request.path == "/rerank":
                results = [{"index": at, "relevance_score": 0.5} for at in range(len(request.body["documents"]))]
                return as_json({"results": results, "usage": {"total_tokens": 40}})
            marks = {"scores": [{"index": 0, "score": 5}, {"index": 1, "score": 6}]}
            message = {"choices": [{"message": {"content": str(marks).replace("'", '"')}}]}
            return as_json({**message, "usage": {"prompt_tokens": 30, "completion_tokens": 9}})

        address = serve(answer).address
        chosen = configured(
            RERANKER_PROVIDER="http", RERANKER_URL=address, RERANKER_MODEL="rank", LLM_BASE_URL=address,
            LLM_MODEL="chat", MODEL_PRICES=PRICES,
        )  # fmt: skip
        with chosen, on_behalf_of(alice.owner_id, "recall"):
            composition.reranker().rerank("what", ["a", "b"])
            composition.llm_judge().rerank("what", ["a", "b"])
        asked, scored = rows(alice)
        assert (asked.kind, asked.component, asked.model) == ("llm", "recall_rerank", "chat")
        assert (asked.input_tokens, asked.output_tokens, asked.cost) == (30, 9, Decimal("0.0000099"))
        assert (scored.kind, scored.component, scored.provider) == ("rerank", "recall", "http")
        assert (scored.input_tokens, scored.cost) == (40, Decimal("0.001002"))

    def test_a_reranker_that_fails_costs_no_call(self, alice: Actor, serve: Serve) -> None:
        server = serve(lambda _: Reply(400))
        chosen = configured(
            RERANKER_PROVIDER="http", RERANKER_URL=server.address, RERANKER_MODEL="rank", MODEL_PRICES=PRICES
        )
        with chosen, on_behalf_of(alice.owner_id, "recall"), pytest.raises(RerankerUnavailable):
            composition.reranker().rerank("what", ["a", "b"])
        assert (only(alice).failures, only(alice).cost) == (1, FREE)

    def test_probes_belong_to_nobody(self, alice: Actor, serve: Serve) -> None:
        with embedding(serve(counted)):
            assert composition.embedder().dimension
            composition.embedder().embed(["x"])
        assert rows(alice) == []

    def test_an_embedder_that_is_none_is_not_called(self, alice: Actor) -> None:
        chosen = configured(EMBEDDING_PROVIDER="none")
        with chosen, on_behalf_of(alice.owner_id, "store"), pytest.raises(EmbedderUnavailable):
            composition.embedder().embed(["x"])
        assert rows(alice) == []


class TestForWhom:
    def test_what_agents_store_and_ask_is_theirs(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        agent, _ = make_agent(alice)
        remember(actor=agent, draft=Draft(text="The violet cushion is on the chair."))
        recall(actor=agent, request=RecallRequest(query="Where is the violet cushion?"))
        remember(actor=alice, draft=Draft(text="The lake freezes in January."))
        found = {(row.component, row.agent_id) for row in rows(alice)}
        assert found == {("store", agent.agent_id), ("recall", agent.agent_id), ("store", None)}
        assert {(row.provider, row.cost, row.unpriced_calls) for row in rows(alice)} == {("stub", FREE, 0)}

    def test_owners_do_not_mix(self, alice: Actor, mallory: Actor) -> None:
        model_called(call_for(alice))
        model_called(call_for(mallory, input_tokens=5))
        assert (only(alice).input_tokens, only(mallory).input_tokens) == (1_000, 5)

    def test_rows_of_an_agent_that_is_gone_are_let_go_and_the_others_written(self, alice: Actor) -> None:
        model_called(call_for(alice, agent_id=alice.owner_id))
        model_called(call_for(alice))
        assert only(alice).agent_id is None
        assert list(spending._spending.log.waiting(alice.owner_id)) == []


class TestHours:
    def test_a_call_belongs_to_the_hour_in_which_it_ended(self, alice: Actor) -> None:
        end = datetime(2026, 3, 1, 11, tzinfo=UTC)
        for moment in (end - timedelta(microseconds=1), end, end + timedelta(minutes=59, seconds=59)):
            model_called(call_for(alice, at=moment))
        assert [(row.hour, row.calls) for row in rows(alice)] == [(end - timedelta(hours=1), 1), (end, 2)]

    def test_a_clock_that_jumps_back_adds_to_the_earlier_hour(self, alice: Actor) -> None:
        for hours in (0, 5, -3, 0):
            model_called(call_for(alice, at=AT + timedelta(hours=hours)))
            spending.flush()
        assert [row.calls for row in rows(alice)] == [1, 2, 1]

    def test_rows_older_than_400_days_are_removed(self, alice: Actor) -> None:
        for days in (401, 399):
            model_called(call_for(alice, at=AT - timedelta(days=days)))
        spending.flush()
        assert remove_outdated(at=AT)["model_usage"] == 1
        assert [row.hour.date() for row in rows(alice)] == [(AT - timedelta(days=399)).date()]


class TestMoney:
    def test_prices_that_change_later_rewrite_nothing(self, alice: Actor) -> None:
        with override_settings(MODEL_PRICES=PRICES):
            model_called(call_for(alice))
        with override_settings(MODEL_PRICES={"chat": Price(input=Decimal(1_000))}):
            before = only(alice).cost
            model_called(call_for(alice, at=AT + timedelta(hours=1)))
        assert before == Decimal("0.00021")
        assert [row.cost for row in rows(alice)] == [before, Decimal(1)]

    def test_a_model_elsewhere_without_a_price_is_unpriced_and_not_free(self, alice: Actor) -> None:
        model_called(call_for(alice, model="unknown"))
        model_called(call_for(alice, model="here", local=True))
        assert [(row.model, row.cost, row.unpriced_calls) for row in rows(alice)] == [
            ("here", FREE, 0),
            ("unknown", FREE, 1),
        ]

    def test_small_calls_are_not_rounded_away(self, alice: Actor) -> None:
        with override_settings(MODEL_PRICES=PRICES):
            for _ in range(1_000):
                model_called(call_for(alice, model="paid", input_tokens=1, output_tokens=0))
                if _ % 100 == 0:
                    spending.flush()
        assert only(alice).cost == Decimal("0.00002")


class TestNothingIsLost:
    @pytest.mark.django_db(transaction=True)
    def test_fifty_threads_lose_nothing(self, alice: Actor) -> None:
        log = spending.Spending()
        spending._spending = log

        def many(number: int) -> None:
            for at in range(40):
                log.note(call_for(alice, component=f"part {(number + at) % 5}", input_tokens=number, ok=at % 4 != 0))
            connections.close_all()

        with override_settings(MODEL_PRICES=PRICES), ThreadPoolExecutor(50) as pool:
            list(pool.map(many, range(50)))
        found = rows(alice)
        assert sum(row.calls for row in found) == 2_000
        assert sum(row.failures for row in found) == 500
        assert sum(row.input_tokens for row in found) == 40 * sum(range(50))
        assert sum(row.output_tokens for row in found) == 200_000
        expected = 40 * sum(range(50)) * Decimal("0.15") + 200_000 * Decimal("0.60")
        assert sum((row.cost for row in found), Decimal(0)) == expected / 1_000_000

    @pytest.mark.django_db(transaction=True, databases=["default", "schema"])
    def test_what_the_database_refuses_waits(self, alice: Actor) -> None:
        log = spending.Spending(writes_itself=False)
        spending._spending = log
        log.note(call_for(alice))
        with connections["schema"].cursor() as cursor:
            cursor.execute("ALTER TABLE telemetry_modelusage RENAME TO away")
        try:
            log.log.flush()
            log.note(call_for(alice))
        finally:
            with connections["schema"].cursor() as cursor:
                cursor.execute("ALTER TABLE away RENAME TO telemetry_modelusage")
            connections["schema"].close()
        assert only(alice).calls == 2

    @pytest.mark.django_db(transaction=True)
    def test_a_process_that_ends_cleanly_has_written_all(self, alice: Actor) -> None:
        name = connections["default"].settings_dict["NAME"]
        assert self._run(str(alice.owner_id), str(name)) == 0
        row = only(alice)
        assert (row.calls, row.input_tokens) == (25, 75)

    def _run(self, owner: str, name: str) -> int:
        script = """
import sys, django
django.setup()
from datetime import UTC, datetime
from uuid import UUID
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[2]
connections.settings["default"]["NAME"] = sys.argv[2]
from memory.ports.recorder import ModelCalled, model_called
for _ in range(25):
    model_called(ModelCalled(
        owner_id=UUID(sys.argv[1]), agent_id=None, kind="llm", component="x", provider="p", model="m", input_tokens=3,
        output_tokens=0, seconds=0.1, ok=True, at=datetime(2026, 3, 1, tzinfo=UTC)))
"""
        return subprocess.run([sys.executable, "-c", script, owner, name], env=os.environ, check=False).returncode

    def test_all_that_waits_is_written_when_the_process_is_told_to(self, alice: Actor) -> None:
        model_called(call_for(alice))
        gathering.write_gathered()
        with owner_scope(alice.owner_id):
            assert ModelUsage.objects.get().calls == 1

    def test_counting_costs_no_query(self, alice: Actor, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            model_called(call_for(alice))

    def test_a_purge_forgets_what_waits(self, alice: Actor) -> None:
        model_called(call_for(alice))
        forget_owner(alice.owner_id)
        assert rows(alice) == []

    def test_calls_of_an_owner_who_is_gone_are_dropped(self, alice: Actor) -> None:
        model_called(call_for(alice))
        with transaction.atomic():
            Owner.objects.filter(pk=alice.owner_id).update(purging_at=AT)
        spending.flush()
        assert list(spending._spending.log.waiting(alice.owner_id)) == []


PARTS = st.tuples(
    st.integers(0, 70),
    st.sampled_from(["embedding", "llm", "rerank"]),
    st.sampled_from(["store", "recall", "memory_sleep"]),
    st.sampled_from(["paid", "chat", "unknown", "rank"]),
    st.integers(0, 10**6),
    st.integers(0, 10**4),
    st.booleans(),
    st.booleans(),
)


class TestSums:
    @hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(calls=st.lists(PARTS, min_size=1, max_size=30))
    def test_the_sum_over_any_grouping_is_the_total(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]], calls: list[Any]
    ) -> None:
        agent = self._agent(alice, make_agent)
        with owner_scope(alice.owner_id):
            ModelUsage.objects.all().delete()
        expected: Counter[str] = Counter()
        cost = Decimal(0)
        with override_settings(MODEL_PRICES=PRICES):
            for hours, kind, component, model, read, written, ok, mine in calls:
                one = call_for(
                    agent if mine else alice, kind=kind, component=component, model=model, input_tokens=read,
                    output_tokens=written, ok=ok, at=AT + timedelta(hours=hours),
                )  # fmt: skip
                model_called(one)
                price = PRICES.get(model) or PRICES.get(f"openai/{model}")
                if price:
                    cost += price.of(input_tokens=read, output_tokens=written) - (0 if ok else price.call)
                expected.update(calls=1, failures=int(not ok), input_tokens=read, output_tokens=written)
                expected["unpriced_calls"] += int(price is None)
        for group in GROUPS:
            request = UsageRequest(since=AT - timedelta(days=1), until=AT + timedelta(days=5), by=group)
            report = usage_report(actor=alice, request=request)
            for name in expected:
                assert sum(getattr(line, name) for line in report.lines) == expected[name], (group, name)
                assert getattr(report.total, name) == expected[name]
            assert sum((line.cost for line in report.lines), Decimal(0)) == report.total.cost == cost
            at_once = usage_report(actor=alice, request=replace(request, by="kind", also=tuple(GROUPS)))
            assert at_once.further[group] == report.lines
            assert (at_once.total, at_once.unpriced) == (report.total, report.unpriced)

    def _agent(self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> Actor:
        if not hasattr(self, "_made"):
            self._made, _ = make_agent(alice, "assistant")
        return self._made


def test_an_agents_rows_go_with_the_agent_and_the_archive_holds_exact_costs(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice)
    assert agent.agent_id is not None
    with override_settings(MODEL_PRICES=PRICES):
        for actor in (alice, agent):
            model_called(call_for(actor))
            set_budget(actor=alice, draft=BudgetDraft(period="day", hard="0.1", agent_id=actor.agent_id))
    spending.flush()
    with owner_scope(alice.owner_id):
        kept = {part.name: list(records(part, alice)) for part in parts() if part.name in ("model_usage", "budgets")}
        assert [Decimal(row["cost"]) for row in kept["model_usage"]] == [Decimal("0.00021")] * 2
        assert {Decimal(row["hard"]) for row in kept["budgets"]} == {Decimal("0.1")}
        counts = {part.name: part.count(agent.agent_id) for part in agent_parts()}
        assert (counts["model_usage"], counts["budgets"]) == (1, 1)
        for part in agent_parts():
            part.erase(agent.agent_id)
        assert [row.agent_id for row in ModelUsage.objects.all()] == [None]
        assert [row.agent_id for row in Budget.objects.all()] == [None]


def test_groups_name_what_they_group(alice: Actor) -> None:
    for hours, model in itertools.product((0, 1, 24), ("chat", "unknown")):
        model_called(call_for(alice, model=model, at=AT + timedelta(hours=hours)))
    request = UsageRequest(since=AT - timedelta(days=1), until=AT + timedelta(days=5), by="hour")
    assert [line.key for line in usage_report(actor=alice, request=request).lines] == [
        "2026-03-01T10:00:00+00:00", "2026-03-01T11:00:00+00:00", "2026-03-02T10:00:00+00:00",
    ]  # fmt: skip
    days = usage_report(actor=alice, request=replace(request, by="day")).lines
    assert [(line.key, line.calls) for line in days] == [("2026-03-01", 4), ("2026-03-02", 2)]
    models = usage_report(actor=alice, request=replace(request, by="model")).lines
    assert {line.key for line in models} == {"openai/chat", "openai/unknown"}
