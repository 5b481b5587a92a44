"""The description of the REST interface in a real browser, under the strict content policy and without a network."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, Request, expect

from memory.services.actors import Actor, Permission
from tests.browser.conftest import WAIT_MS, Watch


def test_the_interface_can_be_read_and_tried(
    page: Page, base_url: str, watch: Watch, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    _, secret = make_agent(alice, "reader", scopes=list(Permission))
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    page.on("request", note)
    watch.listen(page)
    page.set_default_timeout(WAIT_MS)
    answer = page.goto(f"{base_url}/api/v1/docs")
    assert answer is not None
    assert answer.headers["cache-control"] == "no-store"
    assert "unsafe" not in answer.headers["content-security-policy"]
    page.locator("#operations-tag-memories").click()
    expect(page.locator("#operations-memories-remember")).to_be_visible()
    assert page.locator(".opblock-tag").count() > 20

    page.get_by_role("button", name="Authorize").first.click()
    page.locator("#auth-bearer-value").fill(secret)
    page.locator(".auth-container", has=page.locator("#auth-bearer-value")).get_by_role(
        "button", name="Apply credentials"
    ).click()
    page.get_by_role("button", name="Close").first.click()
    page.locator("#operations-tag-stats").click()
    operation = page.locator("#operations-stats-get_stats")
    operation.locator(".opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()
    expect(operation.locator(".live-responses-table .response .response-col_status").first).to_contain_text("200")
    expect(operation.locator(".live-responses-table")).to_contain_text('"total"')

    assert watch.complaints == []
    assert all(url.startswith((base_url, "data:", "blob:")) for url in asked), asked
