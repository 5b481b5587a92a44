"""How a page hears of changes in a real browser: at once, again after an interruption, and by looking where it must."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from memory.live.sockets import open_sockets
from memory.ports.live import announce_change
from memory.services.actors import Actor
from memory.services.logins import set_password

WATCH = """async () => {
  const { watch } = await import("/static/palace/live.js");
  window.heard = [];
  window.stop = watch("coverage", (change) => window.heard.push(change));
}"""
ANYTHING = {"sort": "coverage", "id": "", "version": 0}
HIDE = """(isHidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def begin(page: Page, base_url: str) -> None:
    page.goto(base_url)
    page.evaluate(WATCH)


def state(page: Page, name: str) -> None:
    page.wait_for_function("name => document.documentElement.dataset.live === name", arg=name)


def heard(page: Page, number: int) -> list[Any]:
    page.wait_for_function("number => window.heard.length >= number", arg=number)
    found: list[Any] = page.evaluate("window.heard")
    return found


def test_a_page_hears_at_once(palace: Page, alice: Actor, base_url: str) -> None:
    begin(palace, base_url)
    state(palace, "open")
    expect(palace.locator("[data-live-state]")).to_have_text("Live: what is new is told at once.")
    # What has changed since the page was made, nobody has told it.
    assert heard(palace, 1) == [ANYTHING]
    announce_change(alice.owner_id, "coverage", "", 5)
    assert heard(palace, 2) == [ANYTHING, {"sort": "coverage", "id": "", "version": 5}]
    palace.evaluate("window.stop()")
    announce_change(alice.owner_id, "coverage", "", 6)
    palace.wait_for_timeout(100)
    assert len(heard(palace, 2)) == 2
    # The frame of the page listens on.
    assert len(open_sockets) == 1


def test_a_page_in_the_background_lets_go_and_looks_when_it_is_back(palace: Page, alice: Actor, base_url: str) -> None:
    begin(palace, base_url)
    state(palace, "open")
    assert heard(palace, 1) == [ANYTHING]
    palace.evaluate(HIDE, True)
    state(palace, "paused")
    announce_change(alice.owner_id, "coverage", "", 6)
    palace.evaluate(HIDE, False)
    state(palace, "open")
    # Not the change itself, which nobody has told it, but that there may have been one.
    assert heard(palace, 2) == [ANYTHING, ANYTHING]
    announce_change(alice.owner_id, "coverage", "", 7)
    assert heard(palace, 3)[2]["version"] == 7


def test_a_page_whose_login_ends_says_so_and_does_not_come_back(palace: Page, base_url: str) -> None:
    tries: list[Any] = []
    palace.on("websocket", lambda opened: tries.append(opened))
    begin(palace, base_url)
    state(palace, "open")
    set_password(username="alice", password="another horse, another battery")
    state(palace, "ended")
    expect(palace.locator("[data-live-state]")).to_have_text("Not live any more. Load this page again.")
    palace.evaluate(HIDE, True)
    palace.evaluate(HIDE, False)
    palace.wait_for_timeout(1500)
    assert len(tries) == 1


def test_where_no_socket_opens_a_page_looks_by_itself_and_is_live_once_one_does(
    palace: Page, alice: Actor, base_url: str
) -> None:
    is_broken = True

    def answer(route: WebSocketRoute) -> None:
        if is_broken:
            route.close(code=1011)
        else:
            route.connect_to_server()

    palace.route_web_socket("**/live/", answer)
    palace.clock.install()
    begin(palace, base_url)
    state(palace, "polling")
    palace.clock.fast_forward(31_000)
    assert heard(palace, 1)[0] == {"sort": "coverage", "id": "", "version": 0}
    is_broken = False
    palace.clock.fast_forward(61_000)
    state(palace, "open")
    number = len(palace.evaluate("window.heard"))
    announce_change(alice.owner_id, "coverage", "", 8)
    assert heard(palace, number + 1)[-1]["version"] in (0, 8)
    palace.wait_for_function("window.heard.at(-1).version === 8")


@pytest.mark.parametrize("moments", [1, 2])
def test_several_watchers_share_one_socket(palace: Page, alice: Actor, base_url: str, moments: int) -> None:
    opened: list[Any] = []
    palace.on("websocket", lambda one: opened.append(one))
    begin(palace, base_url)
    if moments == 2:
        state(palace, "open")
    palace.evaluate(
        """async () => {
          const { watch } = await import("/static/palace/live.js");
          watch("budget", (change) => window.heard.push(change));
        }"""
    )
    state(palace, "open")
    assert {change["sort"] for change in heard(palace, 2)} == {"coverage", "budget"}
    announce_change(alice.owner_id, "coverage", "", 1)
    assert heard(palace, 3)[2] == {"sort": "coverage", "id": "", "version": 1}
    announce_change(alice.owner_id, "budget", "", 2)
    assert heard(palace, 4)[3] == {"sort": "budget", "id": "", "version": 2}
    assert len(opened) == 1
