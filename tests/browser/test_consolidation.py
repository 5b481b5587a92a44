"""Consolidation in a real browser: run now to its end, the switch, settings with an error, and how it looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from memory.services.actors import Actor
from memory.services.consolidation.due import consolidate_due
from memory.services.consolidation.runs import ask_for_run
from memory.services.drafts import Draft
from memory.services.settings import get_settings
from memory.services.turns import TurnDraft, ingest_turns
from tests.browser.conftest import Watch
from tests.browser.looking import look


def talk(agent: Actor) -> None:
    """Store a conversation from which something can be drawn."""
    texts = (
        "I live in Whitefield. My sister Jule has a puppy named Oscar.",
        "I hate Chinese food.",
        "I moved from Whitefield to Electronic City.",
        "Yesterday the sensor failed because the cable was loose.",
    )
    turns = [TurnDraft(draft=Draft(text=text, role="user")) for text in texts]
    ingest_turns(actor=agent, session="letters", turns=turns)


def test_run_now_is_followed_to_its_end(
    palace: Page, alice: Actor, make_agent: Callable[..., Any], watch: Watch
) -> None:
    agent, _ = make_agent(alice, "scribe")
    talk(agent)
    palace.goto("/consolidation/")
    expect(palace.locator(".pass-facts")).to_contain_text("4 memories")
    palace.get_by_role("button", name="Run now").click()
    expect(palace.get_by_role("heading", name="Waits for a worker")).to_be_visible()

    consolidate_due()

    expect(palace.locator(".pass-runs tbody tr")).to_have_count(1)
    expect(palace.locator(".pass-runs")).to_contain_text("Done")
    expect(palace.locator("#consolidation-state")).to_have_attribute("data-at-work", "")
    palace.locator(".pass-runs tbody a").click()
    expect(palace.get_by_role("heading", name="Facts that it drew")).to_be_visible()
    watch.wait_until_quiet(palace)
    assert watch.complaints == []


def test_without_scripts(plain_palace: Page, alice: Actor, make_agent: Callable[..., Any]) -> None:
    agent, _ = make_agent(alice, "scribe")
    talk(agent)
    plain_palace.goto("/consolidation/")
    plain_palace.get_by_role("button", name="Run now").click()
    consolidate_due()
    plain_palace.reload()
    expect(plain_palace.locator(".pass-runs")).to_contain_text("Done")
    plain_palace.locator("#settings-sleep summary").click()
    plain_palace.get_by_label("Most memories of a pass").fill("30")
    plain_palace.locator("#settings-sleep").get_by_role("button", name="Keep these").click()
    assert get_settings(actor=alice)["values"]["sleep_window"] == 30
    plain_palace.get_by_role("button", name="Switch off").click()
    expect(plain_palace.get_by_text("Consolidation is off", exact=True)).to_be_visible()


def test_a_setting_that_cannot_be_is_marked(palace: Page, alice: Actor) -> None:
    palace.goto("/consolidation/")
    palace.locator("#settings-sleep summary").click()
    palace.get_by_label("Most memories of a pass").fill("1000")
    palace.locator("#settings-sleep").get_by_role("button", name="Keep these").click()
    expect(palace.locator("#settings-sleep .errors")).to_contain_text("This takes 2 to 100.")
    expect(palace.get_by_label("Most memories of a pass")).to_have_value("1000")
    assert get_settings(actor=alice)["values"]["sleep_window"] == 20


def test_looks(
    visitor: Page, alice: Actor, make_agent: Callable[..., Any], scheme: str, size: str, watch: Watch
) -> None:
    visitor.goto("/consolidation/")
    look(visitor, "consolidation-empty", scheme=scheme, size=size)
    visitor.goto("/consolidation/failures/")
    look(visitor, "consolidation-failures-empty", scheme=scheme, size=size)
    agent, _ = make_agent(alice, "scribe")
    talk(agent)
    run = ask_for_run(actor=alice, wait=True)
    ask_for_run(actor=alice, groups=["sleep"])
    visitor.goto("/consolidation/")
    look(visitor, "consolidation", scheme=scheme, size=size)
    visitor.goto(f"/consolidation/runs/{run.pk}/")
    look(visitor, "consolidation-run", scheme=scheme, size=size)
    visitor.goto("/consolidation/runs/")
    look(visitor, "consolidation-runs", scheme=scheme, size=size)
    visitor.goto("/consolidation/")
    visitor.locator("#settings-sleep summary").click()
    visitor.get_by_label("Most memories of a pass").fill("1000")
    visitor.locator("#settings-sleep").get_by_role("button", name="Keep these").click()
    visitor.locator("#settings-sleep .errors").wait_for()
    look(visitor, "consolidation-settings-wrong", scheme=scheme, size=size)
    watch.wait_until_quiet(visitor)
    assert watch.complaints == [] or all("422" in one for one in watch.complaints)
