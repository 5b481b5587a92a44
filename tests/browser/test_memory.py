"""The drawer and the page of a memory, in a real browser."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

from playwright.sync_api import Page, expect

from memory.models import Memory, ReviewKind, owner_scope
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.disputes import dispute_memory
from memory.services.graph.edges import edges_of, link_memories
from memory.services.memories import get_memory
from tests.browser.conftest import Watch
from tests.browser.looking import look
from tests.integration.consolidation.reviewing import opened


def drawer_of(page: Page) -> Any:
    return page.locator("dialog.drawer")


def open_first(page: Page) -> Any:
    """Open the first turn of the only conversation."""
    page.goto("/conversations/")
    page.get_by_role("link", name="kitchen talk").click()
    link = page.locator("main a[data-drawer]").first
    link.focus()
    link.press("Enter")
    expect(drawer_of(page).locator("article.memory")).to_be_visible()
    return link


def test_a_memory_opens_beside_the_list_and_gives_the_focus_back(
    palace: Page, furnished: dict[str, str], watch: Watch
) -> None:
    link = open_first(palace)
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
    open_first(palace)
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
    expect(palace).to_have_url(re.compile(r"/conversations/[0-9a-f-]{36}/$"))
    assert watch.complaints == []


def test_what_was_typed_is_not_lost_by_a_slip(palace: Page, alice: Actor, furnished: dict[str, str]) -> None:
    link = open_first(palace)
    memory_id = UUID((link.get_attribute("href") or "").split("/")[2])
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
    link = open_first(palace)
    memory_id = UUID((link.get_attribute("href") or "").split("/")[2])
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
    link = open_first(palace)
    palace.keyboard.press("Escape")
    palace.context.set_offline(True)
    link.click()
    expect(drawer_of(palace).get_by_role("alert")).to_contain_text("The server did not answer")


def test_on_a_phone_it_comes_from_below_and_hostile_text_stays_inside(
    palace: Page, furnished: dict[str, str], watch: Watch
) -> None:
    palace.set_viewport_size({"width": 360, "height": 720})
    palace.goto(f"/?open={furnished['hostile']}")
    drawer = drawer_of(palace)
    expect(drawer.locator("article.memory > .text")).to_contain_text("<script>alert('no')</script>")
    box = drawer.bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 360)
    assert box["y"] > 0
    body = drawer.locator("[data-drawer-body]")
    assert body.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert drawer.locator("a[href^='javascript'], script").count() == 0
    palace.goto(f"/memories/{furnished['hostile']}/")
    assert palace.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert watch.complaints == []


def test_a_dispute_and_a_link_are_made_in_the_drawer(
    palace: Page, alice: Actor, furnished: dict[str, str], watch: Watch
) -> None:
    palace.goto(f"/?open={furnished['deploy']}")
    drawer = drawer_of(palace)
    drawer.get_by_role("link", name="Dispute").click()
    drawer.get_by_label("What is wrong with it?").fill("It is on Fridays now.")
    drawer.get_by_role("button", name="Dispute it").click()
    expect(drawer.locator(".dispute")).to_contain_text("It is on Fridays now.")
    drawer.get_by_role("link", name="Link to another memory").click()
    drawer.get_by_role("searchbox").fill("payment provider refused")
    drawer.get_by_role("searchbox").press("Enter")
    drawer.get_by_label("How this memory stands to the other").select_option("supports")
    drawer.get_by_label("Error E-4012").check()
    drawer.get_by_role("button", name="Link them").click()
    expect(drawer.locator(".links li").first).to_contain_text("supports")
    [made] = edges_of(actor=alice, memory_id=UUID(furnished["deploy"]))
    assert made.edge.kind == "supports"
    assert watch.complaints == []


def test_everything_can_be_done_without_scripts(plain_palace: Page, alice: Actor, furnished: dict[str, str]) -> None:
    plain_palace.goto("/conversations/")
    plain_palace.get_by_role("link", name="kitchen talk").click()
    plain_palace.locator("main a[data-drawer]").first.click()
    expect(plain_palace).to_have_url(re.compile(r"/memories/[0-9a-f-]{36}/$"))
    plain_palace.goto(f"/memories/{furnished['deploy']}/")
    plain_palace.get_by_role("button", name="Go back to version 1").click()
    expect(plain_palace.get_by_text("It says again what it said then.")).to_be_visible()
    assert "Thursday" in get_memory(actor=alice, memory_id=UUID(furnished["deploy"])).text


def test_looks(visitor: Page, furnished: dict[str, str], alice: Actor, scheme: str, size: str, watch: Watch) -> None:
    deploy = UUID(furnished["deploy"])
    other = UUID(furnished["personal"])
    link_memories(actor=alice, source_id=deploy, target_id=other, kind="supports", relationship="who to ask about it")
    payload = {"older": str(other), "newer": str(deploy), "reason": "contested"}
    opened(alice, ReviewKind.CONTRADICTION, payload, evidence=[(deploy, ""), (other, "")])
    dispute_memory(actor=alice, memory_id=deploy, reason="It is on Fridays since the spring.")
    with owner_scope(alice.owner_id):
        Memory.objects.filter(pk=deploy).update(created_at=now() - timedelta(days=40))
        turn = Memory.objects.filter(session__isnull=False, position=1).get()

    def visit(name: str, path: str) -> None:
        visitor.goto(path)
        look(visitor, name, scheme=scheme, size=size)

    visit("memory-full", f"/memories/{deploy}/")
    visit("memory-turn", f"/memories/{turn.pk}/")
    visit("memory-hostile", f"/memories/{furnished['hostile']}/")
    visit("memory-link", f"/memories/{deploy}/link/?q=lisbon")
    visit("memory-dispute", f"/memories/{deploy}/dispute/")
    visitor.get_by_role("button", name="Dispute it").click()
    expect(visitor.get_by_role("alert")).to_be_visible()
    look(visitor, "memory-dispute-error", scheme=scheme, size=size)
    visit("conversations", "/conversations/")
    visit("conversation", f"/conversations/{turn.session_id}/?turn={turn.pk}")
    visitor.goto(f"/?open={deploy}")
    expect(drawer_of(visitor).locator("article.memory")).to_be_visible()
    look(visitor, "memory-drawer", scheme=scheme, size=size)
    assert [one for one in watch.complaints if "status of 422" not in one] == []


def test_looks_without_a_conversation(visitor: Page, scheme: str, size: str) -> None:
    visitor.goto("/conversations/")
    expect(visitor.get_by_text("No conversation yet")).to_be_visible()
    look(visitor, "conversations-empty", scheme=scheme, size=size)
