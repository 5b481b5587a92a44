"""Hostile words on every page: they stay words, and neither they nor twice the text size break a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, CDPSession, Dialog, Error, Page, Response, expect

from tests.browser.conftest import WAIT_MS, Watch, log_in
from tests.browser.hostile import BIDI, IMAGE, SCRIPT, Hostile, plant_hostile
from tests.browser.looking import SIZES
from tests.integration.leaks.test_admin import addresses, is_of_rows
from tests.integration.leaks.test_pages import NOTHING, PAGES, address, named
from tests.integration.leaks.world import LURE, Rows

INSPECTION = (Path(__file__).parent / "inspection.js").read_text()
NARROW = """() => { inspection.openAll();
    return { made: inspection.made(), turning: inspection.turning(), sideways: inspection.sideways(),
             moving: inspection.moving() }; }"""
ENLARGED = """() => ({ sideways: inspection.sideways(), clipped: inspection.clipped(),
    overlapping: inspection.overlapping() })"""
WORDS = """() => ({ made: inspection.made(), turning: inspection.turning() })"""
# In pixels: what a browser begins with, and twice that.
USUAL, TWICE = 16, 32
MAIN = (
    "/", "/?q=lisbon", "/remember/", "/graph/", "/files/", "/review/", "/agents/sees/", "/consolidation/", "/settings/",
    "/agents/", "/privacy/", "/archive/", "/telemetry/coverage/", "/telemetry/costs/",
)  # fmt: skip
# What a browser says of pages that are not there for these rows, and of a picture that its processor draws.
EXPECTED = ("the server responded with a status of 4", "GL Driver Message")
# Models of which the admin shows many words, and addresses of theirs at which it shows none that the others do not.
WORDY = ("/admin/memory/memory/", "/admin/memory/entity/", "/admin/memory/reviewitem/", "/admin/memory/skill/")
LIKE_OTHERS = ("/history/", "/delete/", "/add/", "/autocomplete/", "/jsi18n/")


@dataclass
class Walker:
    """A browser that goes from page to page and writes down what is wrong there."""

    page: Page
    watch: Watch
    base_url: str
    protocol: CDPSession
    found: list[str] = field(default_factory=list)
    pages: int = 0

    def __post_init__(self) -> None:
        """Listen for what hostile words would do if they were no words."""
        self.page.expose_function("planted", lambda: self._note("a planted script ran"))
        self.page.on("dialog", self._asks)
        self.page.on("response", self._answered)
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.add_init_script(INSPECTION)

    def _asks(self, dialog: Dialog) -> None:
        self._note(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def visit(self, path: str) -> None:
        """Open a page, and look at it narrow and with twice the text size."""
        try:
            response = self.page.goto(path)
        except Error as error:
            # A file that is saved is no page.
            assert "Download is starting" in error.message, error
            return
        assert response is not None
        if "text/html" not in response.headers.get("content-type", ""):
            return
        self.pages += 1
        assert response.status < 500, path
        if not self.page.evaluate("document.styleSheets.length"):
            # A part of a page, which stands in no frame.
            self.inspect("as it is", WORDS)
            return
        self.inspect("narrow", NARROW)
        self._enlarge(TWICE, "wide")
        self.inspect("twice the text", ENLARGED)
        self._enlarge(USUAL, "narrow")

    def inspect(self, how: str, question: str) -> None:
        """Ask the open page what is wrong with it."""
        for name, wrong in self.page.evaluate(question).items():
            for one in wrong[:3]:
                self._note(f"{how}, {name}: {one}")

    def _enlarge(self, pixels: int, size: str) -> None:
        self.protocol.send("Page.setFontSizes", {"fontSizes": {"standard": pixels, "fixed": pixels}})
        self.page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]

    def _note(self, what: str) -> None:
        self.found.append(f"{self.page.url.removeprefix(self.base_url)}: {what}")

    def _asked(self, url: str) -> None:
        if not url.startswith((self.base_url, "data:", "blob:")):
            self._note(f"asked for {url}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400 and response.request.resource_type != "document":
            self._note(f"{response.status} of {response.url}")


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch, committed: None) -> Hostile:
    """An owner of whom every word is hostile."""
    return plant_hostile(monkeypatch)


@pytest.fixture
def walker(browser: Browser, hostile: Hostile, base_url: str, watch: Watch) -> Iterator[Walker]:
    """A phone on which that owner is logged in."""
    context = browser.new_context(base_url=base_url, viewport=SIZES["narrow"], reduced_motion="reduce")  # type: ignore[arg-type]
    log_in(context, hostile.owner, base_url)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    watch.listen(page)
    yield Walker(page, watch, base_url, context.new_cdp_session(page))
    context.close()


def palace(rows: Rows) -> Iterator[str]:
    """Give the address of every page of the palace and of telemetry, in each way that the walk of leaks asks for it."""
    known = {"agent": NOTHING, "cluster": "r-0000000000000000", **rows}
    for name, (queries, _) in PAGES.items():
        for query in queries or []:
            filled = {key: value.format(**known) for key, value in query.items()}
            if filled.get("q") == LURE:
                filled["q"] = f"{LURE} {SCRIPT} {BIDI}"
            yield address(name, rows, named()[name]) + (f"?{urlencode(filled)}" if filled else "")


def admin(rows: Rows) -> Iterator[str]:
    """Give the addresses of the admin's own views, and of the lists and rows that hold most words."""
    for path in addresses({"space_id": "1", **rows}):
        if not is_of_rows(path) or (path.startswith(WORDY) and not path.endswith(LIKE_OTHERS)):
            yield f"{path}?key={rows['cluster']}" if path.endswith("/requests/") else path


