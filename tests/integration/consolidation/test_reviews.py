"""Review items: one doubt is one item, seen by those who may read its scope, gone with what it was drawn from."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memory.errors import InvalidInput, LociError, NotFound, TooLarge
from memory.ids import new_id
from memory.models import ReviewEvidence, ReviewItem, ReviewKind, ReviewState, owner_scope
from memory.services.actors import Actor, Target
from memory.services.changes import change_memory
from memory.services.retirement import delete_memory, erase_due
from memory.services.reviews import count_open, get_review, list_reviews
from tests.integration.consolidation.reviewing import doubt, fact, opened
from tests.integration.graph.conftest import entity, memory, time  # noqa: F401
from tests.integration.graph.moments import FixedClock, day

ME = ReviewKind.MERGE


def ids(actor: Actor, **options: Any) -> list[Any]:
    return [one.item.pk for one in list_reviews(actor=actor, **options)]


def test_the_same_doubt_is_one_item_and_collects_its_evidence(alice: Actor) -> None:
    first, second = memory(alice, "No peanuts for me."), memory(alice, "Peanuts make me ill.")
    item = opened(alice, evidence=[(first, "No peanuts"), (first, "again"), (new_id(), "gone")])
    again = fact("  Alice is ALLERGIC to   peanuts.", confidence=0.5, turns=["another"])
    assert doubt(alice, payload=again, evidence=[(second, "ill"), (first, "No peanuts")]) is None
    found = get_review(actor=alice, item_id=item.pk)
    assert {(one.memory_id, one.text) for one in found.evidence} == {(first, "No peanuts"), (second, "ill")}
    assert (found.state, found.item.payload["confidence"], found.item.version) == ("open", 0.4, 1)
    assert opened(alice, payload=fact("Something else entirely."))
    assert opened(alice, ReviewKind.EVENT, {"text": fact()["text"], "occurred_at": None})


def test_the_statements_of_a_contradiction_are_told_to_those_who_may_read_them(
    alice: Actor, make_agent: Callable[..., Any]
) -> None:
    writer, _ = make_agent(alice, "writer")
    reader, _ = make_agent(alice, "reader")
    older = memory(writer, "Alice loves pizza.", scope="owner", occurred_at=day("2025-01-01"))
    newer = memory(writer, f"Alice hates pizza {'!' * 600}", scope="owner", occurred_at=day("2026-01-01"))
    payload = {"older": str(older), "newer": str(newer), "reason": "polarity"}
    item = opened(alice, ReviewKind.CONTRADICTION, payload, evidence=[(newer, ""), (older, "")])
    told = {one.role: one for one in get_review(actor=reader, item_id=item.pk).evidence}
    assert (told["older"].memory_id, told["older"].text, told["older"].occurred_at) == (
        older, "Alice loves pizza.", day("2025-01-01"),
    )  # fmt: skip
    assert (told["newer"].occurred_at, len(told["newer"].text)) == (day("2026-01-01"), 500)
    change_memory(actor=writer, memory_id=older, changes={}, scope="agent")
    for actor, roles in ((reader, ["newer"]), (writer, ["newer", "older"]), (alice, ["newer", "older"])):
        [found] = list_reviews(actor=actor)
        assert sorted(one.role or "" for one in found.evidence) == roles


def test_a_cause_is_told_with_its_sentence(alice: Actor) -> None:
    said = memory(alice, "We met at noon. The match was cancelled because of heavy  rain. Then we went home.")
    led = {"cause": "Heavy rain", "effect": "the match was cancelled", "cause_entity": None, "effect_entity": None}
    item = opened(alice, ReviewKind.CAUSE, led, evidence=[(said, "")])
    [found] = get_review(actor=alice, item_id=item.pk).evidence
    assert (found.text, found.role) == ("The match was cancelled because of heavy  rain.", None)
    other = opened(alice, ReviewKind.CAUSE, {**led, "cause": "snow", "effect": "frost"}, evidence=[(said, "")])
    [whole] = get_review(actor=alice, item_id=other.pk).evidence
    assert whole.text.startswith("We met at noon.")


@pytest.mark.parametrize("state", [ReviewState.REJECTED, ReviewState.APPROVED])
def test_what_was_decided_does_not_come_back(alice: Actor, state: str) -> None:
    said = memory(alice, "No peanuts for me.")
    item = opened(alice)
    with owner_scope(alice.owner_id):
        ReviewItem.objects.filter(pk=item.pk).update(state=state)
    assert doubt(alice, evidence=[(said, "No peanuts")]) is None
    found = get_review(actor=alice, item_id=item.pk)
    assert (found.state, found.evidence) == (state, ())


def test_a_merge_is_one_doubt_from_either_side(alice: Actor) -> None:
    one, other = str(new_id()), str(new_id())
    opened(alice, ME, {"first": one, "second": other, "names": ["Wren", "Wrenn"], "score": 0.9, "rule": "score"})
    assert doubt(alice, ME, {"first": other, "second": one, "names": [], "score": 0.8, "rule": "score"}) is None


def test_items_are_listed_newest_first_by_state_kind_and_entity(alice: Actor, time: FixedClock) -> None:  # noqa: F811
    said = memory(alice, "Al lives in Lisbon.")
    al = entity(alice, "Al", memory_id=said)
    items = []
    for number in range(3):
        time.moment += timedelta(hours=1)
        evidence = [(said, "lives")] if number == 1 else []
        items.append(opened(alice, payload=fact(f"Fact {number} of Al."), evidence=evidence).pk)
    time.moment += timedelta(hours=1)
    event = opened(alice, ReviewKind.EVENT, {"text": "Al moved.", "occurred_at": "2026-01-01T00:00:00Z"}).pk
    assert ids(alice) == [event, *reversed(items)]
    assert ids(alice, kinds=["fact"], size=2) == [items[2], items[1]]
    last = list_reviews(actor=alice, kinds=["fact"], size=2)[-1].item
    assert ids(alice, kinds=["fact"], after=(last.created_at, last.pk)) == [items[0]]
    assert ids(alice, entity_id=al) == [items[1]]
    with owner_scope(alice.owner_id):
        ReviewItem.objects.filter(pk=items[0]).update(
            state=ReviewState.SNOOZED, snoozed_until=time.moment + timedelta(days=1)
        )
        assert count_open(alice) == 3
    assert (ids(alice, state="snoozed"), len(ids(alice)), len(ids(alice, state=None))) == ([items[0]], 3, 4)
    time.moment += timedelta(days=1)
    assert (ids(alice, state="snoozed"), len(ids(alice))) == ([], 4)
    for wrong in ({"state": "new"}, {"kinds": ["rumour"]}):
        with pytest.raises(InvalidInput):
            list_reviews(actor=alice, **wrong)


def test_an_agent_sees_its_scopes_and_the_evidence_that_it_may_read_now(
    alice: Actor, mallory: Actor, make_agent: Callable[..., Any]
) -> None:
    spy, _ = make_agent(alice, "spy")
    writer, _ = make_agent(alice, "writer")
    open_words = memory(writer, "Open words.", scope="owner")
    private = opened(alice, target=Target("agent", writer.agent_id))
    shared = opened(alice, evidence=[(open_words, "Open"), (memory(writer, "Mine.", scope="agent"), "Mine")])
    assert sorted(ids(writer)) == sorted([private.pk, shared.pk])
    assert ids(spy) == [shared.pk]
    assert ids(mallory) == []
    for actor, item in ((spy, private), (mallory, shared)):
        with pytest.raises(NotFound):
            get_review(actor=actor, item_id=item.pk)
    assert [one.text for one in get_review(actor=spy, item_id=shared.pk).evidence] == ["Open"]
    change_memory(actor=writer, memory_id=open_words, changes={}, scope="agent")
    assert get_review(actor=spy, item_id=shared.pk).evidence == ()
    assert len(get_review(actor=alice, item_id=shared.pk).evidence) == 2
    with owner_scope(alice.owner_id):
        assert (count_open(spy), count_open(alice)) == (1, 2)
        assert "allergic" not in str(ReviewItem.objects.filter(pk=private.pk).values_list("payload").get())


def test_an_item_goes_with_the_last_memory_behind_it(alice: Actor, time: FixedClock) -> None:  # noqa: F811
    first, second = memory(alice, "No peanuts for me."), memory(alice, "Peanuts make me ill.")
    item = opened(alice, evidence=[(first, "No peanuts"), (second, "ill")])
    stated = opened(alice, payload=fact("Nothing speaks for this."))
    for said, left in ((first, [(second, "ill")]), (second, [])):
        delete_memory(actor=alice, memory_id=said)
        time.moment += timedelta(minutes=1)
        erase_due(owner_id=alice.owner_id, at=time.moment)
        with owner_scope(alice.owner_id):
            rows = ReviewEvidence.objects.filter(item_id=item.pk)
            assert [(one.memory_id, one.text) for one in rows] == left
    assert ids(alice, state=None) == [stated.pk]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "infinite": ({"payload": {"text": float("inf")}}, "payload.invalid"),
    "half a character": ({"payload": {"text": "\ud800"}}, "payload.invalid"),
    "large": ({"payload": {"text": "x" * 70_000}}, "payload.too_large"),
    "sure": ({"confidence": 1.5}, "confidence.out_of_range"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_what_cannot_be_kept_is_refused(alice: Actor, name: str) -> None:
    options, code = BAD[name]
    with pytest.raises((InvalidInput, TooLarge)) as caught:
        doubt(alice, **options)
    assert isinstance(caught.value, LociError)
    assert caught.value.machine_code == code
    assert ids(alice) == []
