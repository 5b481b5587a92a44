"""The page about costs: what it says, what it warns of, and the form for budgets."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from memory.ports.recorder import model_called
from memory.services.actors import Actor
from memory.services.clock import now
from telemetry.palace.costs_view import money
from telemetry.services.costs import spending
from telemetry.services.costs.budgets import BudgetDraft, list_budgets, set_budget
from tests.integration.palace.conftest import client_of, directives
from tests.integration.telemetry.providers import PRICES
from tests.integration.telemetry.test_usage import call_for

pytestmark = pytest.mark.django_db

PAGE = "/telemetry/costs/"


def text_of(answer: Any) -> str:
    plain = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return re.sub(r"\s+", " ", html.unescape(plain))


def look(client: Client, query: str = "") -> str:
    answer = client.get(f"{PAGE}{query}")
    assert answer.status_code == 200
    return text_of(answer)


@pytest.fixture
def palace(alice: Actor) -> Client:
    return client_of(alice)


class TestWhatItSays:
    def test_without_calls_it_says_what_to_do(self, palace: Client) -> None:
        said = look(palace)
        assert "No model was asked in these days" in said
        assert "There is no budget" in said
        assert "No model has a price on this server" in said

    def test_costs_stand_by_part_agent_model_and_kind(
        self, alice: Actor, palace: Client, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        agent, _ = make_agent(alice, "Violet")
        with override_settings(MODEL_PRICES=PRICES):
            model_called(call_for(alice, at=now(), input_tokens=10_000_000))
            model_called(call_for(agent, at=now(), kind="embedding", component="recall", model="paid", ok=False))
            said = look(palace)
        assert "This month 1.50 USD" in said
        assert "Today 1.50 USD" in said
        assert "openai/chat 1.50 USD 1 0 10,000,100" in said
        assert "openai/paid 0.00008 USD 1 1 1,100" in said
        assert "Violet 0.00008 USD 1 1" in said
        assert "no agent 1.50 USD 1 0" in said
        assert "Language model 1.50 USD 1 0" in said
        assert "By day" in said

    def test_the_bars_of_the_days_are_drawn_in_every_language(self, alice: Actor, palace: Client) -> None:
        with override_settings(MODEL_PRICES=PRICES):
            model_called(call_for(alice, at=now(), input_tokens=10_000_000))
            page = palace.get(PAGE, headers={"Accept-Language": "de"}).content.decode()
        assert '<html lang="de"' in page
        bars = re.findall(r'<rect class="whole" x="[^"]+" y="([^"]+)" width="[^"]+" height="([^"]+)"><title>', page)
        assert bars == [("16.0", "84.0")]

    def test_what_has_no_price_is_not_shown_as_free(self, alice: Actor, palace: Client) -> None:
        model_called(call_for(alice, at=now(), model="unknown"))
        said = look(palace)
        assert "1 call went to models without a price, which are not free: openai/unknown." in said
        assert "openai/unknown no price 1 0 1,100" in said

    def test_more_agents_models_and_days_take_no_more_queries(
        self, alice: Actor, palace: Client, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        def queries() -> int:
            with CaptureQueriesContext(connection) as seen:
                look(palace)
            return len(seen)

        model_called(call_for(alice, at=now()))
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1))
        look(palace)
        few = queries()
        for number in range(4):
            agent, _ = make_agent(alice, f"agent {number}")
            set_budget(actor=alice, draft=BudgetDraft(period="day", hard=1, agent_id=agent.agent_id))
            for kind in ("llm", "embedding", "rerank"):
                call = call_for(agent, at=now() - timedelta(days=number), kind=kind, model=f"model {number}")
                model_called(replace(call, component=f"part {number}"))
        spending.flush()
        assert queries() == few

    def test_what_was_counted_in_another_currency_is_named_and_added_nowhere(
        self, alice: Actor, palace: Client
    ) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard="1.2"))
        with override_settings(MODEL_PRICES=PRICES):
            model_called(call_for(alice, at=now(), input_tokens=10_000_000))
            assert "currency" not in look(palace)
            with override_settings(PRICE_CURRENCY="EUR"):
                model_called(call_for(alice, at=now(), input_tokens=2_000_000))
                said = look(palace)
                assert "In these days 1.50 USD were counted, too, while prices had another currency." in said
                assert "Today 0.3001 EUR" in said
                assert "the budget is used up" not in said
            said = look(palace)
        assert "Today 1.50 USD" in said
        assert "the budget is used up" in said

    def test_the_window_stands_in_the_address(self, alice: Actor, palace: Client) -> None:
        model_called(call_for(alice, at=now() - timedelta(days=60)))
        for query, found in (("", False), ("?days=", False), ("?days=7", False), ("?days=61", True)):
            assert ("memory_sleep" in look(palace, query)) is found

    @pytest.mark.parametrize("days", ["none", "0", "401", "99999", "٣", "-1"])
    def test_days_that_there_are_not_are_refused_with_a_sentence(self, palace: Client, days: str) -> None:
        answer = palace.get(PAGE, {"days": days})
        assert answer.status_code == 422
        assert "days.out_of_range" in text_of(answer)

    def test_it_needs_no_script_or_style_of_its_own(self, alice: Actor, palace: Client) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", soft=1, hard=2))
        model_called(call_for(alice, at=now()))
        answer = palace.get(PAGE)
        assert directives(answer)["style-src"] == ["'self'"]
        page = answer.content.decode()
        assert not re.search(r"<style|\sstyle=|\son\w+=", page)
        assert page.count("<caption") == page.count("<table")

    def test_a_stranger_sees_nothing_of_it(self, alice: Actor, mallory: Actor) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", hard=77))
        model_called(call_for(alice, at=now(), component="memory_skills"))
        said = look(client_of(mallory))
        assert "77" not in said
        assert "memory_skills" not in said


class TestBudgets:
    def test_a_limit_that_is_reached_is_warned_of(self, alice: Actor, palace: Client) -> None:
        set_budget(actor=alice, draft=BudgetDraft(period="day", soft="0.0001", hard=1))
        set_budget(actor=alice, draft=BudgetDraft(period="month", hard="0.0002"))
        with override_settings(MODEL_PRICES=PRICES):
            model_called(call_for(alice, at=now()))
        said = look(palace)
        assert "All together, today: the soft limit is reached." in said
        assert "All together, this month: the budget is used up. No model is asked that costs." in said
        assert "0.00021 USD spent; warned from 0.0001 USD, at most 1.00 USD. Soft limit reached." in said

    def test_it_is_set_and_removed_by_form(
        self, alice: Actor, palace: Client, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        agent, _ = make_agent(alice, "Violet")
        sent = {"period": "day", "agent": str(agent.agent_id), "soft": "", "hard": " 2.5 "}
        answer = palace.post(f"{PAGE}budget/", sent)
        assert (answer.status_code, answer["Location"]) == (302, f"{PAGE}#budgets")
        assert "Violet, today" in look(palace)
        (kept,) = list_budgets(actor=alice)
        assert (kept.agent_id, kept.soft, kept.hard) == (agent.agent_id, None, Decimal("2.5"))
        stale = palace.post(f"{PAGE}budget/remove/", {**sent, "version": "7"})
        assert stale.status_code == 409
        assert palace.post(f"{PAGE}budget/remove/", {**sent, "version": "1"}).status_code == 302
        assert list_budgets(actor=alice) == []

    @pytest.mark.parametrize(
        ("sent", "sentence"),
        [
            ({"period": "day", "soft": "3", "hard": "2"}, "The soft limit is above the hard one."),
            ({"period": "day"}, "A budget has a soft or a hard limit, or both."),
            ({"period": "day", "hard": "2,50"}, "at most 6 decimal places"),
            ({"period": "week", "hard": "2"}, "Select a valid choice"),
            ({"period": "day", "hard": "2", "agent": "nobody"}, "Select a valid choice"),
        ],
    )
    def test_what_cannot_be_used_is_said_beside_the_form(
        self, alice: Actor, palace: Client, sent: dict[str, str], sentence: str
    ) -> None:
        answer = palace.post(f"{PAGE}budget/", sent)
        assert answer.status_code == 422
        assert sentence in text_of(answer)
        assert "<details open" in answer.content.decode()
        assert list_budgets(actor=alice) == []

    def test_a_form_with_an_error_begins_at_the_field_and_stays_below_its_tab(self, palace: Client) -> None:
        page = palace.post(f"{PAGE}budget/", {"period": "day", "soft": "3", "hard": "2"}).content.decode()
        assert re.findall(r'<input[^>]*name="(\w+)"[^>]* autofocus', page) == ["soft"]
        assert re.search(rf'<a href="{PAGE}" aria-current="page">Costs</a>', page)
        assert "Soft limit, warn from here on (USD)" in page
        assert "autofocus" not in palace.get(PAGE).content.decode()

    def test_a_refused_form_leads_to_addresses_of_the_page(self, palace: Client) -> None:
        action = f"{PAGE}budget/?days=90"
        assert f'action="{action}"' in palace.get(f"{PAGE}?days=90").content.decode()
        page = palace.post(action, {"period": "day"}).content.decode()
        assert f'id="costs" data-address="{PAGE}?days=90"' in page
        assert f'<a href="{PAGE}?days=90" hidden>' in page
        assert f'<a href="{PAGE}?days=7">7 days</a>' in page
        assert 'href="?' not in page

    @pytest.mark.parametrize("path", [f"{PAGE}budget/", f"{PAGE}budget/remove/"])
    def test_the_address_of_a_form_leads_to_the_page(self, palace: Client, path: str) -> None:
        for method in (palace.get, palace.head):
            answer = method(path)
            assert (answer.status_code, answer["Location"]) == (302, PAGE)
        assert palace.get(f"{path}?days=7")["Location"] == f"{PAGE}?days=7"
        assert palace.put(path).status_code == 405
        login = Client().get(path)
        assert (login.status_code, login["Location"]) == (302, f"/login/?next={path}")

    def test_an_agent_of_nobody_is_not_there(self, palace: Client) -> None:
        sent = {"period": "day", "agent": "nobody"}
        assert palace.post(f"{PAGE}budget/remove/", sent).status_code == 404

    def test_the_default_of_the_installation_is_named_as_such(self, palace: Client) -> None:
        with override_settings(BUDGET_HARD=Decimal(5)):
            assert "This installation's default" in look(palace)


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        ("0", "0 USD"),
        ("0.0000001", "0.0000001 USD"),
        ("0.000123456", "0.0001235 USD"),
        ("0.5", "0.5 USD"),
        ("1", "1.00 USD"),
        ("1234.567", "1,234.57 USD"),
    ],
)
def test_amounts_are_written_for_people(amount: str, written: str) -> None:
    assert money(Decimal(amount), "USD") == written