def test_hostile_words_stay_words_on_every_page(walker: Walker, hostile: Hostile, watch: Watch) -> None:
    for path in dict.fromkeys([*palace(hostile.rows), *admin(hostile.rows)]):
        walker.visit(path)
    assert walker.pages > len(PAGES)
    nothing_wrong(walker, watch)


def test_hostile_words_stay_words_in_what_opens_and_appears(walker: Walker, watch: Watch) -> None:
    in_drawer(walker)
    while_typing(walker)
    nothing_wrong(walker, watch)


def nothing_wrong(walker: Walker, watch: Watch) -> None:
    """Check that nothing was written down, and that the browser complained of nothing."""
    assert walker.found == [], "\n".join(walker.found)
    assert [one for one in watch.complaints if not any(known in one for known in EXPECTED)] == []


def in_drawer(walker: Walker) -> None:
    """Open a memory beside the list in which it stands."""
    walker.page.goto(f"/?{urlencode({'q': f'{LURE} {SCRIPT}'})}")
    walker.page.locator(".hit a[data-drawer]").first.click()
    expect(walker.page.locator(".drawer[open] .text").first).to_contain_text(SCRIPT)
    walker.inspect("in the drawer", NARROW)


def while_typing(walker: Walker) -> None:
    """Look at what a page proposes while somebody types, and at what it understood of what was typed."""
    walker.page.goto("/")
    box = walker.page.get_by_role("combobox", name="What do you want to recall?")
    box.press_sequentially(LURE[:4])
    walker.page.locator("datalist option").first.wait_for(state="attached")
    walker.inspect("proposed", NARROW)
    walker.page.goto("/remember/")
    walker.page.locator("textarea[name=content]").fill(f"{SCRIPT} {IMAGE} {BIDI} {LURE}")
    walker.page.get_by_role("button", name="Preview").click()
    walker.watch.wait_until_quiet(walker.page)
    walker.inspect("understood", NARROW)


def test_focus_is_seen_with_forced_colours(palace: Page, furnished: dict[str, str]) -> None:
    palace.add_init_script(INSPECTION)
    palace.emulate_media(forced_colors="active")
    unseen = {}
    for path in (*MAIN, f"/memories/{furnished['deploy']}/"):
        palace.goto(path)
        palace.evaluate("inspection.openAll()")
        unseen[path] = palace.evaluate("inspection.unseen()")
    assert not any(unseen.values()), unseen
