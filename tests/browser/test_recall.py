"""The search page in a real browser: filters, sliders, saved questions, keys, and how it looks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from memory.services.actors import Actor
from memory.services.saved_searches import list_saved_searches, save_search
from tests.browser.conftest import Watch
from tests.browser.looking import look


def search_box(page: Page) -> Any:
    return page.get_by_role("combobox", name="What do you want to recall?")


def press_until(page: Page, selector: str, key: str = "Tab") -> None:
    for _ in range(80):
        page.keyboard.press(key)
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"the keyboard does not reach {selector}")


def test_pills_by_keyboard(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/?q=lisbon&f=category:goal")
    expect(palace.locator(".hit")).to_have_count(1)
    press_until(palace, "#pill-1-turn")
    palace.keyboard.press("Enter")
    expect(palace).to_have_url(re.compile(r"f=-category%3Agoal"))
    expect(palace.locator("#pill-1-turn")).to_be_focused()
    expect(palace.locator(".hits")).not_to_contain_text("half marathon")
    press_until(palace, "#pill-1-switch", "Shift+Tab")
    palace.keyboard.press("Enter")
    expect(palace).to_have_url(re.compile(r"f=~-category%3Agoal"))
    expect(palace.locator(".hits")).to_contain_text("half marathon")
    press_until(palace, "#pill-1-remove")
    palace.keyboard.press("Enter")
    expect(palace).to_have_url(re.compile(r"\?q=lisbon$"))
    watch.wait_until_quiet(palace)
    palace.go_back()
    expect(palace.locator(".pill")).to_contain_text("goal")
    palace.reload()
    expect(palace.locator(".pill")).to_contain_text("goal")
    assert watch.complaints == []


def test_a_filter_is_added_and_stays_while_typing(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/")
    search_box(palace).fill("lisbon")
    palace.get_by_text("Add filter", exact=True).first.click()
    palace.locator("[name=add_category]").select_option("goal")
    palace.get_by_role("button", name="Add filter").click()
    expect(palace.locator(".pill")).to_contain_text("goal")
    expect(palace).to_have_url(re.compile(r"\?q=lisbon&f=category%3Agoal$"))
    expect(palace.locator("[name=add_category]")).to_have_value("")
    search_box(palace).fill("marathon")
    expect(palace).to_have_url(re.compile(r"\?q=marathon&f=category%3Agoal$"))
    expect(palace.locator(".hit")).to_have_count(1)
    watch.wait_until_quiet(palace)
    palace.locator(".hit a.tag").click()
    expect(palace.locator(".pill")).to_have_count(1)
    assert watch.complaints == []


def test_moving_a_slider_searches_and_is_kept(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/?q=lisbon")
    palace.get_by_text("Tuning").click()
    slider = palace.get_by_role("slider", name="Relevant from")
    slider.focus()
    palace.keyboard.press("End")
    expect(palace.locator("#said-threshold")).to_have_text("100 %")
    expect(palace.get_by_text("I found nothing for this")).to_be_visible()
    expect(palace).to_have_url(re.compile(r"\?q=lisbon&threshold=100$"))
    palace.keyboard.press("Home")
    expect(palace).to_have_url(re.compile(r"\?q=lisbon$"))
    fading = palace.get_by_role("slider", name="Fading")
    fading.focus()
    palace.keyboard.press("End")
    expect(palace.locator("#said-half_life")).to_have_text("never")
    watch.wait_until_quiet(palace)
    palace.get_by_role("button", name="Save as my own values").click()
    expect(palace.get_by_text("your own values of the profile “default” now")).to_be_visible()
    palace.get_by_text("Tuning").click()
    expect(palace.locator("#said-half_life")).to_have_text("never")
    palace.get_by_role("button", name="Undo the last change").click()
    palace.get_by_text("Tuning").click()
    expect(palace.locator("#said-half_life")).to_have_text("180 days")
    palace.get_by_label("Profile").select_option("engram")
    expect(palace.locator("#said-half_life")).to_have_text("30 days")
    expect(palace).to_have_url(re.compile(r"\?q=lisbon&profile=engram$"))
    assert watch.complaints == []


def test_a_question_is_saved_and_asked_again(
    palace: Page, alice: Actor, furnished: dict[str, str], watch: Watch
) -> None:
    palace.goto("/")
    search_box(palace).fill("lisbon")
    expect(palace.locator(".hit").first).to_be_visible()
    palace.get_by_text("Questions", exact=True).click()
    palace.get_by_label("Save this question as").fill("All about Lisbon")
    watch.wait_until_quiet(palace)
    palace.get_by_role("button", name="Save question").click()
    expect(palace.get_by_text("The question is saved")).to_be_visible()
    assert [row.question for row in list_saved_searches(actor=alice)] == ["lisbon"]
    palace.goto("/")
    palace.get_by_text("Questions", exact=False).first.click()
    palace.get_by_role("link", name="All about Lisbon").click()
    expect(search_box(palace)).to_have_value("lisbon")
    palace.get_by_text("Questions", exact=False).first.click()
    palace.get_by_label("What do we believe about").fill("the booking service")
    palace.get_by_label("What do we believe about").press("Enter")
    expect(palace.locator(".pill")).to_have_count(2)
    assert watch.complaints == []


def test_all_keys_are_listed_and_the_focus_comes_back(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/?q=lisbon")
    palace.locator(".hit-text").first.focus()
    palace.keyboard.press("?")
    dialog = palace.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("Go to the search")
    expect(dialog).to_contain_text("Go through what was found")
    palace.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(palace.locator(".hit-text").first).to_be_focused()
    palace.get_by_role("button", name="all keys").click()
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(palace.get_by_role("button", name="all keys")).to_be_focused()
    search_box(palace).press("?")
    expect(dialog).to_be_hidden()
    assert watch.complaints == []


def test_escape_brings_the_former_view_back(palace: Page, furnished: dict[str, str], watch: Watch) -> None:
    palace.goto("/?q=marathon")
    search_box(palace).press("End")
    search_box(palace).press_sequentially(" invoices", delay=10)
    expect(palace).to_have_url(re.compile(r"\?q=marathon\+invoices$"))
    palace.keyboard.press("Escape")
    expect(search_box(palace)).to_have_value("marathon")
    expect(palace).to_have_url(re.compile(r"\?q=marathon$"))
    palace.keyboard.press("Escape")
    expect(search_box(palace)).to_have_value("")
    assert watch.complaints == []


def test_a_slow_answer_shows_that_it_is_waited_for(palace: Page, furnished: dict[str, str]) -> None:
    palace.goto("/?q=lisbon")
    held: list[Route] = []
    slow = True

    def hold(route: Route) -> None:
        if slow:
            held.append(route)
        else:
            route.continue_()

    palace.route("**/?q=marathon*", hold)
    search_box(palace).fill("marathon")
    expect(palace.locator(".waiting")).to_be_visible()
    expect(palace.locator(".waiting")).to_have_css("opacity", "1")
    while not held:
        palace.wait_for_timeout(20)
    slow = False
    for route in held:
        route.continue_()
    expect(palace.locator(".hit").first).to_contain_text("marathon")
    expect(palace.locator(".waiting")).to_be_hidden()


def test_without_scripts_a_search_is_narrowed_and_tuned(
    plain_palace: Page, furnished: dict[str, str], alice: Actor
) -> None:
    page = plain_palace
    page.goto("/?q=lisbon")
    page.get_by_text("Add filter", exact=True).first.click()
    page.locator("[name=add_category]").select_option("goal")
    page.get_by_role("button", name="Add filter").click()
    expect(page).to_have_url(re.compile(r"\?q=lisbon&f=category%3Agoal$"))
    expect(page.locator(".hit")).to_have_count(1)
    page.get_by_role("link", name="Take away").click()
    expect(page).to_have_url(re.compile(r"\?q=lisbon$"))
    page.get_by_text("Tuning").click()
    page.get_by_label("Profile").select_option("cortex")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("Profile cortex")).to_be_visible()
    page.get_by_text("Questions", exact=False).first.click()
    page.get_by_label("Save this question as").fill("By cortex")
    page.get_by_role("button", name="Save question").click()
    expect(page.get_by_text("The question is saved")).to_be_visible()
    assert list_saved_searches(actor=alice)[0].choices == "profile=cortex"


def test_how_the_search_page_looks(
    visitor: Page, furnished: dict[str, str], alice: Actor, scheme: str, size: str, watch: Watch
) -> None:
    save_search(actor=alice, name="All about Lisbon", question="lisbon", choices="f=kind%3Afact&limit=5")
    visitor.goto("/?q=lisbon&f=-category:goal&f=~kind:turn&f=created:this-week&true_on=2026-03-01")
    look(visitor, "recall-filters", scheme=scheme, size=size)
    visitor.goto("/?q=lisbon&profile=engram&words=0.4&meaning=0.6&mmr=0.5")
    look(visitor, "recall-tuning", scheme=scheme, size=size)
    visitor.goto("/?f=created:this-year")
    for words in ("Questions", "Add filter"):
        visitor.locator("summary").filter(has_text=words).first.click()
    look(visitor, "recall-listed", scheme=scheme, size=size)
    visitor.locator(".hit-text").first.focus()
    visitor.keyboard.press("?")
    look(visitor, "recall-keys", scheme=scheme, size=size)
    visitor.goto("/?q=lisbon&f=kind:best")
    look(visitor, "recall-filter-wrong", scheme=scheme, size=size)
    expected = "the server responded with a status of 422"
    assert [complaint for complaint in watch.complaints if expected not in complaint] == []


def test_the_search_page_with_nothing_in_it(visitor: Page, scheme: str, size: str, watch: Watch) -> None:
    visitor.goto("/?f=kind:fact")
    look(visitor, "recall-empty-filtered", scheme=scheme, size=size)
    assert watch.complaints == []


def test_nothing_moves_when_the_page_is_loaded(palace: Page, furnished: dict[str, str]) -> None:
    palace.add_init_script(
        "window.moved = 0; new PerformanceObserver(list => { for (const one of list.getEntries())"
        " if (!one.hadRecentInput) window.moved += one.value; }).observe({type: 'layout-shift', buffered: true});"
    )
    palace.goto("/?q=lisbon")
    palace.wait_for_load_state("networkidle")
    assert palace.evaluate("window.moved") < 0.1, "the bound of a good page"
