"""Every page in light and dark, wide and narrow: no finding of axe, no complaint, no sideways scrolling, a picture."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Page

from memory.models import User
from memory.ports.recorder import model_called
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.retirement import delete_memory
from telemetry.services.costs.budgets import BudgetDraft, set_budget
from telemetry.services.recalls.experiments import ExperimentDraft, end_experiment, list_experiments, start_experiment
from tests.browser.conftest import Watch
from tests.browser.looking import VENDOR, look
from tests.integration.telemetry.providers import PRICES
from tests.integration.telemetry.recalls import ask, context, fill, observe
from tests.integration.telemetry.telling import tell, tell_a_week
from tests.integration.telemetry.test_usage import call_for


def test_the_vendored_files_are_the_ones_that_were_chosen() -> None:
    lock = json.loads((VENDOR / "vendor.lock.json").read_text())
    for name, digest in lock["axe-core"]["files"].items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def test_every_page_with_something_in_it(
    visitor: Page, furnished: dict[str, str], alice: Actor, scheme: str, size: str, watch: Watch
) -> None:
    def visit(name: str, path: str) -> None:
        visitor.goto(path)
        look(visitor, name, scheme=scheme, size=size)

    visit("recall-start", "/")
    visit("recall-found", "/?q=lisbon+booking+service")
    visitor.get_by_text("explain").first.click()
    visitor.get_by_text("Tuning").click()
    look(visitor, "recall-explained", scheme=scheme, size=size)
    visit("recall-nothing", "/?q=zebra&threshold=90&f=category:goal")
    visit("recall-personal", "/?q=invoices+anna&profile=prax")
    visitor.get_by_role("button", name="Reveal the text").first.click()
    visitor.get_by_text("shown once, which was recorded").wait_for()
    look(visitor, "recall-revealed", scheme=scheme, size=size)
    visit("recall-unclear", "/?q=fix+it")
    visit("remember", "/remember/")
    visit("memory", f"/memories/{furnished['deploy']}/")
    visit("memory-personal", f"/memories/{furnished['personal']}/")
    visitor.get_by_role("button", name="Reveal").click()
    visitor.get_by_role("link", name="Mask it again").wait_for()
    look(visitor, "memory-revealed", scheme=scheme, size=size)
    visit("memory-hostile", f"/memories/{furnished['hostile']}/")
    visit("edit", f"/memories/{furnished['deploy']}/edit/")
    visit("archive", "/archive/")
    visit("memory-archived", f"/memories/{furnished['archived']}/")
    visit("recent", "/recent/?recent=lisbon")
    visit("privacy", "/privacy/")
    visit("access-log", "/privacy/access/")
    visit("outbound", "/privacy/outbound/")
    visit("purge", "/privacy/purge/?subject=owner")
    delete_memory(actor=alice, memory_id=UUID(furnished["personal"]))
    visit("memory-undo", f"/memories/{furnished['personal']}/")
    assert watch.complaints == []


def test_the_pages_of_telemetry(
    visitor: Page, alice: Actor, scheme: str, size: str, watch: Watch, settings: Any
) -> None:
    settings.EMBEDDING_PROVIDER = "local"
    User.objects.filter(owner__id=alice.owner_id).update(is_staff=True)

    def visit(name: str, path: str) -> None:
        visitor.goto(path)
        look(visitor, name, scheme=scheme, size=size)

    visit("coverage-empty", "/telemetry/coverage/")
    tell_a_week(alice)
    tell(
        alice,
        "明日の会議の議事録を、東京とリスボンの同僚に英語とポルトガル語で送ってください。",
        matched_spoke="fallback",
    )
    tell(alice, "הפגישה הבאה תתקיים ביום שלישי בשעה עשר, אנא שלח תזכורת לכולם", matched_spoke="fallback")
    tell(alice, "A" * 300, matched_spoke="B" * 60, outcome="timeout")
    visit("coverage", "/telemetry/coverage/?days=7")
    visitor.get_by_text("As a table", exact=True).click()
    look(visitor, "coverage-tables", scheme=scheme, size=size)
    visitor.locator("a.bar-link").first.click()
    visitor.get_by_role("heading", name="Requests of this group").wait_for()
    look(visitor, "coverage-requests", scheme=scheme, size=size)
    visit("coverage-wrong", "/telemetry/coverage/?days=none")
    visit("admin", "/admin/")
    visit("admin-coverage", "/admin/telemetry/coverage/")
    visit("test-mode", "/telemetry/test-mode/")
    visitor.get_by_role("button", name="Switch test mode on").click()
    visitor.get_by_text("Test mode is on.").first.wait_for()
    look(visitor, "coverage-testing", scheme=scheme, size=size)
    expected = "the server responded with a status of 422"
    assert [complaint for complaint in watch.complaints if expected not in complaint] == []


def test_recall_costs_and_health(
    visitor: Page, alice: Actor, make_agent: Callable[..., Any], scheme: str, size: str, watch: Watch, settings: Any
) -> None:
    def visit(name: str, path: str) -> None:
        visitor.goto(path)
        look(visitor, name, scheme=scheme, size=size)

    for page in ("recall", "costs", "health"):
        visit(f"telemetry-{page}-empty", f"/telemetry/{page}/")
    settings.MODEL_PRICES = PRICES
    agent, _ = make_agent(alice, "scribe")
    fill(agent)
    ask(alice)
    context(agent)
    for _ in range(12):
        observe(agent, seconds=0.001)
    draft = ExperimentDraft(label="Ranks against my own", control="default", variant="prax", share=0.5)
    running = start_experiment(actor=alice, draft=draft)
    model_called(call_for(alice, at=now(), input_tokens=10_000_000))
    model_called(call_for(agent, at=now(), kind="embedding", component="recall", model="paid", ok=False))
    model_called(call_for(agent, at=now(), model="a-model-without-a-price-and-with-a-long-name"))
    set_budget(actor=alice, draft=BudgetDraft(period="month", soft="1", hard="2"))
    for page in ("recall", "costs", "health"):
        visit(f"telemetry-{page}", f"/telemetry/{page}/")
    visit("recall-asked-for-feedback", "/?q=billing+service&go=")
    visitor.get_by_role("button", name="This helped").first.press("Enter")
    visitor.get_by_text("Noted: this helped.").wait_for()
    look(visitor, "recall-feedback-given", scheme=scheme, size=size)
    visitor.goto("/telemetry/recall/")
    visitor.get_by_role("button", name="Explain").first.press("Enter")
    visitor.get_by_role("heading", name="A recall explained").wait_for()
    look(visitor, "recall-plans", scheme=scheme, size=size)
    end_experiment(actor=alice, experiment_id=running.pk)
    start_experiment(actor=alice, draft=replace(draft, label="W" * 100, agents=[agent.agent_id]))
    end_experiment(actor=alice, experiment_id=list_experiments(actor=alice)[0].pk)
    visitor.goto("/telemetry/recall/")
    visitor.get_by_text("Begin another comparison").press("Enter")
    visitor.get_by_label("with", exact=True).select_option("default")
    visitor.get_by_role("button", name="Begin", exact=True).press("Enter")
    visitor.get_by_role("alert").wait_for()
    look(visitor, "telemetry-recall-refused", scheme=scheme, size=size)
    expected = "the server responded with a status of 422"
    assert [complaint for complaint in watch.complaints if expected not in complaint] == []


def test_every_page_with_nothing_in_it(visitor: Page, scheme: str, size: str, watch: Watch, settings: Any) -> None:
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9"
    settings.EMBEDDING_PROVIDER = "openai"
    for name, path in (("empty", "/"), ("empty-nothing", "/?q=lisbon"), ("empty-archive", "/archive/")):
        visitor.goto(path)
        look(visitor, name, scheme=scheme, size=size)
    assert watch.complaints == []


def test_errors_and_the_way_in(visitor: Page, scheme: str, size: str, watch: Watch) -> None:
    for name, path in (("not-found", "/memories/01900000-0000-7000-8000-000000000000/"), ("no-page", "/nowhere/")):
        visitor.goto(path)
        look(visitor, name, scheme=scheme, size=size)
    visitor.goto("/?q=a&limit=900")
    look(visitor, "recall-problem", scheme=scheme, size=size)
    visitor.goto("/remember/")
    visitor.get_by_role("button", name="Save memory").click()
    look(visitor, "remember-wrong", scheme=scheme, size=size)
    visitor.context.clear_cookies()
    visitor.goto("/login/")
    look(visitor, "login", scheme=scheme, size=size)
    expected = "the server responded with a status of"
    assert [complaint for complaint in watch.complaints if expected not in complaint] == []


def test_every_target_is_large_enough(visitor: Page, furnished: dict[str, str], size: str, scheme: str) -> None:
    if scheme == "dark":
        pytest.skip("sizes do not depend on colours")
    visitor.goto("/?q=lisbon")
    small = visitor.evaluate(
        """() => [...document.querySelectorAll('button, input, select, nav a, .recent a, summary')]
            .filter(e => e.offsetParent && (e.offsetHeight < 24 || e.offsetWidth < 24)).map(e => e.outerHTML)"""
    )
    assert small == []
