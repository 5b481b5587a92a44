"""`/telemetry/usage` and `/telemetry/budgets` over HTTP: exact amounts, versions, CSV and clear refusals."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import override_settings

from memory.ports.recorder import model_called
from memory.services.actors import Actor
from memory.services.clock import now
from tests.integration.api.conftest import Client
from tests.integration.telemetry.providers import PRICES
from tests.integration.telemetry.test_usage import call_for

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
WINDOW = "from=2026-03-01T00:00:00Z&until=2026-03-03T00:00:00Z"


def codes(answer: Any) -> list[str]:
    """Give the codes of all that is wrong with a request, or the one of the whole."""
    body = answer.json()
    return [one["code"] for one in body.get("errors", [])] or [body["code"]]


def code(answer: Any) -> str:
    return str(answer.json()["code"])


@pytest.fixture
def called(woman: Client, agent: Client) -> None:
    """Two days of calls, with and without a price."""
    with override_settings(MODEL_PRICES=PRICES):
        model_called(call_for(woman.actor, at=AT))
        model_called(call_for(agent.actor, at=AT + timedelta(days=1), kind="embedding", model="=unknown", ok=False))


class TestUsage:
    def test_it_tells_exact_sums(self, woman: Client, called: None) -> None:
        found = woman.json("get", f"/telemetry/usage?{WINDOW}").json()
        assert [(line["key"], line["cost"], line["calls"]) for line in found["lines"]] == [
            ("2026-03-01", "0.00021", 1), ("2026-03-02", "0", 1),
        ]  # fmt: skip
        assert found["total"] == {
            "calls": 2, "failures": 1, "input_tokens": 2_000, "output_tokens": 200, "estimated_calls": 0,
            "seconds": 0.5, "cost": "0.00021", "unpriced_calls": 1,
        }  # fmt: skip
        assert (found["currency"], found["unpriced"], found["budgets"]) == ("USD", ["openai/=unknown"], [])
        assert found["other_costs"] == {}

    def test_an_agent_is_named(self, woman: Client, agent: Client, called: None) -> None:
        lines = woman.json("get", f"/telemetry/usage?{WINDOW}&by=agent").json()["lines"]
        assert [(line["key"], line["label"]) for line in lines] == [
            ("", "no agent"), (str(agent.actor.agent_id), lines[1]["label"]),
        ]  # fmt: skip
        assert lines[1]["label"]

    @pytest.mark.parametrize("header", [{}, {"Accept": "text/csv"}])
    def test_a_table_holds_no_formula(self, woman: Client, called: None, header: dict[str, str]) -> None:
        form = "" if header else "&format=csv"
        answer = woman.json("get", f"/telemetry/usage?{WINDOW}&by=model{form}", **header)
        assert answer["Content-Type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
        assert [row["key"] for row in rows] == ["openai/chat", "openai/=unknown"]
        assert sum(Decimal(row["cost"]) for row in rows) == Decimal("0.00021")

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("by=week", "by.invalid"),
            ("days=0", "days.out_of_range"),
            ("days=401", "days.out_of_range"),
            ("days=few", "field.type"),
            ("from=soon", "date.invalid"),
            ("days=3&from=2026-03-01", "usage.window"),
            ("from=2026-03-02&until=2026-03-01", "usage.window"),
            ("from=2020-01-01", "usage.window"),
            ("from=2026-01-01&until=2026-03-01&by=hour", "usage.window"),
            ("when=now", "query.unknown"),
        ],
    )
    def test_what_cannot_be_asked_is_refused(self, woman: Client, query: str, expected: str) -> None:
        answer = woman.json("get", f"/telemetry/usage?{query}")
        assert answer.status_code == 422
        assert codes(answer) == [expected]

    def test_an_owner_without_calls_has_none(self, woman: Client) -> None:
        found = woman.json("get", "/telemetry/usage").json()
        assert (found["lines"], found["total"]["calls"], found["total"]["cost"]) == ([], 0, "0")

    def test_a_stranger_sees_nothing_of_it(self, stranger: Client, called: None) -> None:
        assert stranger.json("get", f"/telemetry/usage?{WINDOW}").json()["total"]["calls"] == 0


class TestBudgets:
    def test_it_is_set_read_and_removed_by_version(self, woman: Client) -> None:
        made = woman.json("put", "/telemetry/budgets/month", {"soft": 0.1, "hard": "12.345678"})
        assert (made.status_code, made["ETag"]) == (200, '"1"')
        body = made.json()
        assert {name: body[name] for name in ("soft", "hard", "spent", "state", "own", "agent_id", "version")} == {
            "soft": "0.1", "hard": "12.345678", "spent": "0", "state": "ok", "own": True, "agent_id": None,
            "version": 1,
        }  # fmt: skip
        stale = woman.json("put", "/telemetry/budgets/month", {"hard": 1}, **{"If-Match": '"7"'})
        assert (stale.status_code, code(stale)) == (412, "precondition.failed")
        again = woman.json("put", "/telemetry/budgets/month", {"hard": 1}, **{"If-Match": '"1"'})
        assert (again.json()["soft"], again["ETag"]) == (None, '"2"')
        assert woman.json("get", "/telemetry/budgets/month").json() == again.json()
        assert woman.json("get", "/telemetry/budgets").json() == {"items": [again.json()]}
        assert woman.json("delete", "/telemetry/budgets/month", **{"If-Match": '"1"'}).status_code == 412
        assert woman.json("delete", "/telemetry/budgets/month", **{"If-Match": '"2"'}).status_code == 204
        assert code(woman.json("get", "/telemetry/budgets/month")) == "budget.not_found"
        assert code(woman.json("delete", "/telemetry/budgets/month")) == "budget.not_found"

    def test_what_is_spent_stands_beside_it(self, woman: Client) -> None:
        with override_settings(MODEL_PRICES=PRICES):
            model_called(call_for(woman.actor, at=now()))
        found = woman.json("put", "/telemetry/budgets/day", {"soft": "0.0002", "hard": 1}).json()
        assert (found["spent"], found["state"]) == ("0.00021", "soft")
        assert woman.json("put", "/telemetry/budgets/day", {"hard": "0.00021"}).json()["state"] == "hard"
        assert woman.json("get", "/telemetry/usage").json()["budgets"][0]["state"] == "hard"

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ({}, "budget.empty"),
            ({"soft": None}, "budget.empty"),
            ({"soft": 2, "hard": 1}, "budget.order"),
            ({"hard": 1e12}, "budget.amount_invalid"),
            ({"hard": 0.1234567}, "budget.amount_invalid"),
            ({"hard": "1e3"}, "budget.amount_invalid"),
            ({"hard": "-1"}, "budget.amount_invalid"),
            ({"hard": -1}, "budget.amount_invalid"),
            ({"hard": ""}, "budget.amount_invalid"),
            ({"hard": True}, "field.type"),
            ({"hard": [1]}, "field.type"),
            ({"limit": 1}, "field.unknown"),
        ],
    )
    def test_what_cannot_be_used_is_refused(self, woman: Client, body: Any, expected: str) -> None:
        answer = woman.json("put", "/telemetry/budgets/day", body)
        assert answer.status_code == 422
        assert codes(answer) == [expected]
        assert woman.json("get", "/telemetry/budgets").json() == {"items": []}

    @pytest.mark.parametrize("amount", ["-1", -1, "much", "1000000001", 1_000_000_001, "0.1234567"])
    def test_a_refused_amount_names_its_bounds(self, woman: Client, amount: Any) -> None:
        detail = woman.json("put", "/telemetry/budgets/month", {"hard": amount}).json()["detail"]
        assert detail.startswith("hard")
        assert "an amount from 0 to 1000000000 with at most 6 decimal places." in detail

    def test_other_periods_and_agents_are_not_there(self, woman: Client, stranger: Client, agent: Client) -> None:
        assert code(woman.json("put", "/telemetry/budgets/week", {"hard": 1})) == "budget.not_found"
        path = f"/telemetry/budgets/day/agents/{agent.actor.agent_id}"
        assert stranger.json("put", path, {"hard": 1}).status_code == 404
        assert woman.json("put", "/telemetry/budgets/day/agents/nobody", {"hard": 1}).status_code == 404
        assert woman.json("put", path, {"hard": 1}).json()["agent_id"] == str(agent.actor.agent_id)

    def test_an_agent_sees_none_of_it(self, alice: Actor, make_client: Callable[..., Client]) -> None:
        agent = make_client(alice)
        for path in ("/telemetry/usage", "/telemetry/budgets", "/telemetry/budgets/day"):
            assert agent.json("get", path).status_code == 403
        assert agent.json("put", "/telemetry/budgets/day", {"hard": 1}).status_code == 403

    def test_a_write_sent_again_under_its_key_is_done_once(self, woman: Client) -> None:
        for _ in range(2):
            answer = woman.json("put", "/telemetry/budgets/day", {"hard": 1}, **{"Idempotency-Key": "once"})
            assert (answer.status_code, answer["ETag"]) == (200, '"1"')
