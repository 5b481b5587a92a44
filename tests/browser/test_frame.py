"""The frame of the palace, and the pages for remembering, the archive and taking memories along, in a real browser."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from memory.models import Memory, PendingVector, owner_scope
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.memories import get_memory
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from tests.browser.conftest import NO_DATABASE, Watch, log_in
from tests.browser.looking import look


def test_the_pages_of_the_frame(
    visitor: Page, furnished: dict[str, str], alice: Actor, scheme: str, size: str, watch: Watch
) -> None:
    def visit(name: str, path: str) -> None:
        visitor.goto(path)
        look(visitor, name, scheme=scheme, size=size)

    visit("remember-empty", "/remember/")
    text = "My sister Anna Silva moved to Lisbon on 3 March 2025 and reads anna@example.org every morning."
    visitor.get_by_label("What shall I remember?").fill(text)
    expect(visitor.locator("#understood")).to_contain_text("Personal data")
    watch.wait_until_quiet(visitor)
    look(visitor, "remember-understood", scheme=scheme, size=size)
    visitor.evaluate("window.localStorage.clear()")
    for memory_id in (furnished["deploy"], furnished["hostile"]):
        archive_memory(actor=alice, memory_id=UUID(memory_id))
    visit("archive-choosable", "/archive/")
    visit("archive-filtered", "/archive/?category=goal")
    visit("growth", "/archive/growth/")
    visitor.get_by_text("As a table").click()
    look(visitor, "growth-table", scheme=scheme, size=size)
    visit("transfer", "/archive/transfer/")
    visitor.get_by_role("button", name="Import").click()
    visitor.get_by_text("Choose a file.").wait_for()
    look(visitor, "transfer-wrong", scheme=scheme, size=size)
    document = {"memories": [{"content": "A tram ride through Alfama."}, {"content": " "}, {"content": 5}]}
    visitor.get_by_label("File", exact=True).set_input_files(
        {"name": "loci.json", "mimeType": "application/json", "buffer": json.dumps(document).encode()}
    )
    visitor.get_by_role("button", name="Import").click()
    visitor.get_by_role("heading", name="Not taken over").wait_for()
    look(visitor, "transfer-taken", scheme=scheme, size=size)
    if size == "narrow":
        visitor.goto("/")
        visitor.get_by_text("Menu", exact=True).click()
        look(visitor, "menu-open", scheme=scheme, size=size)
    expected = "the server responded with a status of 422"
    assert [complaint for complaint in watch.complaints if expected not in complaint] == []


def test_the_pages_of_the_frame_with_nothing_in_them(
    visitor: Page, alice: Actor, scheme: str, size: str, watch: Watch
) -> None:
    for name, path in (("archive-empty", "/archive/"), ("growth-empty", "/archive/growth/")):
        visitor.goto(path)
        look(visitor, name, scheme=scheme, size=size)
    remember(actor=alice, draft=Draft(text="We met in Lisbon."))
    with owner_scope(alice.owner_id):
        row = Memory.objects.get()
        PendingVector.objects.create(memory=row, next_at=row.created_at)
    visitor.goto("/archive/")
    visitor.get_by_role("button", name="Embed all").wait_for()
    look(visitor, "memories-waiting", scheme=scheme, size=size)
    assert watch.complaints == []


def test_a_phone_reaches_every_section_without_scripts(plain_palace: Page) -> None:
    plain_palace.set_viewport_size({"width": 360, "height": 780})
    plain_palace.goto("/archive/")
    expect(plain_palace.locator(".here")).to_have_text("Archive")
    link = plain_palace.get_by_role("navigation", name="Main").get_by_role("link", name="Privacy")
    expect(link).to_be_hidden()
    plain_palace.get_by_text("Menu", exact=True).click()
    expect(link).to_be_visible()
    expect(plain_palace.get_by_role("button", name=re.compile("Log out"))).to_be_visible()
    link.click()
    expect(plain_palace).to_have_url(re.compile("/privacy/$"))


def test_a_wide_window_shows_the_sections_beside_the_page(palace: Page) -> None:
    palace.set_viewport_size({"width": 1400, "height": 800})
    palace.goto("/archive/growth/")
    here = palace.get_by_role("navigation", name="Main").get_by_role("link", name="Archive")
    expect(here).to_have_attribute("aria-current", "page")
    rail, main = here.bounding_box(), palace.get_by_role("main").bounding_box()
    assert rail is not None
    assert main is not None
    assert rail["x"] + rail["width"] <= main["x"]
    expect(palace.get_by_text("Menu", exact=True)).to_be_hidden()
    palace.keyboard.press("Tab")
    expect(palace.get_by_role("link", name="Skip to the content")).to_be_focused()
    palace.keyboard.press("Enter")
    expect(palace.get_by_role("main")).to_be_focused()


def test_the_language_is_chosen_without_scripts_and_kept(plain_palace: Page) -> None:
    plain_palace.goto("/archive/")
    expect(plain_palace.locator("html")).to_have_attribute("lang", "en")
    plain_palace.get_by_role("button", name="Deutsch").click()
    expect(plain_palace).to_have_url(re.compile("/archive/$"))
    expect(plain_palace.locator("html")).to_have_attribute("lang", "de")
    plain_palace.goto("/privacy/")
    expect(plain_palace.locator("html")).to_have_attribute("lang", "de")


def test_what_is_typed_is_understood_and_only_kept_when_saved(palace: Page, alice: Actor, watch: Watch) -> None:
    known = remember(actor=alice, draft=Draft(text="Anna moved to Lisbon in March 2025.")).memory_id
    palace.goto("/remember/")
    palace.get_by_label("What shall I remember?").press_sequentially("Anna moved to Lisbon in March 2025.", delay=5)
    expect(palace.locator("#understood")).to_contain_text("I know exactly this already")
    palace.get_by_label("What shall I remember?").fill("Anna moved to Porto in April 2025.")
    expect(palace.locator("#understood")).to_contain_text("April 2025")
    expect(palace.locator(f'#understood a[href="/memories/{known}/"]')).to_be_visible()
    with owner_scope(alice.owner_id):
        assert Memory.objects.count() == 1
    palace.get_by_role("button", name="Save memory").click()
    expect(palace.get_by_text("I remember this now")).to_be_visible()
    palace.get_by_role("button", name="Undo").click()
    expect(palace.locator("[data-undo]")).to_be_visible()
    assert watch.complaints == []


def test_the_preview_button_works_without_scripts(plain_palace: Page, alice: Actor) -> None:
    plain_palace.goto("/remember/")
    plain_palace.get_by_label("What shall I remember?").fill("Anna moved to Porto in April 2025.")
    plain_palace.get_by_label("Tags").fill("move")
    plain_palace.get_by_role("button", name="Preview").click()
    expect(plain_palace.locator("#understood")).to_contain_text("Porto")
    expect(plain_palace.get_by_label("Tags")).to_have_value("move")
    with owner_scope(alice.owner_id):
        assert not Memory.objects.exists()
    plain_palace.get_by_role("button", name="Save memory").click()
    expect(plain_palace.get_by_text("I remember this now")).to_be_visible()


def test_a_draft_comes_back_until_it_is_saved_or_one_logs_out(palace: Page, watch: Watch) -> None:
    palace.goto("/remember/")
    palace.get_by_label("What shall I remember?").fill("Half a thought")
    watch.wait_until_quiet(palace)
    palace.goto("/archive/")
    palace.goto("/remember/")
    expect(palace.get_by_label("What shall I remember?")).to_have_value("Half a thought")
    palace.get_by_role("button", name="Begin anew").click()
    expect(palace.get_by_label("What shall I remember?")).to_have_value("")
    palace.get_by_label("What shall I remember?").fill("A whole thought")
    watch.wait_until_quiet(palace)
    palace.route(
        "**/remember/", lambda lost: lost.fulfill(status=503) if lost.request.method == "POST" else lost.continue_()
    )
    with palace.expect_response("**/remember/"):
        palace.get_by_role("button", name="Save memory").click()
    palace.goto("/remember/")
    expect(palace.get_by_label("What shall I remember?")).to_have_value("A whole thought")
    palace.unroute("**/remember/")
    palace.get_by_role("button", name="Save memory").click()
    expect(palace.get_by_text("I remember this now")).to_be_visible()
    palace.goto("/remember/")
    expect(palace.get_by_label("What shall I remember?")).to_have_value("")
    palace.get_by_label("What shall I remember?").fill("Another thought")
    watch.wait_until_quiet(palace)
    palace.get_by_role("button", name=re.compile("Log out")).click()
    expect(palace).to_have_url(re.compile("/login/"))
    assert palace.evaluate("Object.keys(localStorage).length") == 0


def test_a_draft_is_shown_to_nobody_else(
    palace: Page, context: BrowserContext, mallory: Actor, base_url: str, watch: Watch
) -> None:
    palace.goto("/remember/")
    palace.get_by_label("What shall I remember?").fill("Half a secret")
    watch.wait_until_quiet(palace)
    # The login ends without anybody having logged out, and another one begins in the same browser.
    log_in(context, mallory, base_url)
    palace.goto("/remember/")
    expect(palace.locator("form.remember")).to_be_visible()
    expect(palace.locator("[data-draft-found]")).to_be_hidden()
    expect(palace.get_by_label("What shall I remember?")).to_have_value("")


def test_many_are_ticked_restored_and_archived_again(palace: Page, alice: Actor, watch: Watch) -> None:
    ids = [remember(actor=alice, draft=Draft(text=f"Note number {place}.")).memory_id for place in range(3)]
    for memory_id in ids:
        archive_memory(actor=alice, memory_id=memory_id)
    palace.goto("/archive/")
    palace.get_by_label("All of this page").check()
    palace.get_by_label(re.compile("Choose “Note number 1")).uncheck()
    palace.get_by_role("button", name="Restore the ticked").click()
    expect(palace.get_by_text("2 memories are back")).to_be_visible()
    assert [get_memory(actor=alice, memory_id=one).status for one in ids] == ["live", "archived", "live"]
    palace.get_by_role("button", name="Undo", exact=True).click()
    expect(palace.get_by_text("2 memories are archived again.")).to_be_visible()
    assert {get_memory(actor=alice, memory_id=one).status for one in ids} == {"archived"}
    assert watch.complaints == []


def test_recent_memories_are_filtered_by_word_and_category(palace: Page, alice: Actor, watch: Watch) -> None:
    for text, category in (("I like green tea.", "preference"), ("Anna likes black tea.", "person")):
        remember(actor=alice, draft=Draft(text=text, category=category))
    palace.goto("/archive/")
    recent = palace.locator("#recent-list li")
    expect(recent).to_have_count(2)
    palace.get_by_label("Filter recent memories by category").select_option("person")
    expect(recent).to_have_count(1)
    expect(recent).to_contain_text("black tea")
    palace.get_by_label("Filter recent memories by a word").fill("green")
    expect(recent).to_contain_text("None of the newest 20 holds")
    assert watch.complaints == []


@pytest.mark.parametrize("body", [NO_DATABASE, "<html><body>502 Bad Gateway</body></html>", "away", ""])
def test_a_server_that_is_away_takes_no_part_of_a_page_away(palace: Page, alice: Actor, body: str) -> None:
    remember(actor=alice, draft=Draft(text="I like green tea."))
    palace.goto("/archive/")
    recent, failure = palace.locator("#recent-list"), palace.locator("#failure")
    word = palace.get_by_label("Filter recent memories by a word")
    away = re.compile("/recent/")
    palace.route(away, lambda asked: asked.fulfill(status=503, content_type="text/html", body=body))
    word.fill("green")
    expect(failure).to_be_visible()
    expect(recent).to_contain_text("I like green tea.")
    palace.unroute(away)
    word.fill("black")
    expect(recent).to_contain_text("None of the newest 20 holds “black”.")
    expect(failure).to_be_hidden()


@pytest.mark.parametrize("width", [320, 800, 1100, 1920])
def test_no_width_scrolls_sideways(palace: Page, furnished: dict[str, str], width: int) -> None:
    palace.set_viewport_size({"width": width, "height": 800})
    pages: list[Any] = ["/", "/remember/", "/archive/", "/archive/growth/", "/archive/transfer/"]
    for path in pages:
        palace.goto(path)
        assert palace.evaluate("document.documentElement.scrollWidth") <= width, path
