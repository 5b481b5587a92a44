"""Review: every kind of item with every decision and its way back, filters, batches, masks, and who sees what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse

from memory.models import AuditEvent, Entity, Memory, ReviewItem, ReviewKind, ReviewState, Status, owner_scope
from memory.palace.review_flash import UNDO_SECONDS
from memory.services.actors import Actor, Target
from memory.services.clock import set_clock
from memory.services.drafts import Draft
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.graph.relations import RelationDraft, add_relation
from memory.services.graph.writing import Reference
from memory.services.remember import remember
from memory.services.review_decisions import reject
from memory.services.reviews import open_review
from tests.integration.consolidation.reviewing import fact, opened

pytestmark = pytest.mark.django_db

Store = Callable[..., UUID]
NAMED = {"name": "Ana", "type": "person"}


@pytest.fixture
def later() -> Iterator[Callable[[float], None]]:
    """Give a function that moves the clock on by some seconds."""

    class Ahead:
        by = timedelta(0)

        def now(self) -> datetime:
            return datetime.now(UTC) + self.by

    ahead = Ahead()
    set_clock(ahead)

    def move(seconds: float) -> None:
        ahead.by += timedelta(seconds=seconds)

    yield move
    set_clock(None)


def of_each_kind(actor: Actor, store: Store) -> dict[str, ReviewItem]:
    """Open an item of every kind that is made."""
    turn = store("Ana said that she moved to Rome because of the sea.")
    older, newer = store("Ana lives in Whitefield."), store("Ana lives in Rome.")
    with owner_scope(actor.owner_id):
        pair = [
            merge_entity(actor=actor, draft=EntityDraft(name=name)).entity_id for name in ("Alice", "Alice Johnson")
        ]
    said = [(turn, "moved to Rome")]
    payloads: dict[str, dict[str, Any]] = {
        ReviewKind.FACT: fact("Ana moved to Rome.", entities=["Ana"], topics=["moving"]),
        ReviewKind.ENTITY: {"name": "Quill", "type": "tool", "aliases": ["Quill CLI"], "properties": {"made by": "Bo"}},
        ReviewKind.RELATION: {"source": NAMED, "label": "lives_in", "target": {"name": "Rome"}, "weight": 0.5},
        ReviewKind.EVENT: {"text": "Ana moved.", "occurred_at": "2026-03-02T10:00:00Z", "participants": [NAMED]},
        ReviewKind.CAUSE: {"cause": "Ana likes the sea", "effect": "Ana moved", "cause_entity": "Ana"},
        ReviewKind.MERGE: {
            "first": str(pair[0]), "second": str(pair[1]), "names": ["Alice", "Alice Johnson"], "rule": "part",
            "score": 0.82,
        },
        ReviewKind.CONTRADICTION: {"older": str(older), "newer": str(newer), "reason": "contested"},
        ReviewKind.DISPUTE: {"memory": str(turn), "words": "She moved to Milan."},
    }  # fmt: skip
    reasons = {ReviewKind.MERGE: "merge.part", ReviewKind.CONTRADICTION: "contested", ReviewKind.DISPUTE: "disputed"}
    items = {}
    for kind, payload in payloads.items():
        with owner_scope(actor.owner_id):
            item = open_review(
                actor=actor,
                kind=ReviewKind(kind),
                reason=reasons.get(ReviewKind(kind), "confidence.low"),
                confidence=0.4,
                payload=payload,
                target=Target("owner", actor.owner_id),
                evidence=said if kind != ReviewKind.MERGE else [],
            )
        assert item is not None
        items[kind] = item
    return items


def state_of(actor: Actor, item: ReviewItem) -> str:
    with owner_scope(actor.owner_id):
        return str(ReviewItem.objects.get(pk=item.pk).state)


def decide(client: Client, item: ReviewItem, decision: str, **fields: str) -> Any:
    form = {"version": str(item.version), "decision": decision, "following": "", **fields}
    return client.post(reverse("palace:review-decide", args=[item.pk]), form)


WORDS = {
    ReviewKind.FACT: ["Ana moved to Rome.", "Shall I remember this?", "moved to Rome"],
    ReviewKind.ENTITY: ["Quill", "Quill CLI", "made by", "Names that are not known yet"],
    ReviewKind.RELATION: ["Ana lives in Rome", "Is this how they stand"],
    ReviewKind.EVENT: ["Ana moved.", "2026-03-02 10:00 UTC", "Took part"],
    ReviewKind.CAUSE: ["Ana likes the sea", "Because", "Therefore", "About"],
    ReviewKind.MERGE: ["Alice Johnson", "may mean the same", "One name is a part of the other."],
    ReviewKind.CONTRADICTION: ["Ana lives in Whitefield.", "Ana lives in Rome.", "Older", "Newer", "weighty"],
    ReviewKind.DISPUTE: ["because of the sea", "She moved to Milan.", "What is disputed"],
}


@pytest.mark.parametrize("kind", [kind for kind in ReviewKind if kind != ReviewKind.SKILL])
@pytest.mark.parametrize("decision", ["approve", "reject", "snooze"])
def test_every_kind_is_shown_decided_and_taken_back(
    palace: Client, alice: Actor, store: Store, kind: str, decision: str
) -> None:
    item = of_each_kind(alice, store)[kind]
    page = palace.get(reverse("palace:review"), {"item": str(item.pk)})
    text = page.content.decode()
    for word in WORDS[ReviewKind(kind)]:
        assert word in text, word
    assert " of 8" in text

    answer = decide(palace, item, decision, until="day")

    assert answer.status_code == 302
    expected = {"approve": "approved", "reject": "rejected", "snooze": "snoozed"}[decision]
    assert state_of(alice, item) == expected
    undo = palace.get(answer["Location"])
    assert f'value="{item.pk}"' in undo.content.decode(), "the next page offers to take it back"
    decided = palace.get(reverse("palace:review"), {"state": expected})
    word = "Put off; it waits again" if decision == "snooze" else "Undo this decision"
    assert word in decided.content.decode()

    palace.post(reverse("palace:review-undo"), {"ids": [str(item.pk)]})

    assert state_of(alice, item) == ReviewState.OPEN


def test_the_next_item_follows_and_the_place_is_told(palace: Client, alice: Actor, store: Store) -> None:
    items = list(of_each_kind(alice, store).values())
    page = palace.get(reverse("palace:review"))
    assert page.context["place"].number == 1
    assert page.context["place"].total == 8
    following = page.context["following"]

    answer = decide(palace, items[0], "reject", following=following)
    after = palace.get(answer["Location"])

    assert str(after.context["item"].id) == following
    assert (after.context["place"].number, after.context["place"].total) == (1, 7)
    second = palace.get(after.context["after"])
    assert second.context["place"].number == 2
    assert second.context["before"].endswith(following)


def test_filters_and_orders(palace: Client, alice: Actor, store: Store, make_agent: Callable[..., Any]) -> None:
    writer, _ = make_agent(alice, "scribe")
    told = remember(actor=writer, draft=Draft(text="Bo collects stamps.", source="chat/stamps")).memory_id
    sure = opened(alice, payload=fact("Bo collects stamps."), evidence=[(told, "")], confidence=0.55)
    guess = opened(alice, payload=fact("Bo collects coins."), confidence=0.2)
    name = opened(alice, ReviewKind.ENTITY, {"name": "Bo", "type": "person"}, confidence=0.5)

    def shown(**query: Any) -> list[UUID]:
        page = palace.get(reverse("palace:review-batch"), query)
        assert page.status_code == 200
        return [row.view.id for row in page.context["rows"]]

    assert shown() == [sure.pk, guess.pk, name.pk]
    assert shown(order="newest") == [name.pk, guess.pk, sure.pk]
    assert shown(order="doubtful") == [guess.pk, name.pk, sure.pk]
    assert shown(order="surest") == [sure.pk, name.pk, guess.pk]
    assert shown(kind=["fact"]) == [sure.pk, guess.pk]
    assert shown(kind=["fact", "entity"], to="40") == [guess.pk]
    assert shown(agent=str(writer.agent_id)) == [sure.pk]
    assert shown(source="chat") == [sure.pk]
    assert shown(source="elsewhere") == []
    assert shown(age="week") == [sure.pk, guess.pk, name.pk]
    assert shown(age="older-week") == []
    assert shown(state="snoozed") == []
    heaps = palace.get(reverse("palace:review-batch")).context["heaps"]
    # Those with as many items come in the order of their keyed labels, which nobody foresees.
    assert sorted((heap.sort, heap.label, heap.items) for heap in heaps) == [
        ("agent", "scribe", 1), ("source", "chat", 1), ("source", "chat/stamps", 1),
    ]  # fmt: skip


def test_a_link_names_no_source_that_the_list_masks(
    palace: Client, alice: Actor, make_agent: Callable[..., Any]
) -> None:
    agent, _ = make_agent(alice, "gina.agent@example.com")
    told = remember(actor=agent, draft=Draft(text="Bo collects stamps.", source="user:frank.src@example.com")).memory_id
    opened(alice, payload=fact("Bo collects stamps."), evidence=[(told, "")])
    opened(alice, payload=fact("Bo collects coins."))
    page = reverse("palace:review-batch")
    (heap,) = [heap for heap in palace.get(page).context["heaps"] if heap.sort == "source"]
    assert heap.label == "user:[EMAIL]"
    for address in (page, heap.address, heap.address.replace("batch/", "")):
        html = palace.get(address).content.decode()
        assert "frank.src" not in html
        assert "gina.agent@example.com" in html
    found = palace.get(heap.address)
    assert [row.view.statement for row in found.context["rows"]] == ["Bo collects stamps."]
    assert found.context["origin"].label == "user:[EMAIL]"
    assert palace.get(page, {"origin": "7"}).context["origin"].label == "a source that is not there"
    assert palace.get(page, {"source": "USER:frank.src@example.com"}).context["total"] == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"state": "lost"}, "state.invalid"),
        ({"kind": "rumour"}, "kind.invalid"),
        ({"order": "random"}, "order.invalid"),
        ({"from": "much"}, "unit.invalid"),
        ({"from": "80", "to": "20"}, "unit.invalid"),
        ({"age": "aeon"}, "age.unknown"),
        ({"agent": "scribe"}, "id.invalid"),
        ({"item": "first"}, "id.invalid"),
        ({"origin": "chat"}, "id.invalid"),
        ({"origin": "9" * 30}, "id.invalid"),
    ],
)
def test_filters_that_there_are_not(palace: Client, query: dict[str, str], code: str) -> None:
    answer = palace.get(reverse("palace:review"), query)
    assert answer.status_code == 422
    assert code in answer.content.decode()


def test_a_changed_proposal_is_approved(palace: Client, alice: Actor, store: Store) -> None:
    item = opened(alice, payload=fact("Alice is allergic to nuts."), evidence=[(store("I get a rash from nuts."), "")])
    form = {
        "version": "1", "following": "", "content": "Alice is allergic to peanuts.", "kind": "preference",
        "category": "general", "importance": "9", "topics": "health, food", "occurred_at": "", "valid_from": "",
        "valid_until": "",
    }  # fmt: skip

    answer = palace.post(reverse("palace:review-edit", args=[item.pk]), form)

    assert answer.status_code == 302
    with owner_scope(alice.owner_id):
        made = Memory.objects.get(pk=UUID(ReviewItem.objects.get(pk=item.pk).outcome["memory"]))
        assert (made.text, made.kind, made.importance) == ("Alice is allergic to peanuts.", "preference", 0.9)
        assert made.topics == ["health", "food"]


@pytest.mark.parametrize(
    ("kind", "fields", "changes"),
    [
        (ReviewKind.ENTITY, {"name": "Quill 2", "type": "project"}, {"name": "Quill 2", "type": "project"}),
        (
            ReviewKind.RELATION,
            {"target": "Milan", "label": "works in"},
            {"target": {"name": "Milan", "type": "concept"}, "label": "works in"},
        ),
        (
            ReviewKind.EVENT,
            {"content": "Ana left.", "participants": "Ana, Bo"},
            {"text": "Ana left.", "participants": [NAMED, {"name": "Bo", "type": "concept"}]},
        ),
        (ReviewKind.CAUSE, {"effect": "Ana left"}, {"effect": "Ana left"}),
    ],
)
def test_only_changed_fields_are_changes(
    palace: Client, alice: Actor, store: Store, kind: str, fields: dict[str, str], changes: dict[str, Any]
) -> None:
    item = of_each_kind(alice, store)[kind]
    page = palace.get(reverse("palace:review-edit", args=[item.pk]))
    form = {name: value for name, value in page.context["form"].initial.items() if value is not False}

    answer = palace.post(
        reverse("palace:review-edit", args=[item.pk]), {**form, **fields, "version": "1", "following": ""}
    )

    assert answer.status_code == 302, answer.content.decode()
    with owner_scope(alice.owner_id):
        assert ReviewItem.objects.get(pk=item.pk).outcome["changes"] == changes


def test_a_field_that_cannot_be_used_is_marked(palace: Client, alice: Actor) -> None:
    item = opened(alice)
    form = {"version": "1", "content": " ", "kind": "fact", "category": "general", "importance": "11"}
    answer = palace.post(reverse("palace:review-edit", args=[item.pk]), form)
    assert answer.status_code == 422
    assert "Choose a whole number from 1 to 10." in answer.content.decode()

    answer = palace.post(reverse("palace:review-edit", args=[item.pk]), {**form, "importance": "5"})
    assert answer.status_code == 422
    assert answer.context["form"].errors["content"]
    assert state_of(alice, item) == ReviewState.OPEN


def test_what_somebody_else_decided_meanwhile_stays(palace: Client, alice: Actor) -> None:
    item = opened(alice)
    reject(actor=alice, item_id=item.pk)

    answer = decide(palace, item, "approve")

    assert answer.status_code == 302
    page = palace.get(answer["Location"])
    assert "Somebody has decided or changed this meanwhile; it is now: rejected." in page.content.decode()
    assert state_of(alice, item) == ReviewState.REJECTED


def test_snoozing_until_a_date(palace: Client, alice: Actor) -> None:
    item = opened(alice)
    decide(palace, item, "snooze", until="date", date="2020-01-01")
    assert state_of(alice, item) == ReviewState.OPEN, "the past is refused"
    decide(palace, item, "snooze", until="date")
    assert state_of(alice, item) == ReviewState.OPEN
    decide(palace, item, "snooze", until="date", date="2199-01-01")
    assert state_of(alice, item) == ReviewState.SNOOZED
    page = palace.get(reverse("palace:review"), {"state": "snoozed"}).content.decode()
    assert "Put off; it waits again" in page
    assert palace.get(reverse("palace:review")).context["item"] is None


def test_undoing_is_offered_for_ten_seconds(palace: Client, alice: Actor, later: Callable[[float], None]) -> None:
    item = opened(alice)
    decide(palace, item, "reject")
    assert palace.get(reverse("palace:review")).context["undoable"].ids == (str(item.pk),)
    later(UNDO_SECONDS + 1)
    assert palace.get(reverse("palace:review")).context["undoable"] is None
    assert "Undo this decision" in palace.get(reverse("palace:review-item", args=[item.pk])).content.decode()


def test_a_batch_is_counted_first_then_decided_and_taken_back(palace: Client, alice: Actor, store: Store) -> None:
    items = of_each_kind(alice, store)
    chosen = [str(items[kind].pk) for kind in (ReviewKind.FACT, ReviewKind.ENTITY, ReviewKind.MERGE)]
    address = reverse("palace:review-batch")

    preview = palace.post(address, {"ids": chosen, "decision": "approve"})
    assert "Approve 3 items?" in preview.content.decode()
    assert [(effect.kind, effect.items) for effect in preview.context["effects"]] == [
        ("Name", 1), ("Fact", 1), ("Same or not", 1),
    ]  # fmt: skip
    assert all(state_of(alice, item) == ReviewState.OPEN for item in items.values())

    answer = palace.post(address, {"ids": chosen, "decision": "approve", "confirmed": "yes"})
    assert [state_of(alice, items[kind]) for kind in (ReviewKind.FACT, ReviewKind.ENTITY, ReviewKind.MERGE)] == (
        ["approved"] * 3
    )
    undoable = palace.get(answer["Location"]).context["undoable"]
    assert set(undoable.ids) == set(chosen)
    palace.post(reverse("palace:review-undo"), {"ids": chosen})
    assert all(state_of(alice, item) == ReviewState.OPEN for item in items.values())


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"decision": "approve"}, "Choose between 1 and 100 items."),
        ({"decision": "burn", "ids": [str(uuid4())]}, "Approve them, reject them, or put them off."),
        ({"decision": "reject", "ids": ["x" * 90]}, "None of these items waits any more."),
    ],
)
def test_batches_that_cannot_be(palace: Client, form: dict[str, Any], code: str) -> None:
    answer = palace.post(reverse("palace:review-batch"), form)
    assert answer.status_code == 422
    assert code in answer.content.decode()


def test_personal_data_is_masked_until_it_is_revealed(palace: Client, alice: Actor, store: Store) -> None:
    turn = store("Write to anna.silva@example.org about the invoice.")
    item = opened(alice, payload=fact("Anna is reached at anna.silva@example.org."), evidence=[(turn, "")])
    for address in (reverse("palace:review"), reverse("palace:review-batch")):
        assert "anna.silva" not in palace.get(address).content.decode()
    assert "[EMAIL]" in palace.get(reverse("palace:review")).content.decode()

    revealed = palace.post(reverse("palace:review-reveal", args=[item.pk]))

    assert "anna.silva@example.org" in revealed.content.decode()
    with owner_scope(alice.owner_id):
        kinds = AuditEvent.objects.filter(verb="reveal").values_list("object_kind", "object_id")
        assert set(kinds) == {("review", item.pk), ("memory", turn)}
    assert palace.get(reverse("palace:review-reveal", args=[item.pk])).status_code == 302


def test_a_form_with_personal_data_is_recorded_as_revealed(palace: Client, alice: Actor, store: Store) -> None:
    turn = store("Write to anna.silva@example.org about the invoice.")
    item = opened(alice, payload=fact("Anna is reached at anna.silva@example.org."), evidence=[(turn, "")])
    assert "anna.silva@example.org" in palace.get(reverse("palace:review-edit", args=[item.pk])).content.decode()
    with owner_scope(alice.owner_id):
        assert set(AuditEvent.objects.filter(verb="reveal").values_list("reason", flat=True)) == {"edited"}


def test_what_it_touches_stands_beside_it(palace: Client, alice: Actor, store: Store) -> None:
    with owner_scope(alice.owner_id):
        ana, rome = (
            merge_entity(actor=alice, draft=EntityDraft(name=name, type=type_)).entity_id
            for name, type_ in (("Ana", "person"), ("Whitefield", "concept"))
        )
    add_relation(
        actor=alice,
        draft=RelationDraft(source=Reference(entity_id=ana), label="lives_in", target=Reference(entity_id=rome)),
    )
    opened(alice, ReviewKind.RELATION, {"source": NAMED, "label": "lives_in", "target": {"name": "Rome"}})

    text = palace.get(reverse("palace:review")).content.decode()

    assert "This ends:" in text
    assert "Ana lives in Whitefield" in text
    assert "Names that are not known yet:" in text


def test_another_owner_sees_and_decides_nothing(palace: Client, stranger: Client, alice: Actor, store: Store) -> None:
    item = of_each_kind(alice, store)[ReviewKind.FACT]
    for name in ("review-item", "review-edit"):
        assert stranger.get(reverse(f"palace:{name}", args=[item.pk])).status_code == 404
    assert stranger.post(reverse("palace:review-reveal", args=[item.pk])).status_code == 404
    decide(stranger, item, "approve")
    stranger.post(reverse("palace:review-undo"), {"ids": [str(item.pk)]})
    stranger.post(reverse("palace:review-batch"), {"ids": [str(item.pk)], "decision": "reject", "confirmed": "yes"})
    assert state_of(alice, item) == ReviewState.OPEN
    assert stranger.get(reverse("palace:review"), {"item": str(item.pk)}).context["item"] is None
    assert stranger.get(reverse("palace:review-batch")).context["heaps"] == []


def test_the_list_asks_no_more_for_more_rows(
    palace: Client, alice: Actor, store: Store, django_assert_max_num_queries: Any
) -> None:
    def fill(count: int, word: str) -> None:
        turn = store(f"What was said about {word}.")
        for number in range(count):
            opened(alice, payload=fact(f"The {word} number {number} is red."), evidence=[(turn, "")])

    fill(2, "kettle")
    palace.get(reverse("palace:review-batch"))
    with django_assert_max_num_queries(100) as few:
        palace.get(reverse("palace:review-batch"))
    with django_assert_max_num_queries(100) as one:
        palace.get(reverse("palace:review"))
    fill(30, "lamp")
    with django_assert_max_num_queries(len(few)):
        palace.get(reverse("palace:review-batch"))
    with django_assert_max_num_queries(len(one) + 3):
        palace.get(reverse("palace:review"))


def test_pages_of_the_list(palace: Client, alice: Actor) -> None:
    for number in range(53):
        opened(alice, payload=fact(f"The kettle number {number} is red."))
    first = palace.get(reverse("palace:review-batch"))
    assert len(first.context["rows"]) == 50
    second = palace.get(f"{reverse('palace:review-batch')}{first.context['next']}")
    assert len(second.context["rows"]) == 3
    assert not {row.view.id for row in first.context["rows"]} & {row.view.id for row in second.context["rows"]}


def test_the_empty_queue_says_what_comes_here(palace: Client) -> None:
    assert "Nothing waits" in palace.get(reverse("palace:review")).content.decode()
    assert "Nothing fits these filters" in palace.get(reverse("palace:review"), {"kind": "fact"}).content.decode()
    assert "Nothing is put off" in palace.get(reverse("palace:review"), {"state": "snoozed"}).content.decode()


def test_hostile_words_stay_text(palace: Client, alice: Actor, store: Store) -> None:
    words = "<script>alert(1)</script> javascript:alert(1) \u202e"
    turn = store(words)
    opened(alice, payload=fact(words), evidence=[(turn, words)])
    opened(alice, ReviewKind.ENTITY, {"name": "<b>Bo</b>", "type": "person", "aliases": ["<i>x</i>"]})
    for address in (
        reverse("palace:review"),
        reverse("palace:review-batch"),
        f"{reverse('palace:review')}?order=newest",
    ):
        text = palace.get(address).content.decode()
        assert "<script>alert" not in text
        assert "<b>Bo" not in text


def test_an_item_of_one_agent_says_who_reads_it(palace: Client, alice: Actor, make_agent: Callable[..., Any]) -> None:
    agent, _ = make_agent(alice, "scribe")
    with owner_scope(alice.owner_id):
        open_review(
            actor=alice, kind=ReviewKind.FACT, reason="confidence.low", confidence=0.3, payload=fact(),
            target=Target("agent", agent.agent_id),
        )  # fmt: skip
    assert "you and scribe" in palace.get(reverse("palace:review")).content.decode()


def test_a_merge_whose_entity_is_gone_says_so(palace: Client, alice: Actor, store: Store) -> None:
    item = of_each_kind(alice, store)[ReviewKind.MERGE]
    with owner_scope(alice.owner_id):
        Entity.objects.filter(pk=UUID(item.payload["first"])).delete()
    assert "It is not there any more." in palace.get(reverse("palace:review-item", args=[item.pk])).content.decode()
    answer = decide(palace, item, "approve")
    assert "One of the two entities is not there any more." in palace.get(answer["Location"]).content.decode()
    with owner_scope(alice.owner_id):
        assert not Memory.objects.filter(status=Status.ARCHIVED).exists()
