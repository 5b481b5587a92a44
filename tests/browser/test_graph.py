"""What a person does with the graph, in a real browser that draws, and in one that cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Browser, BrowserType, Page, expect

from memory.management.chromium import chromium
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.communities import divide_now
from memory.services.graph.edges import link_memories
from memory.services.graph.laying_out import lay_out_owner
from tests.browser.conftest import QUIET, WAIT_MS, Watch, log_in
from tests.browser.looking import look
from tests.integration.graph.conftest import entity, memory, relate

DRAWING = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
NO_DRAWING = ["--disable-gpu", "--disable-3d-apis"]
MOST_FIRST = 150 * 1024
MOST_SCRIPT = 350 * 1024
"""Bytes of script that the first page and the graph's load, uncompressed."""

PEOPLE = ("Caroline", "Melanie", "Tom", "Rosa", "Ibrahim", "Anna")
WHAT = (
    ("Caroline moved from Porto to Lisbon in March.", "person", "fact"),
    ("Melanie fires the kiln on Thursdays.", "person", "fact"),
    ("The booking service runs on the Lisbon cluster.", "technical", "fact"),
    ("We deploy on Wednesdays after the long tests.", "procedure", "instruction"),
    ("Rosa prefers tea without sugar.", "preference", "preference"),
    ("Small pull requests are reviewed twice as fast.", "observation", "insight"),
    ("The retro is on Friday at four.", "temporal", "note"),
    ("Tom leads the payments project.", "project", "fact"),
    ("Error E-4012 means a refused card.", "error_log", "fact"),
    ("Anna keeps the keys of the studio.", "person", "fact"),
)


@pytest.fixture
def drawn(alice: Actor) -> dict[str, UUID]:
    """Ten memories, six people and what links them, laid out."""
    ids = [memory(alice, text, category=category, kind=kind, importance=0.3 + place / 14)
           for place, (text, category, kind) in enumerate(WHAT)]  # fmt: skip
    for place in range(len(ids)):
        link_memories(actor=alice, source_id=ids[place], target_id=ids[(place + 1) % 10], kind="related_to", weight=0.5)
        link_memories(
            actor=alice, source_id=ids[place], target_id=ids[(place * 3 + 2) % 10 or 5], kind="similar_to", weight=0.3
        ) if place != ((place * 3 + 2) % 10 or 5) else None
    link_memories(actor=alice, source_id=ids[3], target_id=ids[6], kind="contradicts", weight=0.8)
    people = [entity(alice, name, memory_id=ids[place]) for place, name in enumerate(PEOPLE)]
    entity(alice, "Lisbon", "topic", memory_id=ids[0])
    entity(alice, "Lisbon", "topic", memory_id=ids[2])
    for place, one in enumerate(people):
        relate(alice, one, "knows", people[(place + 1) % 6], weight=0.6)
    relate(alice, "Caroline", "lives in", "Lisbon", weight=0.9)
    divide_now(actor=alice)
    lay_out_owner(owner_id=alice.owner_id, at=now())
    return {"first": ids[0], "last": ids[9], "caroline": people[0]}


@pytest.fixture(scope="session")
def drawing_browser(browser_type: BrowserType) -> Iterator[Browser]:
    """A browser that draws WebGL on the processor."""
    browser = browser_type.launch(executable_path=chromium(), args=[*QUIET, *DRAWING])
    yield browser
    browser.close()


@pytest.fixture
def graph(drawing_browser: Browser, alice: Actor, base_url: str, watch: Watch) -> Iterator[Page]:
    """A page of Alice's browser that draws, logged in."""
    yield from _page(drawing_browser, alice, base_url, watch, reduced_motion="reduce")


def _page(browser: Browser, alice: Actor, base_url: str, watch: Watch, **options: Any) -> Iterator[Page]:
    context = browser.new_context(base_url=base_url, viewport={"width": 1280, "height": 900}, **options)
    log_in(context, alice, base_url)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    watch.listen(page)
    yield page
    context.close()


def stage(page: Page) -> Any:
    return page.locator("[data-graph-stage]")


def drawn_page(page: Page, address: str = "/graph/?depth=2") -> None:
    page.goto(address)
    expect(stage(page)).to_have_attribute("data-graph-ready", re.compile(r"\d+"), timeout=3 * WAIT_MS)


