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
from django.test import override_settings

from memory.ports.recorder import model_called
from memory.services.actors import Actor
from memory.services.clock import now
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


def test_budgets_are_listed_set_and_removed(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    agent, _ = make_agent(alice)
    assert "There is no budget." in told("budgets")
    with override_settings(MODEL_PRICES=PRICES):
        model_called(call_for(alice, at=now()))
    said = told("budgets", "month", "--soft", "0.0001", "--hard", "20")
    assert "All together, this month: 0.00021 USD spent; warned from 0.0001, at most 20: soft limit reached." in said
    (found,) = value("budgets")["budgets"]
    assert (found["state"], found["spent"], found["hard"]) == ("soft", "0.00021", "20")
    told("budgets", "day", "--hard", "1", "--agent", str(agent.agent_id))
    told("budgets", "month", "--remove")
    assert [one.agent_id for one in list_budgets(actor=alice)] == [agent.agent_id]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("budgets", "day"), "budget.empty"),
        (("budgets", "day", "--hard", "much"), "budget.amount_invalid"),
        (("budgets", "day", "--soft", "2", "--hard", "1"), "budget.order"),
        (("budgets", "day", "--remove"), "budget.not_found"),
        (("budgets", "--hard", "1"), "budget.period_invalid"),
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
        ("budgets", "day", "--agent", "scribe"),
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
