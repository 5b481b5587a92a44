"""The drawer and the page of a memory, in a real browser."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.memories import get_memory
from tests.browser.conftest import Watch


def drawer_of(page: Page) -> Any:
    return page.locator("dialog.drawer")


def open_first(page: Page, memory_id: str) -> Any:
    """Open the first of the memories that a memory's page lists as close to it."""
    page.goto(f"/memories/{memory_id}/?stored=")
    link = page.locator("main a[data-drawer]").first
    link.focus()
    link.press("Enter")
    expect(drawer_of(page).locator("article.memory")).to_be_visible()
    return link


def test_a_memory_opens_beside_the_list_and_gives_the_focus_back(
    palace: Page, furnished: dict[str, str], watch: Watch
) -> None:
    link = open_first(palace, furnished["deploy"])
    drawer = palace.get_by_role("dialog", name="Memory")
    expect(drawer.get_by_role("region", name="This memory")).to_be_focused()
    expect(palace).to_have_url(re.compile(r"[?&]open=[0-9a-f-]{36}"))
    expect(drawer.get_by_role("link", name="Own page")).to_have_attribute("href", link.get_attribute("href") or "")
    palace.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(link).to_be_focused()
    expect(palace).not_to_have_url(re.compile("open="))
    assert watch.complaints == []


def test_keys_walk_through_the_list_and_back_closes(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    open_first(palace, furnished["deploy"])
    drawer, first = drawer_of(palace), palace.url
    expect(drawer.get_by_text(re.compile(r"^1 of \d+$"))).to_be_visible()
    palace.keyboard.press("j")
    expect(drawer.get_by_text(re.compile(r"^2 of \d+$"))).to_be_visible()
    assert palace.url != first
    palace.keyboard.press("k")
    expect(drawer.get_by_text(re.compile(r"^1 of \d+$"))).to_be_visible()
    expect(drawer.get_by_role("button", name="Previous memory")).to_be_disabled()
    expect(palace).to_have_url(first)
    palace.reload()
    expect(drawer_of(palace).locator("article.memory")).to_be_visible()
    palace.go_back()
    expect(drawer_of(palace)).to_be_hidden()
    expect(palace).to_have_url(re.compile(rf"/memories/{furnished['deploy']}/\?stored=$"))
    assert watch.complaints == []


def test_what_was_typed_is_not_lost_by_a_slip(palace: Page, alice: Actor, furnished: dict[str, str]) -> None:
    link = open_first(palace, furnished["deploy"])
    memory_id = (link.get_attribute("href") or "").split("/")[2]
    drawer = drawer_of(palace)
    drawer.get_by_role("link", name="Correct").click()
    drawer.get_by_label("What it says").fill("Something else that I remember.")
    palace.keyboard.press("Escape")
    expect(drawer.get_by_text("What you typed is not saved")).to_be_visible()
    change_memory(actor=alice, memory_id=memory_id, changes={"importance": 0.35})
    drawer.get_by_role("button", name="Save as version").click()
    expect(drawer.get_by_text("Stored now, version 2")).to_be_visible()
    expect(drawer.get_by_label("What it says")).to_have_value("Something else that I remember.")
    drawer.get_by_role("button", name="Save over version 2").click()
    expect(drawer.locator("article.memory > .text")).to_have_text("Something else that I remember.")
    assert get_memory(actor=alice, memory_id=memory_id).text == "Something else that I remember."


def test_forgetting_in_the_drawer_can_be_undone(palace: Page, alice: Actor, furnished: dict[str, str]) -> None:
    link = open_first(palace, furnished["deploy"])
    memory_id = (link.get_attribute("href") or "").split("/")[2]
    drawer = drawer_of(palace)
    drawer.get_by_role("button", name="Forget").click()
    expect(drawer.get_by_role("button", name="Undo")).to_be_focused()
    expect(drawer.locator("[data-undo-left]")).to_have_text(re.compile("in [1-9] seconds?"))
    palace.keyboard.press("Enter")
    expect(drawer.get_by_text("It is back, and searches find it again.")).to_be_visible()
    assert get_memory(actor=alice, memory_id=memory_id).status == "live"


def test_errors_are_shown_where_one_looks(palace: Page, furnished: dict[str, str]) -> None:
    palace.goto("/?open=0190aaaa-0000-7000-8000-000000000000")
    expect(drawer_of(palace).get_by_role("alert")).to_contain_text("It may have been forgotten")
    palace.keyboard.press("Escape")
    expect(drawer_of(palace)).to_be_hidden()
    expect(palace).not_to_have_url(re.compile("open="))
    palace.goto(f"/memories/{furnished['deploy']}/?stored=")
    palace.context.set_offline(True)
    palace.locator("main a[data-drawer]").first.click()
    expect(drawer_of(palace).get_by_role("alert")).to_contain_text("The server did not answer")
