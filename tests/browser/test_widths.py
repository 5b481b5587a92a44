"""No page scrolls sideways and no heading of a table breaks in a word, in German: on a phone, with large letters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserType, Page

from memory.management.chromium import chromium
from memory.models import ConsolidationRun, RunState, User, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation.runs import ask_for_run
from memory.services.graph.communities import divide_now
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from tests.browser.conftest import QUIET, WAIT_MS, log_in
from tests.browser.test_consolidation import talk
from tests.browser.test_review import all_kinds

LARGE_LETTERS = "--blink-settings=defaultFontSize=32"
PAGES = (
    "/", "/?q=lisbon", "/?q=lisbon&f=category:goal", "/recent/", "/remember/", "/conversations/", "/graph/",
    "/graph/communities/", "/archive/", "/archive/growth/", "/archive/transfer/", "/review/", "/review/batch/",
    "/consolidation/", "/consolidation/runs/", "/consolidation/concluded/", "/agents/", "/agents/sees/", "/files/",
    "/files/new/", "/privacy/", "/privacy/access/", "/privacy/outbound/", "/privacy/purge/?subject=owner",
    "/settings/", "/embedding/", "/account/", "/telemetry/coverage/", "/telemetry/recall/", "/telemetry/costs/",
    "/telemetry/health/", "/admin/", "/admin/memory/memory/", "/admin/review/", "/admin/review/batch/", "/admin/jobs/",
    "/admin/storage/", "/admin/keys/", "/admin/settings/",
)  # fmt: skip
WIDER = """() => {
  const most = window.innerWidth;
  if (document.documentElement.scrollWidth <= most) return [];
  const wide = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > most);
  return [document.documentElement.scrollWidth - most, ...wide.slice(-3).map((one) => one.outerHTML.slice(0, 120))];
}"""

BROKEN = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll("main thead th, main td.number")) {
    if (!cell.checkVisibility() || cell.closest(".hidden-text")) continue;
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      for (const { 0: word, index } of text.data.matchAll(/[\\p{L}\\p{N}.,]+/gu)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
      }
    }
  }
  return broken;
}"""


@pytest.fixture
def full(alice: Actor, furnished: dict[str, str], make_agent: Callable[..., Any]) -> dict[str, str]:
    """A palace in which every list has a row, and an agent has read; its owner may see the admin."""
    User.objects.filter(owner__id=alice.owner_id).update(is_staff=True, is_superuser=True)
    agent, _ = make_agent(alice, "buchhaltung-und-rechnungswesen")
    talk(agent)
    ask_for_run(actor=alice, wait=True)
    with owner_scope(alice.owner_id):
        ConsolidationRun.objects.update(state=RunState.INTERRUPTED, prompt_tokens=1_234_567, completion_tokens=1)
    all_kinds(alice)
    divide_now(actor=alice)
    recall(actor=agent, request=RecallRequest(query="the booking service in Lisbon"))
    return furnished


@pytest.fixture(scope="module")
def large_browser(browser_type: BrowserType) -> Iterator[Browser]:
    """A browser whose letters a person has made twice as large."""
    browser = browser_type.launch(executable_path=chromium(), args=[*QUIET, LARGE_LETTERS])
    yield browser
    browser.close()


def german(browser: Browser, alice: Actor, base_url: str, width: int) -> Page:
    context = browser.new_context(base_url=base_url, viewport={"width": width, "height": 844}, locale="de-DE")
    log_in(context, alice, base_url)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    return page


def faults(page: Page, full: dict[str, str]) -> dict[str, list[Any]]:
    """Walk the pages and give those that scroll sideways, by how much and what stands out, and words that break."""
    found: dict[str, list[Any]] = {}
    for path in (*PAGES, f"/memories/{full['deploy']}/", f"/memories/{full['hostile']}/edit/"):
        answer = page.goto(path)
        assert answer is not None
        assert answer.ok, path
        assert page.locator("html").get_attribute("lang") == "de", path
        if said := page.evaluate(WIDER) + page.evaluate(BROKEN):
            found[path] = said
    return found


def test_on_a_phone(browser: Browser, alice: Actor, base_url: str, full: dict[str, str]) -> None:
    page = german(browser, alice, base_url, 390)
    found = faults(page, full)
    page.context.close()
    assert found == {}


def test_with_letters_twice_as_large(large_browser: Browser, alice: Actor, base_url: str, full: dict[str, str]) -> None:
    page = german(large_browser, alice, base_url, 1280)
    page.goto("/?q=lisbon")
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "32px"
    page.get_by_text("Menü", exact=True).click()
    for name in ("Erinnern", "Abmelden alice"):
        assert page.get_by_role("button", name=name, exact=True).is_visible()
    found = faults(page, full)
    page.context.close()
    assert found == {}
