"""The admin in a real browser: its flows, and its pages in light and dark, wide and narrow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from memory.models import AuditEvent, EmbeddingSpace, Memory, Owner, Purge, ReviewItem, Status, User, owner_scope
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from tests.browser.conftest import Watch
from tests.browser.looking import look, press
from tests.conftest import PASSWORD
from tests.integration.consolidation.reviewing import fact, opened
from tests.integration.telemetry.telling import tell_a_week

HOSTILE = "<script>alert(1)</script> javascript:alert(2) \u202egnihtemos " + "x" * 200


@pytest.fixture
def chief(alice: Actor) -> Actor:
    """Alice, who looks after the installation."""
    User.objects.filter(owner__id=alice.owner_id).update(is_staff=True, is_superuser=True)
    return alice


def choose(page: Page, name: str) -> None:
    page.goto("/admin/owners/")
    page.get_by_role("button", name=f"Choose {name}").click()
    page.get_by_text("You look at another owner").wait_for()


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_another_owner_is_purged_from_click_to_receipt(
    palace: Page, chief: Actor, mallory: Actor, watch: Watch
) -> None:
    remember(actor=mallory, draft=Draft(text="Mallory keeps bees."))
    choose(palace, "mallory")
    palace.get_by_role("navigation", name="Administration").get_by_text("Operations").click()
    palace.get_by_role("link", name="Erase an owner").click()
    palace.get_by_role("link", name="Count what would go").click()
    palace.get_by_role("rowheader", name="Memories, with turns of conversations").wait_for()
    palace.get_by_label("Name of the owner's login").fill("alice")
    palace.get_by_label("Your password").fill(PASSWORD)
    palace.get_by_role("button", name="Erase mallory for good").click()
    palace.get_by_text("Type the name of the owner's login").first.wait_for()
    palace.get_by_label("Name of the owner's login").fill("mallory")
    palace.get_by_label("Your password").fill(PASSWORD)
    palace.get_by_role("button", name="Erase mallory for good").click()
    palace.get_by_role("status").get_by_text("It begins as soon as a worker is free").wait_for()
    run_purge(purge_id=Purge.objects.get().pk)
    with palace.expect_download() as waiting:
        palace.get_by_role("link", name="Download the receipt").click()
    assert waiting.value.suggested_filename == "loci-receipt.json"
    assert not Owner.objects.filter(pk=mallory.owner_id).exists()
    palace.goto("/admin/")
    palace.get_by_text("You see your own owner").wait_for()


def test_memories_are_searched_ticked_and_archived(palace: Page, chief: Actor, watch: Watch) -> None:
    ids = [remember(actor=chief, draft=Draft(text=f"The heron number {n} nests here.")).memory_id for n in range(3)]
    palace.goto("/admin/memory/memory/")
    palace.get_by_role("searchbox", name="Search these rows").fill("herons")
    palace.get_by_role("button", name="Search").click()
    palace.get_by_text("3 rows").wait_for()
    palace.get_by_label("All on this page").check()
    palace.get_by_label("With the ticked rows").select_option("Archive")
    palace.get_by_role("button", name="Do it").click()
    palace.get_by_text("Archive: done for 3 rows.").wait_for()
    with owner_scope(chief.owner_id):
        assert set(Memory.objects.filter(pk__in=ids).values_list("status", flat=True)) == {Status.ARCHIVED}
    # Words are found in live memories only, so nothing is left of what was searched for.
    palace.get_by_text("There is nothing here.").wait_for()
    palace.goto("/admin/memory/memory/?status__exact=archived")
    palace.get_by_role("link", name="Open").first.click()
    palace.get_by_role("button", name="Restore").click()
    palace.get_by_text("Restore: done for 1 row.").wait_for()
    palace.get_by_role("link", name="What was recorded about this row").click()
    palace.get_by_role("cell", name="restore: memory").wait_for()
    assert watch.complaints == []


def test_a_text_of_another_owner_is_revealed_for_a_reason(
    palace: Page, chief: Actor, mallory: Actor, watch: Watch
) -> None:
    one = remember(actor=mallory, draft=Draft(text="Write to anna.silva@example.org for invoices.")).memory_id
    choose(palace, "mallory")
    palace.goto(f"/admin/memory/memory/{one}/change/")
    assert "anna.silva" not in palace.content()
    palace.get_by_label("Reveal because of").select_option("support")
    palace.get_by_role("button", name="Reveal the text").click()
    palace.get_by_text("anna.silva@example.org").wait_for()
    palace.get_by_role("button", name="Back to your own").click()
    palace.get_by_text("You see your own owner again.").wait_for()
    assert watch.complaints == []


def test_doubts_of_another_owner_are_decided_by_keys_and_taken_back(
    palace: Page, chief: Actor, mallory: Actor, watch: Watch
) -> None:
    texts = ("Mallory may sail.", "Mallory may keep bees.", "Mallory may like figs.")
    items = [opened(mallory, payload=fact(text)).pk for text in texts]

    def states() -> list[str]:
        with owner_scope(mallory.owner_id):
            return list(
                ReviewItem.objects.filter(pk__in=items).order_by("created_at", "pk").values_list("state", flat=True)
            )

    choose(palace, "mallory")
    palace.goto("/admin/review/")
    progress = palace.locator(".review-progress")
    expect(progress).to_contain_text("1 of 3")
    press(palace, "j")
    expect(progress).to_contain_text("2 of 3")
    press(palace, "k")
    expect(progress).to_contain_text("1 of 3")
    press(palace, "a")
    expect(progress).to_contain_text("1 of 2")
    expect(palace.locator("[data-review-undo]")).to_contain_text("Approved.")
    press(palace, "u")
    expect(palace.locator(".messages")).to_contain_text("Taken back: 1 item waits again.")
    expect(progress).to_contain_text("1 of 3")
    assert states() == ["open"] * 3
    press(palace, "r")
    expect(progress).to_contain_text("1 of 2")
    press(palace, "s")
    expect(palace.get_by_role("button", name="1 day")).to_be_focused()
    press(palace, "s")
    expect(progress).to_contain_text("1 of 1")
    press(palace, "e")
    palace.get_by_label("What shall I remember?").fill("Mallory likes dates.")
    palace.get_by_role("button", name="Approve as it stands here").click()
    expect(palace.get_by_role("heading", name="Nothing waits")).to_be_visible()
    assert states() == ["rejected", "snoozed", "approved"]
    press(palace, "?")
    expect(palace.get_by_role("dialog")).to_contain_text("Next item, previous item")
    with owner_scope(mallory.owner_id):
        deciders = AuditEvent.objects.filter(object_kind="review", verb__in=("approve", "reject", "reopen", "snooze"))
        assert {one.actor.partition(":")[0] for one in deciders} == {"staff"}
    assert watch.complaints == []


def test_keys_are_rotated_and_a_login_is_made(palace: Page, chief: Actor, watch: Watch) -> None:
    palace.goto("/admin/keys/")
    palace.get_by_label("Your password").fill(PASSWORD)
    palace.get_by_role("button", name="Give a new text key").click()
    palace.get_by_text("Version 2 seals from now on.").wait_for()
    palace.goto("/admin/logins/")
    form = palace.locator("section").filter(has=palace.get_by_role("heading", name="Make an owner with a login"))
    form.get_by_label("Name of the login").fill("carol")
    form.get_by_label("Your password").fill(PASSWORD)
    form.get_by_role("button", name="Make it").click()
    palace.get_by_text("Its password, shown once:").wait_for()
    made = palace.locator("code.secret").inner_text()
    assert User.objects.get(username="carol").check_password(made)
    assert watch.complaints == []


def test_hostile_text_stays_text(palace: Page, chief: Actor, watch: Watch) -> None:
    tags, topics = [f"tag{n}" for n in range(50)], [f"topic{n}" for n in range(50)]
    one = remember(actor=chief, draft=Draft(text=HOSTILE, tags=tags, topics=topics)).memory_id
    opened(chief, payload=fact(HOSTILE), evidence=[(one, HOSTILE)])
    row = f"/admin/memory/memory/{one}/change/"
    for path in ("/admin/memory/memory/", row, "/admin/review/", "/admin/review/batch/"):
        palace.goto(path)
        palace.get_by_text("<script>alert(1)</script>").first.wait_for()
        assert palace.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
        assert palace.locator("a[href^='javascript:']").count() == 0
    assert watch.complaints == []


def test_it_works_without_scripts(plain_palace: Page, chief: Actor) -> None:
    remember(actor=chief, draft=Draft(text="The heron nests here."))
    plain_palace.goto("/admin/memory/memory/?q=heron")
    plain_palace.locator("input[name='_selected_action']").check()
    plain_palace.get_by_label("With the ticked rows").select_option("Archive")
    plain_palace.get_by_role("button", name="Do it").click()
    plain_palace.get_by_text("Archive: done for 1 row.").wait_for()


def test_how_the_pages_look(
    visitor: Page, furnished: dict[str, str], chief: Actor, mallory: Actor, scheme: str, size: str, watch: Watch
) -> None:
    opened(chief, payload=fact("Caroline may move to Madrid."), confidence=0.35)
    space = EmbeddingSpace.objects.get()

    def visit(name: str, path: str) -> None:
        visitor.goto(path)
        look(visitor, f"admin-{name}", scheme=scheme, size=size)

    visitor.goto("/admin/")
    visitor.get_by_text("No agent has reported a turn in these days").wait_for()
    look(visitor, "admin-dashboard-empty", scheme=scheme, size=size)
    tell_a_week(chief)
    visitor.goto("/admin/")
    visitor.get_by_role("table", name="Who stores the most").wait_for()
    visitor.get_by_role("table", name="Requests that no spoke fitted, in groups from the largest down").wait_for()
    look(visitor, "admin-dashboard", scheme=scheme, size=size)
    visit("list", "/admin/memory/memory/")
    visit("list-filtered", "/admin/memory/memory/?kind__exact=fact")
    visit("list-empty", "/admin/memory/skill/")
    visit("row", f"/admin/memory/memory/{furnished['personal']}/change/")
    visit("review", "/admin/review/")
    visit("review-batch", "/admin/review/batch/")
    visit("review-empty", "/admin/review/?kind=merge")
    visit("space", f"/admin/spaces/{space.pk}/")
    visitor.get_by_role("textbox", name="Question").fill("invoices")
    visitor.get_by_role("button", name="Ask").click()
    visitor.get_by_role("columnheader", name="Distance").wait_for()
    look(visitor, "admin-space-asked", scheme=scheme, size=size)
    visit("jobs", "/admin/jobs/")
    visit("logins", "/admin/logins/")
    visit("settings", "/admin/settings/")
    visit("keys", "/admin/keys/")
    visitor.get_by_role("button", name="Give a new text key").click()
    visitor.get_by_text("Type your password.").wait_for()
    look(visitor, "admin-keys-refused", scheme=scheme, size=size)
    # The browser reports that the form was refused, which it was.
    assert [one for one in watch.complaints if "status of 422" not in one] == []
    watch.complaints.clear()
    visitor.goto("/admin/owners/")
    look(visitor, "admin-owners", scheme=scheme, size=size)
    visitor.get_by_role("button", name="Choose mallory").click()
    visit("purge", "/admin/purge/?counted=1")
    assert watch.complaints == []
