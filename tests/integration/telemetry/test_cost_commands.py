"""`manage.py telemetry usage` and `budgets`: for one owner, for all without telling them apart, and clear refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from memory.models import Owner
from memory.ports.recorder import model_called
from memory.services.actors import Actor
from memory.services.clock import now
from telemetry.api.serializers.costs import UsageLineSerializer
from telemetry.services.costs import spending
from telemetry.services.costs.budgets import list_budgets
from tests.integration.telemetry.providers import PRICES
from tests.integration.telemetry.test_usage import call_for

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)


def told(*words: str) -> str:
    out = StringIO()
    call_command("telemetry", *words, stdout=out)
    return out.getvalue()


def value(*words: str) -> Any:
    return json.loads(told(*words, "--json"))


def test_an_owner_is_shown_what_models_cost(alice: Actor) -> None:
    with override_settings(MODEL_PRICES=PRICES):
        model_called(call_for(alice, at=AT))
    model_called(call_for(alice, at=AT, model="unknown", ok=False))
    words = ("usage", "--from", "2026-03-01", "--until", "2026-03-02", "--by", "model")
    said = told(*words)
    assert "openai/chat: 0.00021 USD, 1 call, 1,100 tokens" in said
    assert "Together: 0.00021 USD, 2 calls, 1 failed, 2,200 tokens" in said
    assert "Without a price, and not free: openai/unknown." in said
    found = value(*words)
    assert (found["total"]["cost"], found["total"]["unpriced_calls"], found["budgets"]) == ("0.00021", 1, [])


def test_numbers_have_the_names_and_units_of_the_interface(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice, "Violet")
    model_called(call_for(agent, at=AT))
    found = value("usage", "--from", "2026-03-01", "--until", "2026-03-02", "--by", "agent")
    (line,) = found["lines"]
    assert set(line) == set(UsageLineSerializer().fields)
    assert line["seconds"] == found["total"]["seconds"] > 0
    assert (found["since"], found["until"]) == ("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z")
    said = told("usage", "--from", "2026-03-01", "--until", "2026-03-02", "--by", "agent")
    assert f"Violet ({agent.agent_id}): " in said


def test_all_owners_are_added_up_and_none_is_told_apart(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice, "Violet")
    with override_settings(MODEL_PRICES=PRICES):
        for one in (alice, agent, mallory):
            model_called(call_for(one, at=AT))
    words = ("usage", "--all", "--from", "2026-03-01", "--until", "2026-03-02")
    said = told(*words) + json.dumps(value(*words))
    found = value(*words)
    assert (found["owners"], found["total"]["calls"], found["total"]["cost"]) == (2, 3, "0.00063")
    assert sum(Decimal(line["cost"]) for line in found["lines"]) == Decimal("0.00063")
    for personal in (alice.owner_id, mallory.owner_id, agent.agent_id, "Violet", "alice", "mallory"):
        assert str(personal) not in said
    with pytest.raises(CommandError, match=r"usage\.group_unknown"):
        told(*words, "--by", "agent")
    with pytest.raises(CommandError, match=r"usage\.owner_or_all"):
        told(*words, "--owner", "alice")


def test_all_owners_take_one_look_each_at_their_calls(alice: Actor, mallory: Actor) -> None:
    for one in (alice, mallory):
        model_called(call_for(one, at=AT))
    spending.flush()
    with CaptureQueriesContext(connection) as seen:
        told("usage", "--all")
    asked = [query["sql"] for query in seen]
    assert sum("telemetry_modelusage" in sql for sql in asked) == Owner.objects.filter(purging_at=None).count()
    assert not any("telemetry_budget" in sql for sql in asked)


def test_costs_in_another_currency_are_named_and_not_added(alice: Actor, mallory: Actor) -> None:
    with override_settings(MODEL_PRICES=PRICES):
        for one in (alice, mallory):
            model_called(call_for(one, at=AT))
            with override_settings(PRICE_CURRENCY="EUR"):
                model_called(call_for(one, at=AT, input_tokens=10_000))
    for words, euros, dollars in ((("--owner", "alice"), "0.00156", "0.00021"), (("--all",), "0.00312", "0.00042")):
        window = ("usage", *words, "--from", "2026-03-01", "--until", "2026-03-02")
        with override_settings(PRICE_CURRENCY="EUR"):
            found = value(*window)
            assert (found["total"]["cost"], found["other_costs"]) == (euros, {"USD": dollars})
            assert found["total"]["calls"] == sum(line["calls"] for line in found["lines"])
            assert f"Counted while prices were in USD, and added nowhere: {dollars} USD." in told(*window)
        found = value(*window)
        assert (found["total"]["cost"], found["other_costs"]) == (dollars, {"EUR": euros})


def test_budgets_are_listed_set_and_removed(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    agent, _ = make_agent(alice, "Violet")
    assert "There is no budget." in told("budgets")
    with override_settings(MODEL_PRICES=PRICES):
        model_called(call_for(alice, at=now()))
    said = told("budgets", "month", "--soft", "0.0001", "--hard", "20")
    assert "All together, this month: 0.00021 USD spent; warned from 0.0001, at most 20: soft limit reached." in said
    (found,) = value("budgets")["budgets"]
    assert (found["state"], found["spent"], found["hard"]) == ("soft", "0.00021", "20")
    assert (found["agent_id"], found["agent"]) == (None, None)
    assert found["begins"].endswith("-01T00:00:00Z")
    said = told("budgets", "day", "--hard", "1", "--agent", str(agent.agent_id))
    assert f"Violet ({agent.agent_id}), this day: " in said
    assert [one["agent"] for one in value("budgets")["budgets"]] == [None, "Violet"]
    assert f"Violet ({agent.agent_id}), this day: " in told("usage")
    told("budgets", "month", "--remove")
    assert [one.agent_id for one in list_budgets(actor=alice)] == [agent.agent_id]
    assert f"Violet ({agent.agent_id}), this day: 0 USD spent; at most 2: " in told(
        "budgets", "day", "--hard", "2", "--agent", "violet"
    )
    told("budgets", "day", "--remove", "--agent", "Violet")
    assert list_budgets(actor=alice) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("budgets", "day"), "budget.empty"),
        (("budgets", "day", "--hard", "much"), "budget.amount_invalid"),
        (("budgets", "day", "--soft", "2", "--hard", "1"), "budget.order"),
        (("budgets", "day", "--remove"), "budget.not_found"),
        (("budgets", "--hard", "1"), "budget.period_invalid"),
        (("budgets", "--agent", "scribe"), "budget.period_invalid"),
        (("budgets", "day", "--hard", "1", "--agent", "scribe"), r"`manage.py agent list` shows them. \(agent.unknown"),
        (("budgets", "day", "--hard", "1", "--agent", ""), "agent.unknown"),
        (("usage", "--days", "3", "--from", "2026-03-01"), "usage.window"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_code(alice: Actor, words: tuple[str, ...], code: str) -> None:
    with pytest.raises(CommandError, match=code):
        told(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("budgets", "week"),
        ("usage", "--by", "week"),
        ("usage", "--from", "soon"),
        ("usage", "--days", "0"),
        ("usage", "--days", "401"),
    ],
)
def test_words_that_are_not_known_are_refused(alice: Actor, words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        told(*words)


def test_without_owners_it_says_so(db: None) -> None:
    with pytest.raises(CommandError, match=r"usage\.no_owner"):
        told("usage", "--all")
