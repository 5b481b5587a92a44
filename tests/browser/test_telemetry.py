"""What a person does on the pages of telemetry, in a real browser."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from config.settings.prices import Price
from memory.models import User
from memory.ports.recorder import model_called
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.remember import remember
from telemetry.services.costs import spending
from telemetry.services.costs.budgets import BudgetDraft, list_budgets, set_budget
from telemetry.services.turns import test_mode as modes
from tests.browser.conftest import NO_DATABASE, Watch
from tests.integration.telemetry.recalls import observe
from tests.integration.telemetry.telling import tell, tell_a_week
from tests.integration.telemetry.test_usage import call_for

# How long a preview waits for the next keystroke.
PREVIEW_DELAY_MS = 200
GROUND = "getComputedStyle(document.body).backgroundColor"
# How many lines a text takes.
LINES = "it => { const r = document.createRange(); r.selectNodeContents(it); return r.getClientRects().length; }"


@pytest.fixture(autouse=True)
def by_meaning(settings: Any) -> None:
    """Group requests by what they mean, as an installation does."""
    settings.EMBEDDING_PROVIDER = "local"


def test_from_the_navigation_to_a_chart_a_bar_and_back(palace: Page, alice: Actor, watch: Watch) -> None:
    tell_a_week(alice)
    palace.goto("/")
    palace.get_by_role("navigation", name="Main").get_by_role("link", name="Telemetry").click()
    expect(palace).to_have_url(re.compile(r"/telemetry/coverage/$"))
    tabs = palace.get_by_role("navigation", name="Telemetry")
    expect(tabs.get_by_role("link", name="Coverage")).to_have_attribute("aria-current", "page")
    bars = palace.locator("svg.chart a.bar-link")
    expect(bars).to_have_count(3)
    expect(palace.get_by_role("table", name="Requests that no spoke fitted")).to_contain_text("Translate this letter")
    bars.first.click()
    expect(palace).to_have_url(re.compile(r"/telemetry/coverage/requests/\?key="))
    expect(palace.get_by_role("row").filter(has_text="Translate this letter")).to_have_count(9)
    palace.get_by_role("link", name="Back to coverage").click()
    expect(palace).to_have_url(re.compile(r"/telemetry/coverage/$"))
    assert watch.complaints == []


def test_a_bar_is_reached_and_opened_by_the_keyboard(palace: Page, alice: Actor) -> None:
    tell_a_week(alice)
    palace.goto("/telemetry/coverage/")
    palace.locator("svg.chart a.bar-link").first.focus()
    palace.keyboard.press("Enter")
    expect(palace).to_have_url(re.compile(r"/requests/\?key="))


def test_window_and_agent_stand_in_the_address(palace: Page, alice: Actor, make_agent: object, watch: Watch) -> None:
    agent, _ = make_agent(alice, "scribe")  # type: ignore[operator]
    tell(alice, "An old question", days_ago=10, matched_spoke="fallback")
    tell(agent, "A question to the scribe", matched_spoke="fallback")
    palace.goto("/telemetry/coverage/")
    table = palace.get_by_role("table", name="Requests that no spoke fitted")
    expect(table).to_contain_text("An old question")
    palace.get_by_role("link", name="7 days").click()
    expect(palace).to_have_url(re.compile(r"\?days=7$"))
    expect(table).not_to_contain_text("An old question")
    palace.get_by_label("Agent", exact=True).select_option("scribe")
    palace.get_by_role("button", name="Show").click()
    expect(palace).to_have_url(re.compile(rf"days=7&agent={agent.agent_id}$"))
    expect(table).to_contain_text("A question to the scribe")
    assert watch.complaints == []


def test_test_mode_is_asked_for_and_shown_on_every_page(palace: Page, alice: Actor, watch: Watch) -> None:
    tell(alice, "A live question", matched_spoke="fallback")
    palace.goto("/telemetry/coverage/")
    palace.get_by_role("link", name="Switch test mode on").click()
    expect(palace.get_by_text("Whatever the test stream holds is erased.")).to_be_visible()
    palace.get_by_role("button", name="Switch test mode on").click()
    banner = palace.get_by_role("status").filter(has_text="Test mode is on.")
    expect(banner).to_be_visible()
    assert modes.test_mode(actor=alice).enabled
    expect(palace.get_by_text("A live question")).to_have_count(0)
    palace.get_by_role("link", name="Show the live stream").click()
    expect(palace.get_by_text("A live question").first).to_be_visible()
    expect(banner).to_be_visible()
    banner.get_by_role("link", name="Switch it off").click()
    palace.get_by_role("button", name="Switch test mode off").click()
    expect(banner).to_have_count(0)
    assert watch.complaints == []


def test_turns_arrive_while_the_page_is_open(palace: Page, alice: Actor, watch: Watch) -> None:
    palace.goto("/telemetry/coverage/")
    expect(palace.get_by_role("heading", name="No turns in these days")).to_be_visible()
    palace.locator("html[data-live=open]").wait_for()
    tell(alice, "Translate this letter", matched_spoke="fallback")
    expect(palace.get_by_role("table", name="Requests that no spoke fitted")).to_contain_text("Translate this letter")
    assert watch.complaints == []


def test_the_admin_is_kept_up_to_date_too(palace: Page, alice: Actor, watch: Watch) -> None:
    User.objects.filter(owner__id=alice.owner_id).update(is_staff=True)
    palace.goto("/admin/")
    palace.get_by_role("main").get_by_role("link", name="Coverage").click()
    expect(palace).to_have_url(re.compile(r"/admin/telemetry/coverage/$"))
    palace.locator("html[data-live=open]").wait_for()
    tell(alice, "Translate this letter", matched_spoke="fallback")
    expect(palace.get_by_role("table", name="Requests that no spoke fitted")).to_contain_text("Translate this letter")
    assert watch.complaints == []


def test_a_server_without_its_database_takes_no_report_away(palace: Page, alice: Actor) -> None:
    tell(alice, "Translate this letter", matched_spoke="fallback")
    palace.goto("/telemetry/coverage/")
    palace.locator("html[data-live=open]").wait_for()
    report = palace.locator("#coverage")
    away = re.compile("/telemetry/coverage/")
    palace.route(away, lambda asked: asked.fulfill(status=503, content_type="text/html", body=NO_DATABASE))
    with palace.expect_response(lambda answer: answer.status == 503):
        tell(alice, "Water the plants", matched_spoke="fallback")
    expect(report).to_contain_text("Translate this letter")
    palace.unroute(away)
    tell(alice, "Feed the cat", matched_spoke="fallback")
    expect(report).to_contain_text("Feed the cat")
    expect(report).to_contain_text("Water the plants")


def test_a_report_that_could_not_be_fetched_is_still_news(palace: Page, alice: Actor) -> None:
    tell(alice, "Translate this letter", matched_spoke="fallback")
    palace.goto("/telemetry/coverage/")
    palace.locator("html[data-live=open]").wait_for()
    news = palace.get_by_role("status").get_by_role("link", name="New turns have come in")
    # Whether there is news is answered; the report itself is not.
    report = re.compile(r"/telemetry/coverage/(?!.*known=)")
    palace.route(report, lambda asked: asked.fulfill(status=503, content_type="text/html", body=NO_DATABASE))
    tell(alice, "Water the plants", matched_spoke="fallback")
    expect(news).to_be_visible()
    palace.unroute(report)
    palace.route(report, lambda asked: asked.abort())
    with palace.expect_event("requestfailed"):
        news.click()
    palace.wait_for_timeout(200)
    expect(news).to_be_visible()
    palace.unroute(report)
    news.click()
    expect(palace.locator("#coverage")).to_contain_text("Water the plants")
    expect(news).to_be_hidden()


def test_what_is_being_read_does_not_move(palace: Page, alice: Actor, watch: Watch) -> None:
    tell(alice, "Translate this letter", matched_spoke="fallback")
    palace.goto("/telemetry/coverage/")
    palace.locator("html[data-live=open]").wait_for()
    palace.locator("svg.chart a.bar-link").first.focus()
    tell(alice, "Water the plants", matched_spoke="fallback")
    news = palace.get_by_role("status").get_by_role("link", name="New turns have come in")
    expect(news).to_be_visible()
    expect(palace.get_by_text("Water the plants")).to_have_count(0)
    news.click()
    expect(palace.get_by_text("Water the plants").first).to_be_visible()
    expect(news).to_be_hidden()
    expect(palace.locator("#coverage")).to_be_focused()
    assert watch.complaints == []


def test_everything_works_without_scripts(plain_palace: Page, alice: Actor) -> None:
    tell_a_week(alice)
    plain_palace.goto("/telemetry/")
    plain_palace.locator("svg.chart a.bar-link").first.click()
    expect(plain_palace.get_by_role("row").filter(has_text="Translate this letter")).to_have_count(9)
    plain_palace.get_by_role("link", name="Back to coverage").click()
    plain_palace.get_by_role("link", name="30 days").click()
    expect(plain_palace.locator("svg.chart a.bar-link")).to_have_count(3)
    plain_palace.get_by_role("link", name="Switch test mode on").click()
    plain_palace.get_by_role("button", name="Switch test mode on").click()
    expect(plain_palace.get_by_text("Test mode is on.", exact=False).first).to_be_visible()


def test_a_search_that_was_sent_stands(palace: Page, alice: Actor, watch: Watch) -> None:
    remember(actor=alice, draft=Draft(text="The lighthouse of Lisbon is painted red."))
    palace.goto("/")
    box = palace.get_by_role("combobox", name="What do you want to recall?")
    box.press_sequentially("lighthouse")
    box.press("Enter")
    helped = palace.get_by_role("button", name="This helped")
    expect(helped).to_be_visible()
    palace.wait_for_timeout(3 * PREVIEW_DELAY_MS)
    watch.wait_until_quiet(palace)
    expect(helped).to_be_visible()
    box.press_sequentially(" red")
    expect(helped).to_have_count(0)
    assert watch.complaints == []


def test_costs_follow_a_budget_that_was_changed_elsewhere(palace: Page, alice: Actor, watch: Watch) -> None:
    palace.goto("/telemetry/costs/")
    palace.locator("html[data-live=open]").wait_for()
    expect(palace.get_by_text("Live: what is new is told at once.")).to_be_visible()
    set_budget(actor=alice, draft=BudgetDraft(period="day", hard=2))
    expect(palace.get_by_role("heading", name="All together, today")).to_be_visible()
    palace.get_by_text("Set a budget").click()
    palace.get_by_label("Hard limit").fill("7")
    set_budget(actor=alice, draft=BudgetDraft(period="month", hard=0))
    expect(palace.get_by_text("All together, this month: the budget is used up.")).to_be_visible()
    news = palace.get_by_role("status").get_by_role("link", name="Something has changed.")
    expect(news).to_be_visible()
    expect(palace.get_by_label("Hard limit")).to_have_value("7")
    expect(palace.get_by_role("heading", name="All together, this month")).to_have_count(0)
    news.click()
    expect(palace.get_by_role("heading", name="All together, this month")).to_be_visible()
    assert watch.complaints == []


def test_costs_are_followed_after_a_budget_was_refused(palace: Page, alice: Actor, watch: Watch) -> None:
    palace.goto("/telemetry/costs/?days=7")
    palace.get_by_text("Set a budget", exact=True).click()
    palace.get_by_role("button", name="Set the budget").click()
    expect(palace.get_by_text("A budget has a soft or a hard limit, or both.")).to_be_visible()
    expect(palace).to_have_url(re.compile(r"/telemetry/costs/budget/\?days=7$"))
    palace.locator("html[data-live=open]").wait_for()
    set_budget(actor=alice, draft=BudgetDraft(period="month", hard=0))
    expect(palace.get_by_text("All together, this month: the budget is used up.")).to_be_visible()
    palace.get_by_role("status").get_by_role("link", name="Something has changed.").click()
    expect(palace).to_have_url(re.compile(r"/telemetry/costs/\?days=7$"))
    expect(palace.get_by_role("heading", name="All together, this month")).to_be_visible()
    watch.wait_until_quiet(palace)
    refused = "the server responded with a status of 422"
    assert [complaint for complaint in watch.complaints if refused not in complaint] == []


@pytest.mark.parametrize("width", [360, 1280])
def test_numbers_beside_the_bars_cover_the_line(palace: Page, alice: Actor, width: int) -> None:
    tell_a_week(alice)
    palace.set_viewport_size({"width": width, "height": 800})
    palace.goto("/telemetry/coverage/")
    numbers = palace.locator("svg.chart .bar-value")
    expect(numbers).to_have_count(3)
    for number in numbers.all():
        assert number.evaluate("it => it.scrollWidth <= it.closest('foreignObject').getBoundingClientRect().width")
        assert number.evaluate("it => getComputedStyle(it).backgroundColor") == palace.evaluate(GROUND)
    assert palace.locator(".cumulative ~ .ending .bar-value").count() == 3


@pytest.mark.parametrize("width", [360, 1280])
def test_the_id_of_a_slow_recall_is_in_sight(palace: Page, alice: Actor, width: int) -> None:
    slow = observe(alice, seconds=0.9)
    palace.set_viewport_size({"width": width, "height": 800})
    palace.goto("/telemetry/recall/")
    table = palace.get_by_role("table", name="The slowest recalls")
    assert right_of(table.get_by_text(str(slow))) <= right_of(palace.locator(".wide-table").filter(has=table))
    assert right_of(table.get_by_role("columnheader", name="When")) <= width


def test_words_stay_whole_and_costs_in_sight(palace: Page, alice: Actor, make_agent: Any) -> None:
    User.objects.filter(owner__id=alice.owner_id).update(is_staff=True)
    model_called(call_for(alice, at=now()))
    make_agent(alice, "scribe")
    tell(alice, "Summarise this", matched_spoke="delegate_task")
    palace.set_viewport_size({"width": 360, "height": 740})
    palace.goto("/telemetry/costs/")
    cost = palace.get_by_role("table", name=re.compile("^Model: calls")).get_by_role("columnheader", name="Cost")
    assert right_of(cost) <= 360
    palace.goto("/telemetry/health/")
    told = palace.get_by_role("table", name="Checks of this installation").get_by_role("cell").first
    assert width_of(told) >= 160
    palace.set_viewport_size({"width": 1280, "height": 800})
    palace.goto("/telemetry/coverage/")
    spoke = palace.get_by_role("table", name="Groups of requests by fallback rate").get_by_text("delegate_task")
    label = palace.locator("label[for=coverage_agent]")
    for one in (spoke, label):
        assert one.evaluate(LINES) == 1


def right_of(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["x"] + box["width"]


def width_of(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["width"]


def test_a_budget_is_set_warned_of_and_removed(palace: Page, alice: Actor, settings: Any, watch: Watch) -> None:
    settings.MODEL_PRICES = {"chat": Price(input=Decimal(1))}
    palace.goto("/telemetry/costs/")
    palace.get_by_text("Set a budget", exact=True).click()
    hard = palace.get_by_label("At most", exact=False)
    hard.fill("much")
    palace.get_by_role("button", name="Set the budget").click()
    expect(palace.get_by_text("at most 6 decimal places").first).to_be_visible()
    expect(hard).to_have_value("much")
    assert list_budgets(actor=alice) == []
    hard.fill("2.5")
    palace.get_by_role("button", name="Set the budget").click()
    expect(palace.get_by_text("The budget of this month is set. It holds at once.")).to_be_visible()
    expect(palace.get_by_text("at most 2.50 USD").first).to_be_visible()
    palace.locator("html[data-live=open]").wait_for()
    model_called(call_for(alice, input_tokens=3_000_000, output_tokens=0, at=now()))
    spending.flush()
    warning = palace.locator("#warnings").get_by_text("All together, this month: the budget is used up.")
    expect(warning).to_be_visible()
    palace.get_by_role("button", name="Remove the budget: All together, this month").click()
    expect(palace.get_by_text("The budget is removed.")).to_be_visible()
    expect(warning).to_have_count(0)
    watch.wait_until_quiet(palace)
    assert list_budgets(actor=alice) == []
