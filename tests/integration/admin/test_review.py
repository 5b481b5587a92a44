"""The review in the admin: the palace's pages for the chosen owner, whose audit tells that staff decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse

from memory.admin.views.review import review_addresses
from memory.models import Memory, ReviewItem, ReviewKind, owner_scope
from memory.palace.views.review import palace_addresses
from memory.services.actors import Actor
from memory.services.clock import now, set_clock
from memory.services.drafts import Draft
from memory.services.remember import remember
from tests.integration.admin.test_owners import acts, choose, pseudonym
from tests.integration.consolidation.reviewing import fact, opened

ADDRESS = "anna.silva@example.org"


def at(page: str = "", *ids: Any) -> str:
    return reverse(f"loci-admin:review{page and f'-{page}'}", args=ids)


def form(owner: Actor, **more: Any) -> dict[str, Any]:
    return {"owner": str(owner.owner_id), **more}


def state(owner: Actor, item: ReviewItem) -> str:
    with owner_scope(owner.owner_id):
        return str(ReviewItem.objects.get(pk=item.pk).state)


@pytest.fixture
def doubts(alice: Actor) -> list[ReviewItem]:
    """Three doubts of Alice from one source, the oldest first."""
    told = remember(actor=alice, draft=Draft(text="I get a rash from nuts.", source="chat/food")).memory_id
    assert isinstance(told, UUID)
    sure = {"Alice may sail.": 0.2, "Alice may keep bees.": 0.55, "Alice may like figs.": 0.8}
    return [
        opened(alice, payload=fact(text), confidence=confidence, evidence=[(told, "a rash")])
        for text, confidence in sure.items()
    ]


@pytest.fixture
def still() -> Iterator[None]:
    """Let no time pass."""

    class Still:
        moment = now()

        def now(self) -> datetime:
            return self.moment

    set_clock(Still())
    yield
    set_clock(None)


@pytest.fixture
def personal(alice: Actor) -> ReviewItem:
    """A doubt of Alice with personal data in it and behind it."""
    told = remember(actor=alice, draft=Draft(text=f"Write to {ADDRESS} about the invoice.")).memory_id
    return opened(alice, payload=fact(f"Anna is reached at {ADDRESS}."), evidence=[(told, "")])


def test_it_has_every_page_that_the_palace_has() -> None:
    names = {"review", *(f"review-{page}" for page in ("batch", "undo", "item", "decide", "edit", "reveal"))}
    assert {one.name for one in review_addresses} == {one.name for one in palace_addresses} == names


def test_one_item_stands_beside_its_evidence_with_its_keys_and_place(
    staff: Client, alice: Actor, doubts: list[ReviewItem]
) -> None:
    assert "Nothing waits" in staff.get(at()).content.decode()
    choose(staff, alice)
    html = staff.get(at()).content.decode()
    assert "You look at another owner" in html
    assert "1 of 3" in html
    assert "Alice may sail." in html
    assert "a rash" in html
    for key in "aersj":
        assert f'data-key="{key}"' in html
    assert 'data-key="k"' in staff.get(at(), {"item": str(doubts[1].pk)}).content.decode()
    assert "<kbd>j</kbd> <kbd>k</kbd>" in html
    assert "palace/review.js" in html
    assert " style=" not in html
    assert reverse("admin:memory_memory_changelist") in html
    # The login hears of its own doubts only.
    assert "data-review data-queue" not in html
    staff.post(reverse("loci-admin:own"))
    assert "data-review data-queue" in staff.get(at()).content.decode()


def test_it_is_filtered_by_confidence_age_kind_and_source(
    staff: Client, alice: Actor, doubts: list[ReviewItem]
) -> None:
    choose(staff, alice)
    for query, shown, total in (
        ({"from": "50", "to": "60"}, "keep bees", 1),
        ({"order": "doubtful"}, "may sail", 3),
        ({"order": "surest"}, "like figs", 3),
        ({"age": "week", "kind": "fact", "source": "chat"}, "may sail", 3),
    ):
        html = staff.get(at(), query).content.decode()
        assert shown in html, query
        assert f"1 of {total}" in html, query
    for query in ({"age": "older-week"}, {"kind": "merge"}, {"source": "mail"}):
        html = staff.get(at(), query).content.decode()
        assert "Nothing fits these filters" in html, query
        assert f'href="{at()}"' in html
    assert staff.get(at(), {"from": "500"}).status_code == 422
    assert staff.get(at(), {"age": "unheard of"}).status_code == 422


def test_what_staff_decides_is_recorded_as_staffs_and_goes_to_the_next(
    staff: Client, boss: Actor, alice: Actor, doubts: list[ReviewItem]
) -> None:
    first, second, third = doubts
    choose(staff, alice)
    html = staff.get(at()).content.decode()
    assert f'name="following" value="{second.pk}"' in html
    send = form(alice, version="1", following=str(second.pk))
    answer = staff.post(at("decide", first.pk), {**send, "decision": "approve"}, follow=True)
    assert "1 of 2" in answer.content.decode()
    assert "Alice may keep bees." in answer.content.decode()
    staff.post(at("decide", second.pk), {**send, "decision": "reject"})
    staff.post(at("decide", third.pk), {**send, "decision": "snooze", "until": "week"})
    assert [state(alice, one) for one in doubts] == ["approved", "rejected", "snoozed"]
    for verb in ("approve", "reject", "snooze"):
        assert [act.actor for act in acts(alice, verb) if act.object_kind == "review"] == [pseudonym(boss)], verb
    with owner_scope(alice.owner_id):
        assert set(ReviewItem.objects.exclude(decided_by="").values_list("decided_by", flat=True)) == {pseudonym(boss)}
    assert "staff of this server" in staff.get(at("item", first.pk)).content.decode()
    assert acts(boss, "approve") == []


def test_an_edit_is_approved_as_it_stands_in_the_form(
    staff: Client, boss: Actor, alice: Actor, doubts: list[ReviewItem]
) -> None:
    choose(staff, alice)
    address = at("edit", doubts[0].pk)
    html = staff.get(address).content.decode()
    assert "What shall I remember?" in html
    assert "Alice may sail." in html
    typed = form(alice, version="1", content="", kind="fact", category="general", importance="8")
    refused = staff.post(address, typed)
    assert refused.status_code == 422
    assert state(alice, doubts[0]) == "open"
    assert staff.post(address, {**typed, "content": "Alice sails on Sundays."}).status_code == 302
    assert state(alice, doubts[0]) == "approved"
    with owner_scope(alice.owner_id):
        assert "Alice sails on Sundays." in {row.text for row in Memory.objects.all()}
    assert [act.actor for act in acts(alice, "approve")] == [pseudonym(boss)]


def test_a_decision_is_taken_back_within_its_time(
    staff: Client, alice: Actor, boss: Actor, doubts: list[ReviewItem], still: None
) -> None:
    choose(staff, alice)
    staff.post(at("decide", doubts[0].pk), form(alice, version="1", decision="reject"))
    html = staff.get(at()).content.decode()
    assert "data-review-undo=" in html
    assert 'data-key="u"' in html
    # Another owner is shown now: there is nothing to take back here, nor in the own palace.
    staff.post(reverse("loci-admin:own"))
    assert "data-review-undo=" not in staff.get(at()).content.decode()
    assert "data-review-undo=" not in staff.get(reverse("palace:review")).content.decode()
    choose(staff, alice)
    html = staff.post(at("undo"), form(alice, ids=[str(doubts[0].pk)]), follow=True).content.decode()
    assert "Taken back: 1 item waits again." in html
    assert "Alice may sail." in html
    assert state(alice, doubts[0]) == "open"
    assert [act.actor for act in acts(alice, "reopen") if act.object_kind == "review"] == [pseudonym(boss)]


def test_batches_by_source_are_decided_after_a_preview(
    staff: Client, boss: Actor, alice: Actor, doubts: list[ReviewItem]
) -> None:
    choose(staff, alice)
    html = staff.get(at("batch")).content.decode()
    assert "3 items" in html
    assert "source=chat" in html
    assert at("item", doubts[0].pk) in html
    chosen = form(alice, decision="reject", ids=[str(one.pk) for one in doubts[:2]])
    assert "Reject 2 items?" in staff.post(at("batch"), chosen).content.decode()
    assert state(alice, doubts[0]) == "open"
    done = staff.post(at("batch"), {**chosen, "confirmed": "yes"}, follow=True).content.decode()
    assert "2 items were rejected." in done
    assert [state(alice, one) for one in doubts] == ["rejected", "rejected", "open"]
    back = staff.post(f"{at('undo')}?back=batch", form(alice, ids=chosen["ids"]), follow=True)
    assert "3 items" in back.content.decode()
    assert staff.post(at("batch"), form(alice, decision="explode", ids=chosen["ids"])).status_code == 422


def test_it_is_masked_until_staff_says_why_it_is_revealed(
    staff: Client, boss: Actor, alice: Actor, personal: ReviewItem
) -> None:
    choose(staff, alice)
    for address in (at(), at("batch"), at("item", personal.pk)):
        html = staff.get(address).content.decode()
        assert "anna.silva" not in html, address
        assert "[EMAIL]" in html, address
    for reason in ("", "curious", "asked"):
        answer = staff.post(at("reveal", personal.pk), form(alice, reason=reason), follow=True).content.decode()
        assert "anna.silva" not in answer
        assert "Say why you reveal" in answer
    assert acts(alice, "reveal") == []
    shown = staff.post(at("reveal", personal.pk), form(alice, reason="support")).content.decode()
    assert ADDRESS in shown
    revealed = acts(alice, "reveal")
    assert {(act.actor, act.reason) for act in revealed} == {(pseudonym(boss), "support")}
    assert {act.object_kind for act in revealed} == {"review", "memory"}
    assert staff.get(at("reveal", personal.pk)).status_code == 302


def test_nothing_is_revealed_for_no_reason_where_no_memory_is_behind(staff: Client, alice: Actor) -> None:
    bare = opened(alice, payload=fact(f"Anna is reached at {ADDRESS}."))
    choose(staff, alice)
    answer = staff.post(at("reveal", bare.pk), form(alice), follow=True).content.decode()
    assert "anna.silva" not in answer
    assert acts(alice, "reveal") == []


def test_a_form_with_personal_data_is_shown_for_a_reason(
    staff: Client, boss: Actor, alice: Actor, personal: ReviewItem
) -> None:
    choose(staff, alice)
    address = at("edit", personal.pk)
    asked = staff.get(address)
    assert asked.status_code == 200
    assert "Why you look at it is recorded" in asked.content.decode()
    assert "anna.silva" not in asked.content.decode()
    refused = staff.post(address, form(alice, reason="curious"))
    assert refused.status_code == 422
    assert acts(alice, "reveal") == []
    shown = staff.post(address, form(alice, reason="fault")).content.decode()
    assert ADDRESS in shown
    assert 'name="reason" value="fault"' in shown
    assert {(act.actor, act.reason) for act in acts(alice, "reveal")} == {(pseudonym(boss), "fault")}
    typed = form(alice, reason="fault", version="1", content="Anna has an address.", kind="fact", category="general")
    assert staff.post(address, {**typed, "importance": "8"}).status_code == 302
    assert state(alice, personal) == "approved"


def test_the_own_doubts_are_revealed_as_in_the_palace(staff: Client, boss: Actor) -> None:
    own = opened(boss, payload=fact(f"Anna is reached at {ADDRESS}."))
    assert "choose a reason" not in staff.get(at()).content.decode()
    assert ADDRESS in staff.post(at("reveal", own.pk), form(boss)).content.decode()
    assert [(act.actor, act.reason) for act in acts(boss, "reveal")] == [("person", "asked")]


def test_a_form_of_the_owner_that_was_chosen_before_decides_nothing(
    staff: Client, boss: Actor, alice: Actor, doubts: list[ReviewItem]
) -> None:
    choose(staff, alice)
    one = doubts[0].pk
    for address, fields in (
        (at("decide", one), {"version": "1", "decision": "approve"}),
        (at("edit", one), {"version": "1", "content": "x"}),
        (at("reveal", one), {"reason": "support"}),
        (at("undo"), {"ids": str(one)}),
        (at("batch"), {"ids": str(one), "decision": "approve", "confirmed": "yes"}),
    ):
        for owner in ({}, {"owner": str(boss.owner_id)}):
            answer = staff.post(address, {**fields, **owner})
            assert answer.status_code == 409, address
            assert "admin.other_owner" in answer.content.decode()
    assert state(alice, doubts[0]) == "open"


def test_what_is_wrong_is_said(staff: Client, alice: Actor, doubts: list[ReviewItem]) -> None:
    choose(staff, alice)
    address = at("decide", doubts[0].pk)
    html = staff.post(address, form(alice, version="1", decision="explode"), follow=True).content.decode()
    assert "Approve it, reject it, or put it off." in html
    html = staff.post(address, form(alice, version="7", decision="approve"), follow=True).content.decode()
    assert "Somebody has decided or changed this meanwhile" in html
    assert state(alice, doubts[0]) == "open"
    assert staff.post(at("undo"), form(alice)).status_code == 422


def test_doubts_of_others_are_not_there(staff: Client, boss: Actor, doubts: list[ReviewItem]) -> None:
    for page in ("item", "edit"):
        assert staff.get(at(page, doubts[0].pk)).status_code == 404
    staff.post(at("decide", doubts[0].pk), form(boss, version="1", decision="approve"))
    assert staff.post(at("reveal", doubts[0].pk), form(boss)).status_code == 404


def test_who_is_no_staff_gets_none_of_it(palace: Client, alice: Actor, doubts: list[ReviewItem]) -> None:
    one = doubts[0].pk
    for address in (at(), at("batch"), at("item", one), at("edit", one), at("reveal", one)):
        assert palace.get(address).status_code == 403, address
    assert palace.post(at("decide", one), form(alice, version="1", decision="approve")).status_code == 403
    assert state(alice, doubts[0]) == "open"


def test_the_owner_is_spoken_of_and_not_to(staff: Client, boss: Actor, alice: Actor, doubts: list[ReviewItem]) -> None:
    assert "you and all your agents" in _item(staff, opened(boss))
    choose(staff, alice)
    html = _item(staff, doubts[0])
    assert "the owner and all agents" in html
    assert "you and all your agents" not in html


def _item(client: Client, item: ReviewItem) -> str:
    return client.get(at("item", item.pk)).content.decode()


def test_the_review_asks_no_more_for_more_doubts(
    staff: Client, alice: Actor, doubts: list[ReviewItem], django_assert_max_num_queries: Any
) -> None:
    choose(staff, alice)
    pages = (at(), at("batch"), at("item", doubts[0].pk))
    few: dict[str, int] = {}
    for page in pages:
        staff.get(page)
        with django_assert_max_num_queries(100) as asked:
            staff.get(page)
        few[page] = len(asked)
    told = remember(actor=alice, draft=Draft(text="Said of lamps.", source="chat/lamps")).memory_id
    for number in range(40):
        opened(alice, payload=fact(f"The lamp number {number} is red."), evidence=[(told, "lamps")])
    for page in pages:
        # Once for each: that there is a neighbour before it, a memory like it, and its standing.
        with django_assert_max_num_queries(few[page] + 3):
            staff.get(page)


@pytest.mark.parametrize("kind", [ReviewKind.MERGE, ReviewKind.CONTRADICTION])
def test_what_cannot_be_edited_says_so(staff: Client, boss: Actor, kind: ReviewKind) -> None:
    pair = [remember(actor=boss, draft=Draft(text=text)).memory_id for text in ("Ana is in Rome.", "Ana is in Lyon.")]
    both = {"older": str(pair[0]), "newer": str(pair[1])}
    merge = {"first": str(pair[0]), "second": str(pair[1]), "names": ["Ana", "Anna"], "rule": "near"}
    item = opened(boss, kind, both if kind == ReviewKind.CONTRADICTION else merge)
    answer = staff.get(at("edit", item.pk), follow=True).content.decode()
    assert "There is nothing in it that can be changed" in answer


def test_agents_and_sources_stand_masked_in_lists_and_links(
    staff: Client, alice: Actor, make_agent: Callable[..., Any]
) -> None:
    agent, _ = make_agent(alice, "gina.agent@example.com")
    told = remember(actor=agent, draft=Draft(text="Lamps are old.", source="user:frank.src@example.com/chat")).memory_id
    assert isinstance(told, UUID)
    opened(alice, payload=fact("Lamps are old."), evidence=[(told, "")])
    opened(alice, payload=fact("Boats are blue."))
    choose(staff, alice)
    batch = staff.get(at("batch"))
    links = {heap.label: heap.address for heap in batch.context["heaps"] if heap.sort == "source"}
    assert set(links) == {"user:[EMAIL]", "user:[EMAIL]/chat"}
    link = links["user:[EMAIL]"]
    pages = [batch, staff.get(at()), staff.get(link), staff.get(link.replace("batch/", ""))]
    pages += [staff.get(reverse(f"admin:memory_{name}_changelist")) for name in ("memory", "agent", "agentkey")]
    for page in pages:
        html = page.content.decode()
        assert "gina.agent" not in html
        assert "frank.src" not in html
        assert "[EMAIL]" in html
    found = pages[2].content.decode()
    assert "1 item<" in found
    assert "selected>user:[EMAIL]</option>" in found
    assert [heap.label for heap in pages[2].context["heaps"] if heap.chosen] == ["user:[EMAIL]"]