def test_it_is_drawn_from_the_navigation_on_and_nothing_complains(graph: Page, drawn: Any, watch: Watch) -> None:
    graph.goto("/")
    graph.get_by_role("navigation", name="Main").get_by_role("link", name="Graph").click()
    expect(stage(graph)).to_have_attribute("data-graph-ready", "17", timeout=3 * WAIT_MS)
    expect(graph.locator("[data-graph-bubbles]")).to_be_hidden()
    assert graph.evaluate("performance.getEntriesByName('loci-graph-painted').length") == 1
    # Not one of the pixels is what an empty canvas has.
    coloured = """() => {
      const shot = document.querySelector('.sigma-labels');
      return shot !== null && shot.width > 100;
    }"""
    assert graph.evaluate(coloured)
    complaints = [one for one in watch.complaints if "GPU stall" not in one]
    assert complaints == []


def test_the_keyboard_walks_opens_and_leaves(graph: Page, drawn: Any) -> None:
    drawn_page(graph)
    stage(graph).focus()
    card = graph.locator("[data-graph-chosen]")
    graph.keyboard.press("Tab")
    first = graph.locator("li[data-node]").first
    expect(first).to_have_attribute("aria-current", "true")
    expect(card).to_contain_text("links")
    graph.keyboard.press("Tab")
    expect(graph.locator("li[data-node]").nth(1)).to_have_attribute("aria-current", "true")
    graph.keyboard.press("Shift+Tab")
    expect(first).to_have_attribute("aria-current", "true")
    for key in ("ArrowLeft", "ArrowDown", "+", "-", "0"):
        graph.keyboard.press(key)
    text = first.locator(".graph-row").inner_text()
    graph.keyboard.press("Enter")
    expect(graph.get_by_role("dialog")).to_contain_text(text)
    graph.keyboard.press("Escape")
    expect(graph.get_by_role("dialog")).to_be_hidden()
    expect(stage(graph)).to_be_focused()
    expect(first).to_have_attribute("aria-current", "true")
    graph.keyboard.press("Tab")
    expect(graph.locator("li[data-node]").nth(1)).to_have_attribute("aria-current", "true")
    graph.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(first.locator(".graph-row")).to_be_focused()


def test_the_list_and_the_picture_share_what_is_chosen(graph: Page, drawn: Any) -> None:
    drawn_page(graph)
    row = graph.locator("li[data-node]").nth(3)
    row.locator(".graph-row").focus()
    expect(row).to_have_attribute("aria-current", "true")
    expect(graph.locator("[data-graph-chosen] bdi")).to_have_text(re.compile(r"\w"))
    graph.locator("[data-graph-chosen]").get_by_role("link", name="Start from here").click()
    expect(graph).to_have_url(re.compile(r"/graph/\?(memory|entity)="))


def test_depth_layer_and_colour_stand_in_the_address(graph: Page, drawn: Any) -> None:
    drawn_page(graph, f"/graph/?memory={drawn['first']}")
    graph.get_by_label("Colour by").select_option("community")
    expect(graph).to_have_url(re.compile(r"colour=community"))
    graph.get_by_label("What", exact=True).select_option("memories")
    expect(graph).to_have_url(re.compile(r"layer=memories"))
    graph.get_by_label("Steps").press("ArrowRight")
    expect(graph).to_have_url(re.compile(r"depth=2"))
    expect(graph).to_have_url(re.compile(f"memory={drawn['first']}"))
    graph.go_back()
    expect(graph.get_by_label("Steps")).to_have_value("1")


def test_words_start_it_anew(graph: Page, drawn: Any) -> None:
    drawn_page(graph, f"/graph/?memory={drawn['first']}")
    graph.get_by_label("Words or a name to start from").fill("kiln")
    graph.get_by_role("button", name="Draw").click()
    expect(graph).to_have_url(re.compile(r"\?q=kiln"))
    expect(graph.locator("li[data-node]").first).to_contain_text("Melanie fires the kiln")


def test_a_day_is_set_and_said_in_words(graph: Page, drawn: Any) -> None:
    drawn_page(graph)
    expect(graph.get_by_text("What is known now.")).to_be_visible()
    graph.locator("#graph_known_on").fill("2001-02-03")
    graph.get_by_role("button", name="Apply").click()
    expect(graph.get_by_text("What was known on Feb. 3, 2001")).to_be_visible()
    expect(graph.get_by_role("heading", name="Nothing is there")).to_be_visible()
    graph.get_by_role("link", name="Back to now").click()
    expect(graph.get_by_text("What is known now.")).to_be_visible()


