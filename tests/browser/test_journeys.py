"""What a person does in the palace, in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from memory.crypto.signing import signer
from memory.models import AuditEvent, User, owner_scope
from memory.services import reinforcement
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.memories import accesses, get_memory
from memory.services.purge.partial_requests import PartialRequest, begin_partial
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.runner import run_due
from memory.services.remember import remember
from memory.services.retirement import restore_memory
from tests.browser.conftest import NO_DATABASE, Watch
from tests.conftest import PASSWORD


def search_box(page: Page) -> Any:
    return page.get_by_role("combobox", name="What do you want to recall?")


def test_log_in_look_round_and_leave(page: Page, alice: Actor, watch: Watch) -> None:
    watch.listen(page)
    page.goto("/archive/")
    page.get_by_label("Name").fill("alice")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(re.compile("/archive/$"))
    expect(page.get_by_role("heading", name="Archive", exact=True)).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(re.compile("/login/$"))
    page.goto("/")
    expect(page).to_have_url(re.compile(r"/login/\?next=/$"))
    assert watch.complaints == []


def test_remember_then_find_while_typing(palace: Page, alice: Actor, watch: Watch) -> None:
    palace.goto("/remember/")
    palace.get_by_label("What shall I remember?").fill("The lighthouse of Cabo da Roca is the westernmost point.")
    palace.get_by_label("Category", exact=True).select_option("fact")
    palace.get_by_label("Importance").fill("8")
    watch.wait_until_quiet(palace)
    palace.get_by_role("button", name="Save memory").click()
    expect(palace.get_by_text("I remember this now")).to_be_visible()
    watch.wait_until_quiet(palace)
    palace.get_by_role("link", name="Recall", exact=True).click()
    search_box(palace).press_sequentially("lighthouses", delay=20)
    hit = palace.locator(".hit").first
    expect(hit.locator("mark").first).to_have_text("lighthouse")
    expect(hit).to_contain_text("matched lighthouse")
    expect(hit).to_contain_text("similar meaning")
    expect(palace.get_by_role("status").filter(has_text="1 memory found")).to_be_visible()
    expect(palace).to_have_url(re.compile(r"/\?q=lighthouses$"))
    hit.get_by_text("explain").click()
    expect(hit.get_by_role("table").first).to_contain_text("words")
    reinforcement.flush()
    memory_id = palace.locator(".hit-text").first.get_attribute("href")
    assert memory_id is not None
    assert accesses(actor=alice, memory_ids=[_id(memory_id)]) == {}
    search_box(palace).press("Enter")
    expect(palace.locator(".hit")).to_have_count(1)
    palace.wait_for_load_state("networkidle")
    reinforcement.flush()
    assert accesses(actor=alice, memory_ids=[_id(memory_id)])[_id(memory_id)][0] == 1
    assert watch.complaints == []


def test_what_is_masked_is_revealed_where_it_stands(
    palace: Page, alice: Actor, furnished: dict[str, str], watch: Watch
) -> None:
    palace.goto("/?q=invoices")
    hit = palace.locator(".hit").filter(has_text="for invoices").first
    expect(hit).to_contain_text("[EMAIL]")
    expect(palace.locator("body")).not_to_contain_text("anna.silva@example.org")
    hit.get_by_role("button", name="Reveal the text at place").click()
    expect(hit.locator(".hit-text")).to_contain_text("anna.silva@example.org")
    expect(hit.get_by_role("status")).to_have_text("shown once, which was recorded")
    expect(hit.get_by_role("button", name="Reveal")).to_have_count(0)
    palace.goto(f"/memories/{furnished['personal']}/")
    expect(palace.locator("article .text").first).to_contain_text("[EMAIL]")
    palace.get_by_role("button", name="Reveal").click()
    expect(palace.locator("article .text").first).to_contain_text("anna.silva@example.org")
    palace.get_by_role("link", name="Mask it again").click()
    expect(palace.locator("article .text").first).to_contain_text("[EMAIL]")
    with owner_scope(alice.owner_id):
        assert AuditEvent.objects.filter(verb="reveal").count() == 2
    assert watch.complaints == []


def test_the_box_helps_with_words(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/")
    search_box(palace).press_sequentially("booking serv", delay=20)
    expect(palace.locator("#words option").first).to_have_attribute("value", "booking service")
    expect(palace.get_by_text("Shown for “booking service”")).to_be_visible()
    expect(palace.locator(".hit mark").first).to_be_visible()
    search_box(palace).fill("bookign service")
    palace.locator(".meant a").click()
    expect(palace).to_have_url(re.compile(r"\?q=booking\+service$"))
    expect(search_box(palace)).to_have_value("booking service")
    assert watch.complaints == []


def _id(address: str) -> UUID:
    return UUID(address.strip("/").split("/")[-1])


def test_back_and_reload_bring_the_search_again(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/")
    search_box(palace).fill("lisbon")
    search_box(palace).press("Enter")
    expect(palace).to_have_url(re.compile(r"\?q=lisbon$"))
    watch.wait_until_quiet(palace)
    search_box(palace).fill("error E-4012")
    search_box(palace).press("Enter")
    expect(palace.locator(".hit").first).to_contain_text("payment provider")
    watch.wait_until_quiet(palace)
    palace.reload()
    expect(search_box(palace)).to_have_value("error E-4012")
    expect(palace.locator(".hit").first).to_contain_text("payment provider")
    watch.wait_until_quiet(palace)
    palace.go_back()
    expect(search_box(palace)).to_have_value("lisbon")
    expect(palace.locator("mark").first).to_have_text(re.compile("lisbon", re.IGNORECASE))
    assert palace.evaluate("Object.keys(localStorage).length") == 0
    assert "Lisbon" not in palace.evaluate("JSON.stringify({...sessionStorage})")
    assert watch.complaints == []


def test_tuning_changes_results_and_address(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/?q=lisbon")
    palace.get_by_text("Tuning").click()
    palace.get_by_label("Profile").select_option("cortex")
    expect(palace.get_by_text("Profile cortex")).to_be_visible()
    palace.get_by_label("At most").fill("1")
    palace.get_by_label("At most").press("Tab")
    expect(palace.locator(".hit")).to_have_count(1)
    expect(palace).to_have_url(re.compile(r"\?q=lisbon&profile=cortex&limit=1$"))
    palace.reload()
    expect(palace.get_by_label("Profile")).to_have_value("cortex")
    expect(palace.locator(".hit")).to_have_count(1)
    assert watch.complaints == []


def test_the_keyboard_is_enough(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/")
    palace.keyboard.press("/")
    expect(search_box(palace)).to_be_focused()
    palace.keyboard.type("booking service deploy", delay=10)
    expect(palace.locator(".hit").first).to_contain_text("Lisbon cluster")
    palace.keyboard.press("ArrowDown")
    expect(palace.locator(".hit-text").first).to_be_focused()
    palace.keyboard.press("ArrowDown")
    expect(palace.locator(".hit-text").nth(1)).to_be_focused()
    palace.keyboard.press("ArrowUp")
    palace.keyboard.press("ArrowUp")
    expect(search_box(palace)).to_be_focused()
    palace.keyboard.press("ArrowDown")
    palace.keyboard.press("Escape")
    expect(search_box(palace)).to_be_focused()
    palace.keyboard.press("ArrowDown")
    palace.keyboard.press("Enter")
    expect(palace).to_have_url(re.compile(f"open={furnished['deploy']}$"))
    expect(palace.get_by_role("dialog", name="Memory")).to_be_visible()
    palace.keyboard.press("Escape")
    expect(palace.locator(".hit-text").first).to_be_focused()
    palace.goto(f"/memories/{furnished['deploy']}/")
    tab_to(palace, "form[action$='/archive/'] button")
    palace.keyboard.press("Enter")
    expect(palace.get_by_text("Archived. No search finds it")).to_be_visible()
    tab_to(palace, "form[action$='/restore/'] button")
    palace.keyboard.press("Enter")
    expect(palace.get_by_text("It is back")).to_be_visible()
    palace.keyboard.press("Control+k")
    expect(palace).to_have_url(re.compile("/$"))
    palace.keyboard.press("Control+k")
    expect(search_box(palace)).to_be_focused()
    palace.keyboard.type("lisbon")
    expect(palace.locator(".hit").first).to_be_visible()
    palace.keyboard.press("Escape")
    expect(search_box(palace)).to_have_value("")
    expect(palace.get_by_text("Ask in your own words")).to_be_visible()
    assert watch.complaints == []


def tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"the tabulator does not reach {selector}")


def test_without_scripts_forms_do_the_same(plain_palace: Page, alice: Actor) -> None:
    page = plain_palace
    page.goto("/remember/")
    page.get_by_label("What shall I remember?").fill("The lighthouse keeper is called Duarte.")
    page.get_by_label("Importance").fill("11")
    page.get_by_role("button", name="Save memory").click()
    expect(page.get_by_text("less than or equal to 10")).to_be_visible()
    expect(page.get_by_label("What shall I remember?")).to_have_value("The lighthouse keeper is called Duarte.")
    page.get_by_label("Importance").fill("6")
    page.get_by_role("button", name="Save memory").click()
    expect(page.get_by_text("I remember this now")).to_be_visible()
    page.get_by_role("link", name="Recall", exact=True).click()
    search_box(page).fill("lighthouse")
    page.get_by_role("button", name="Recall", exact=True).click()
    page.locator(".hit-text").first.click()
    page.get_by_role("link", name="Correct").click()
    page.get_by_label("What it says").fill("The lighthouse keeper is called Dinis.")
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.locator(".history")).to_contain_text("Duarte")
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("It is back")).to_be_visible()
    page.get_by_label("Filter recent memories by a word").fill("dinis")
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#recent-list a")).to_have_count(1)
    page.get_by_role("button", name="Dark colours").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_correcting_shows_what_it_said_before(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto(f"/memories/{furnished['deploy']}/")
    palace.get_by_role("link", name="Correct").click()
    box = palace.get_by_label("What it says")
    box.fill(box.input_value().replace("14:00", "16:00"))
    palace.get_by_role("button", name="Save as version 3").click()
    expect(palace.locator(".memory > .text")).to_contain_text("16:00")
    expect(palace.locator(".history li").first).to_contain_text("14:00")
    expect(palace.locator(".history li").nth(1)).to_contain_text("Thursday")
    assert watch.complaints == []


def test_forgetting_counts_down_and_can_be_undone(
    palace: Page, furnished: dict[str, str], alice: Actor, watch: Watch
) -> None:
    palace.goto(f"/memories/{furnished['personal']}/")
    palace.get_by_role("button", name="Forget").click()
    expect(palace.get_by_role("button", name="Undo")).to_be_focused()
    expect(palace.locator("[data-undo-left]")).to_have_text(re.compile("in [1-9] seconds?"))
    palace.get_by_role("button", name="Undo").click()
    expect(palace.get_by_text("It is back")).to_be_visible()
    assert get_memory(actor=alice, memory_id=_id(furnished["personal"])).status == "live"
    assert watch.complaints == []


def test_when_the_time_is_over_the_page_is_left(
    palace: Page, furnished: dict[str, str], alice: Actor, watch: Watch
) -> None:
    palace.clock.install()
    palace.goto(f"/memories/{furnished['personal']}/")
    palace.get_by_role("button", name="Forget").click()
    expect(palace.get_by_text("Being forgotten for good")).to_be_visible()
    palace.clock.fast_forward(11_000)
    expect(search_box(palace)).to_be_visible()
    restore_memory(actor=alice, memory_id=_id(furnished["personal"]))
    assert watch.complaints == []


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_everything_is_erased_and_the_receipt_appears(
    palace: Page, furnished: dict[str, str], alice: Actor, watch: Watch
) -> None:
    palace.goto("/")
    palace.get_by_role("link", name="Privacy").click()
    palace.get_by_role("link", name="Everything, and this login").click()
    palace.get_by_label("Your login name").fill("alice")
    palace.get_by_label("Your password").fill(PASSWORD)
    # What a page asks for while its owner is being erased is refused, and the browser would complain.
    watch.wait_until_quiet(palace)
    palace.get_by_role("button", name="Erase everything").click()
    expect(palace.get_by_role("progressbar")).to_be_visible()
    run_due()
    expect(palace.get_by_role("heading", name="What stays")).to_be_visible()
    with palace.expect_download() as downloading:
        palace.get_by_role("link", name="Download the receipt").click()
    assert verify_receipt(json.loads(Path(downloading.value.path()).read_text()), signer().public_key)
    assert not User.objects.filter(username="alice").exists()
    assert watch.complaints == []


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_a_purge_is_followed_on_after_the_server_was_away(palace: Page, alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="I like green tea.", source="letters"))
    made = begin_partial(actor=alice, request=PartialRequest(source="letters"))
    palace.goto(f"/purges/{made.purge.pk}/{made.token}/")
    expect(palace.get_by_role("progressbar")).to_be_visible()
    away = re.compile("/purges/")
    palace.route(away, lambda asked: asked.fulfill(status=503, content_type="text/html", body=NO_DATABASE))
    expect(palace.locator("#failure")).to_be_visible()
    expect(palace.get_by_role("progressbar")).to_be_visible()
    palace.unroute(away)
    run_due()
    expect(palace.get_by_role("heading", name="What stays")).to_be_visible()
    expect(palace.locator("#failure")).to_be_hidden()


def test_the_recent_list_filters_while_typing(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/")
    box = palace.get_by_label("Filter recent memories by a word")
    box.press_sequentially("nata", delay=20)
    expect(palace.locator("#recent-list a")).to_have_count(1)
    box.fill("")
    expect(palace.locator("#recent-list a")).not_to_have_count(1)
    assert watch.complaints == []


def test_the_theme_has_three_states(palace: Page, context: BrowserContext, watch: Watch) -> None:
    palace.emulate_media(color_scheme="dark")
    palace.goto("/")
    dark = background(palace)
    palace.get_by_role("button", name="Light colours").click()
    light = background(palace)
    assert light != dark
    palace.reload()
    assert background(palace) == light
    expect(palace.get_by_role("button", name="Light colours")).to_have_attribute("aria-pressed", "true")
    palace.get_by_role("button", name="Colours of the system").click()
    assert background(palace) == dark
    palace.emulate_media(color_scheme="light")
    assert background(palace) == light
    palace.get_by_role("button", name="Dark colours").click()
    assert background(palace) == dark
    assert watch.complaints == []


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_the_command_can_be_copied(palace: Page, context: BrowserContext, watch: Watch) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    palace.goto("/")
    palace.get_by_role("button", name="Copy").click()
    expect(palace.get_by_role("button", name="Copied")).to_be_visible()
    assert "api/v1/memories" in palace.evaluate("navigator.clipboard.readText()")
    assert watch.complaints == []


def test_a_slider_follows_its_number(palace: Page, watch: Watch) -> None:
    palace.goto("/remember/")
    slider = palace.locator("input[type=range]")
    palace.get_by_label("Importance").fill("9")
    assert slider.input_value() == "9"
    slider.evaluate("e => { e.value = 2; e.dispatchEvent(new Event('input')); }")
    expect(palace.get_by_label("Importance")).to_have_value("2")
    assert watch.complaints == []


def test_a_server_that_does_not_answer_is_said(palace: Page, furnished: dict[str, str]) -> None:
    palace.goto("/")
    palace.route("**/?q=*", lambda route: route.abort())
    search_box(palace).fill("lisbon")
    expect(palace.get_by_role("alert")).to_contain_text("did not answer")
    palace.unroute("**/?q=*")
    search_box(palace).fill("lisbon cluster")
    expect(palace.locator(".hit").first).to_be_visible()
    expect(palace.locator("#failure")).to_be_hidden()


def test_an_ended_login_leads_to_the_login_page(palace: Page, context: BrowserContext, furnished: Any) -> None:
    palace.goto("/?q=lisbon")
    context.clear_cookies()
    search_box(palace).fill("lisbon cluster")
    expect(palace).to_have_url(re.compile(r"/login/\?next=%2F%3Fq%3Dlisbon"))
