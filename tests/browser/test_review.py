"""Review in a real browser: keys, progress, taking back in time, batches, without scripts, and how it looks."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from memory.models import ReviewItem, ReviewKind, owner_scope
from memory.services.actors import Actor, Target
from memory.services.drafts import Draft
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.remember import remember
from memory.services.review_decisions import reject
from memory.services.reviews import open_review
from tests.browser.conftest import Watch
from tests.browser.looking import look, press
from tests.integration.consolidation.reviewing import fact, opened


def doubts(actor: Actor) -> list[ReviewItem]:
    """Three facts that wait, from one source."""
    told = remember(actor=actor, draft=Draft(text="I get a rash from nuts, I think.", source="chat/food")).memory_id
    texts = ("Alice is allergic to nuts.", "Alice gets a rash.", "Alice likes almonds.")
    return [opened(actor, payload=fact(text), evidence=[(told, "a rash from nuts")]) for text in texts]


def all_kinds(actor: Actor) -> dict[str, ReviewItem]:
    """Open an item of each kind, as consolidation would."""
    words = "Ana said that she moved to Rome because she likes the sea. Write to ana.reis@example.org."
    turn = remember(actor=actor, draft=Draft(text=words, source="letters/2026")).memory_id
    older = remember(actor=actor, draft=Draft(text="Ana lives in Whitefield, near the mill.")).memory_id
    newer = remember(actor=actor, draft=Draft(text="Ana lives in Rome.")).memory_id
    ana = {"name": "Ana", "type": "person"}
    with owner_scope(actor.owner_id):
        pair = [
            merge_entity(actor=actor, draft=EntityDraft(name=name, type="person")).entity_id
            for name in ("Alice", "Alice Johnson")
        ]
    both = {"first": str(pair[0]), "second": str(pair[1]), "names": ["Alice", "Alice Johnson"], "rule": "part"}
    payloads: dict[str, tuple[str, dict[str, Any]]] = {
        ReviewKind.FACT: ("confidence.low", fact("Ana moved to Rome.", entities=["Ana"], topics=["moving"])),
        ReviewKind.ENTITY: ("confidence.low", {"name": "Quill", "type": "tool", "aliases": ["Quill CLI"]}),
        ReviewKind.RELATION: ("confidence.low", {"source": ana, "label": "lives_in", "target": {"name": "Rome"}}),
        ReviewKind.EVENT: (
            "confidence.low",
            {"text": "Ana moved.", "occurred_at": "2026-03-02T10:00:00Z", "participants": [ana]},
        ),
        ReviewKind.CAUSE: ("confidence.low", {"cause": "Ana likes the sea", "effect": "Ana moved"}),
        ReviewKind.MERGE: ("merge.part", both),
        ReviewKind.CONTRADICTION: ("contested", {"older": str(older), "newer": str(newer)}),
        ReviewKind.DISPUTE: ("disputed", {"memory": str(older), "words": "She has moved since."}),
    }
    items = {}
    for kind, (reason, payload) in payloads.items():
        with owner_scope(actor.owner_id):
            item = open_review(
                actor=actor,
                kind=ReviewKind(kind),
                reason=reason,
                confidence=0.45,
                payload=payload,
                target=Target("owner", actor.owner_id),
                evidence=[(turn, words)] if kind != ReviewKind.MERGE else [],
            )
        assert item is not None
        items[kind] = item
    return items


def states(actor: Actor) -> list[str]:
    with owner_scope(actor.owner_id):
        return list(ReviewItem.objects.order_by("created_at", "pk").values_list("state", flat=True))


def test_a_key_that_does_nothing_says_why(palace: Page, alice: Actor) -> None:
    merge = all_kinds(alice)[ReviewKind.MERGE]
    palace.goto(f"/review/{merge.pk}/")
    expect(palace.get_by_role("heading", level=1)).to_be_visible()
    press(palace, "e")
    expect(palace.locator("[data-review-news]")).to_contain_text("There is nothing to edit in it")
    press(palace, "?")
    expect(palace.get_by_role("dialog")).to_contain_text("Reject")
    expect(palace.get_by_role("dialog")).not_to_contain_text("Edit, then approve")


def test_the_keys_decide_and_walk(palace: Page, alice: Actor, watch: Watch) -> None:
    doubts(alice)
    palace.goto("/review/")
    progress = palace.locator(".review-progress")
    expect(progress).to_contain_text("1 of 3")
    expect(palace.locator(".doubt-quote")).to_contain_text("a rash from nuts")
    press(palace, "j")
    expect(progress).to_contain_text("2 of 3")
    press(palace, "k")
    expect(progress).to_contain_text("1 of 3")

    press(palace, "a")
    expect(progress).to_contain_text("1 of 2")
    expect(palace.locator("[data-review-undo]")).to_contain_text("Approved.")
    press(palace, "u")
    expect(progress).to_contain_text("1 of 3")
    expect(palace.locator(".doubt-said")).to_contain_text("allergic to nuts")
    assert states(alice) == ["open"] * 3

    press(palace, "r")
    expect(progress).to_contain_text("1 of 2")
    assert states(alice)[0] == "rejected"
    press(palace, "s")
    expect(palace.get_by_role("button", name="1 day")).to_be_focused()
    press(palace, "Escape")
    expect(palace.get_by_role("button", name="1 day")).to_be_hidden()
    press(palace, "s")
    press(palace, "s")
    expect(progress).to_contain_text("1 of 1")
    assert states(alice)[1] == "snoozed"

    press(palace, "e")
    palace.get_by_label("What shall I remember?").fill("Alice likes walnuts, her answer to a rash.")
    press(palace, "a")
    expect(palace.get_by_label("What shall I remember?")).to_be_visible()
    palace.get_by_role("button", name="Approve as it stands here").click()
    expect(palace.get_by_role("heading", name="Nothing waits")).to_be_visible()
    assert states(alice)[2] == "approved"
    watch.wait_until_quiet(palace)
    assert watch.complaints == []


def test_each_key_has_a_button_that_shows_it(palace: Page, alice: Actor) -> None:
    doubts(alice)
    palace.goto("/review/")
    press(palace, "j")
    for key in "aersjk":
        shown = palace.locator(f'[data-key="{key}"] kbd')
        expect(shown).to_be_visible()
        expect(shown).to_have_text(key)


def test_the_offer_to_take_back_goes_by_itself(palace: Page, alice: Actor) -> None:
    doubts(alice)
    palace.clock.install()
    palace.goto("/review/")
    press(palace, "r")
    offer = palace.locator("[data-review-undo]")
    expect(offer).to_be_visible()
    palace.clock.run_for(11_000)
    expect(offer).to_be_hidden()
    assert states(alice)[0] == "rejected"


def test_a_decision_elsewhere_is_said(palace: Page, alice: Actor) -> None:
    first = doubts(alice)[0]
    palace.goto("/review/")
    reject(actor=alice, item_id=first.pk)
    press(palace, "a")
    expect(palace.locator(".messages")).to_contain_text("Somebody has decided or changed this meanwhile")


def test_a_batch_by_source_is_decided_and_taken_back(palace: Page, alice: Actor, watch: Watch) -> None:
    doubts(alice)
    opened(alice, payload=fact("The kettle is red."))
    palace.goto("/review/batch/")
    palace.get_by_role("link", name="source chat/food").click()
    expect(palace.locator(".review-rows li")).to_have_count(3)
    palace.get_by_label("All on this page").check()
    palace.get_by_role("button", name="Reject the chosen").click()
    expect(palace.get_by_role("heading", name="Reject 3 items?")).to_be_visible()
    palace.get_by_role("button", name="Reject them").click()
    expect(palace.locator("[data-review-undo]")).to_contain_text("3 items were rejected.")
    assert states(alice) == ["rejected"] * 3 + ["open"]
    press(palace, "u")
    expect(palace.locator(".review-rows li")).to_have_count(3)
    assert states(alice) == ["open"] * 4
    watch.wait_until_quiet(palace)
    assert watch.complaints == []


def test_without_scripts(plain_palace: Page, alice: Actor) -> None:
    doubts(alice)
    plain_palace.goto("/review/")
    plain_palace.get_by_role("button", name="Approve", exact=False).first.click()
    expect(plain_palace.locator(".review-progress")).to_contain_text("1 of 2")
    plain_palace.get_by_role("button", name="Undo").click()
    expect(plain_palace.locator(".review-progress")).to_contain_text("1 of 3")
    plain_palace.locator(".review-snooze summary").click()
    plain_palace.get_by_role("button", name="1 week").click()
    expect(plain_palace.locator(".review-progress")).to_contain_text("1 of 2")
    plain_palace.get_by_role("link", name="Edit, then approve").click()
    plain_palace.get_by_label("What shall I remember?").fill("Alice gets a rash from nuts.")
    plain_palace.get_by_role("button", name="Approve as it stands here").click()
    assert states(alice) == ["snoozed", "approved", "open"]
    plain_palace.goto("/review/batch/")
    plain_palace.locator('.review-rows [name="ids"]').first.check()
    plain_palace.get_by_role("button", name="Approve the chosen").click()
    plain_palace.get_by_role("button", name="Approve them").click()
    assert states(alice) == ["snoozed", "approved", "approved"]


def test_enter_in_the_field_of_the_date_puts_off_until_then(plain_palace: Page, alice: Actor) -> None:
    doubts(alice)
    plain_palace.goto("/review/")
    plain_palace.locator(".review-snooze summary").click()
    plain_palace.get_by_label("Until a date").fill("2199-01-01")
    plain_palace.get_by_label("Until a date").press("Enter")
    expect(plain_palace.locator(".review-progress")).to_contain_text("1 of 2")
    with owner_scope(alice.owner_id):
        until = ReviewItem.objects.get(state="snoozed").snoozed_until
    assert until is not None
    assert until.date() == date(2199, 1, 1)


@pytest.mark.usefixtures("furnished")
def test_looks(visitor: Page, alice: Actor, scheme: str, size: str, watch: Watch) -> None:
    visitor.goto("/review/")
    look(visitor, "review-empty", scheme=scheme, size=size)
    items = all_kinds(alice)
    for kind, item in items.items():
        visitor.goto(f"/review/?item={item.pk}")
        look(visitor, f"review-{kind}", scheme=scheme, size=size)
    visitor.goto(f"/review/?kind=fact&item={items[ReviewKind.FACT].pk}")
    look(visitor, "review-filtered", scheme=scheme, size=size)
    visitor.goto(f"/review/{UUID(str(items[ReviewKind.FACT].pk))}/edit/")
    visitor.get_by_label("Importance").fill("12")
    visitor.get_by_role("button", name="Approve as it stands here").click()
    look(visitor, "review-edit-wrong", scheme=scheme, size=size)
    visitor.goto("/review/batch/")
    look(visitor, "review-batch", scheme=scheme, size=size)
    visitor.locator('.review-rows [name="ids"]').nth(1).check()
    visitor.get_by_role("button", name="Approve the chosen").click()
    look(visitor, "review-sure", scheme=scheme, size=size)
    visitor.goto(f"/review/?item={items[ReviewKind.ENTITY].pk}")
    visitor.get_by_role("button", name="Reject").click()
    visitor.locator("[data-review-undo]").wait_for()
    look(visitor, "review-undo", scheme=scheme, size=size)
    watch.wait_until_quiet(visitor)
    assert watch.complaints == [] or all("422" in one for one in watch.complaints)