def test_places_are_the_same_on_the_next_visit(graph: Page, drawn: Any) -> None:
    drawn_page(graph)
    places = """() => {
      const data = JSON.parse(document.querySelector('[data-graph-data]').textContent);
      return data.nodes.map((node) => [node[0], node[10], node[11]]).sort();
    }"""
    before = graph.evaluate(places)
    drawn_page(graph, f"/graph/?memory={drawn['last']}&depth=3")
    after = {one[0]: one[1:] for one in graph.evaluate(places)}
    assert all(after[one[0]] == one[1:] for one in before if one[0] in after)
    assert len(after) > 5


def test_a_browser_that_cannot_draw_shows_bubbles_and_the_list(
    browser_type: BrowserType, alice: Actor, base_url: str, watch: Watch, drawn: Any
) -> None:
    browser = browser_type.launch(executable_path=chromium(), args=[*QUIET, *NO_DRAWING])
    for page in _page(browser, alice, base_url, watch):
        page.goto("/graph/?depth=2")
        expect(stage(page)).to_be_hidden()
        expect(page.locator("[data-graph-bubbles] circle")).to_have_count(17)
        page.locator("[data-graph-bubbles] a").first.click()
        expect(page).to_have_url(re.compile(r"/(memories|entities)/"))
    browser.close()


def test_it_works_without_scripts(plain_palace: Page, drawn: Any) -> None:
    plain_palace.goto("/graph/")
    expect(plain_palace.locator("[data-graph-bubbles] circle")).to_have_count(17)
    plain_palace.get_by_label("Colour by").select_option("community")
    plain_palace.get_by_role("button", name="Apply").click()
    expect(plain_palace).to_have_url(re.compile(r"colour=community"))
    plain_palace.get_by_role("link", name="Map of the communities").click()
    plain_palace.locator(".community-map a").first.click()
    expect(plain_palace).to_have_url(re.compile(r"\?community=\d+"))


def test_the_scripts_of_the_pages_stay_within_their_budget(graph: Page, drawn: Any, watch: Watch) -> None:
    loaded = """() => performance.getEntriesByType("resource")
      .filter(({ name }) => new URL(name).pathname.endsWith(".js"))
      .map(({ name, decodedBodySize }) => [new URL(name).pathname.split("/").pop(), decodedBodySize])"""
    for address, most, parts in (
        ("/", MOST_FIRST, {"htmx", "main", "live"}),
        ("/graph/?depth=2", MOST_SCRIPT, {"htmx", "main", "live", "sigma", "graphology", "graph-programs"}),
    ):
        graph.goto(address)
        if "depth" in address:
            expect(stage(graph)).to_have_attribute("data-graph-ready", "17", timeout=3 * WAIT_MS)
        watch.wait_until_quiet(graph)
        sizes = dict(graph.evaluate(loaded))
        assert parts <= {re.split(r"[.]|-\d", name)[0] for name in sizes}
        assert all(sizes.values()), sizes
        assert sum(sizes.values()) <= most, sizes


def test_looks(
    drawing_browser: Browser, alice: Actor, base_url: str, watch: Watch, drawn: Any, scheme: str, size: str
) -> None:
    sizes = {"wide": {"width": 1280, "height": 860}, "narrow": {"width": 360, "height": 780}}
    context = drawing_browser.new_context(
        base_url=base_url,
        viewport=sizes[size],  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
        has_touch=size == "narrow",
    )
    log_in(context, alice, base_url)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    # A community in which no name is found goes by a memory of its own.
    apart = [memory(alice, text) for text in ("Sails are mended.", "The boat is dry.", "The mast is new.")]
    for first, second in ((0, 1), (1, 2), (0, 2)):
        link_memories(actor=alice, source_id=apart[first], target_id=apart[second], kind="related_to", weight=0.9)
    divide_now(actor=alice)
    drawn_page(page)
    look(page, "graph", scheme=scheme, size=size)
    stage(page).focus()
    page.keyboard.press("Tab")
    look(page, "graph-chosen", scheme=scheme, size=size)
    for name, address in (
        ("graph-error", "/graph/?memory=x"),
        ("graph-nothing", "/graph/?known_on=2001-01-01"),
        ("communities", "/graph/communities/"),
        ("entity", f"/graph/entities/{drawn['caroline']}/"),
    ):
        page.goto(address)
        look(page, name, scheme=scheme, size=size)
    context.close()


def test_looks_of_bubbles_and_of_nothing(visitor: Page, scheme: str, size: str, alice: Actor) -> None:
    visitor.goto("/graph/")
    look(visitor, "graph-empty", scheme=scheme, size=size)
    visitor.goto("/graph/communities/")
    look(visitor, "communities-empty", scheme=scheme, size=size)
