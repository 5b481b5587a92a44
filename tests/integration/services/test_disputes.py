"""Whoever disputes a memory is heard: it waits for a person's decision, which can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused, TooLarge
from memory.models import ReviewItem, owner_scope
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.disputes import dispute_memory, doubts_about
from memory.services.drafts import Draft
from memory.services.memories import get_memory
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import archive_memory, delete_memory, erase_due, restore_memory
from memory.services.review_decisions import approve, reject, undo
from memory.services.reviews import list_reviews


@pytest.fixture
def lisbon(alice: Actor) -> UUID:
    return remember(actor=alice, draft=Draft(text="We met in Lisbon.", valid_until="2199-01-01")).memory_id


def test_a_dispute_waits_beside_what_it_is_about(alice: Actor, lisbon: UUID) -> None:
    item, created = dispute_memory(actor=alice, memory_id=lisbon, reason=" It was Porto. ")
    assert created
    assert item.payload == {"memory": str(lisbon), "words": "It was Porto."}
    [waiting] = list_reviews(actor=alice, kinds=["dispute"])
    assert [one.memory_id for one in waiting.evidence] == [lisbon]
    assert [one.item.pk for one in doubts_about(actor=alice, memory_id=lisbon)] == [item.pk]
    assert get_memory(actor=alice, memory_id=lisbon).status == "live"
    again = dispute_memory(actor=alice, memory_id=lisbon, reason="it was  PORTO.")
    assert (again[0].pk, again[1]) == (item.pk, False)
    assert dispute_memory(actor=alice, memory_id=lisbon, reason="It was Faro.")[1]
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute("SELECT payload::text FROM memory_reviewitem WHERE owner_id = %s", [alice.owner_id])
        assert all("Porto" not in row[0] and "Faro" not in row[0] for row in cursor.fetchall())


def test_approving_archives_and_undoing_brings_back(alice: Actor, lisbon: UUID) -> None:
    item, _ = dispute_memory(actor=alice, memory_id=lisbon, reason="It was Porto.")
    approve(actor=alice, item_id=item.pk)
    row = get_memory(actor=alice, memory_id=lisbon)
    assert (row.status, row.archive_reason) == ("archived", "disputed")
    assert recall(actor=alice, request=RecallRequest(query="lisbon")).hits == []
    undo(actor=alice, item_id=item.pk)
    row = get_memory(actor=alice, memory_id=lisbon)
    assert (row.status, row.archive_reason, row.valid_until and row.valid_until.year) == ("live", "", 2199)
    assert [hit.memory.pk for hit in recall(actor=alice, request=RecallRequest(query="lisbon")).hits] == [lisbon]
    reject(actor=alice, item_id=item.pk)
    assert get_memory(actor=alice, memory_id=lisbon).status == "live"
    assert not dispute_memory(actor=alice, memory_id=lisbon, reason="It was Porto.")[1]


def test_what_was_changed_since_stays_as_it_is(alice: Actor, lisbon: UUID) -> None:
    item, _ = dispute_memory(actor=alice, memory_id=lisbon, reason="It was Porto.")
    archive_memory(actor=alice, memory_id=lisbon)
    with pytest.raises(Conflict) as gone:
        approve(actor=alice, item_id=item.pk)
    assert gone.value.machine_code == "review.gone"
    restore_memory(actor=alice, memory_id=lisbon)
    approve(actor=alice, item_id=item.pk)
    restore_memory(actor=alice, memory_id=lisbon)
    change_memory(actor=alice, memory_id=lisbon, changes={"text": "We met in Porto."})
    archive_memory(actor=alice, memory_id=lisbon)
    with pytest.raises(Conflict) as changed:
        undo(actor=alice, item_id=item.pk)
    assert changed.value.machine_code == "review.changed"


def test_forgetting_takes_the_dispute_along(alice: Actor, lisbon: UUID) -> None:

    dispute_memory(actor=alice, memory_id=lisbon, reason="It was Porto.")
    delete_memory(actor=alice, memory_id=lisbon)
    erase_due(owner_id=alice.owner_id, at=now() + timedelta(seconds=11))
    with owner_scope(alice.owner_id):
        assert not ReviewItem.objects.exists()


@pytest.mark.parametrize(
    ("reason", "error"), [("", InvalidInput), ("  ", InvalidInput), (7, InvalidInput), ("w" * 4_097, TooLarge)]
)
def test_a_reason_is_words(alice: Actor, lisbon: UUID, reason: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        dispute_memory(actor=alice, memory_id=lisbon, reason=reason)
    assert doubts_about(actor=alice, memory_id=lisbon) == []


def test_only_what_one_may_see_and_write_is_disputed(
    alice: Actor, mallory: Actor, lisbon: UUID, make_agent: Callable[..., Any]
) -> None:
    reader, _ = make_agent(alice, "reader", scopes=["memory:read"])
    with pytest.raises(PermissionRefused):
        dispute_memory(actor=reader, memory_id=lisbon, reason="It was Porto.")
    with pytest.raises(NotFound):
        dispute_memory(actor=mallory, memory_id=lisbon, reason="It was Porto.")
    diarist, _ = make_agent(alice, "diarist")
    hidden = remember(actor=diarist, draft=Draft(text="Note to self."), scope="agent").memory_id
    other, _ = make_agent(alice, "other")
    with pytest.raises(NotFound):
        dispute_memory(actor=other, memory_id=hidden, reason="It was Porto.")
    dispute_memory(actor=diarist, memory_id=hidden, reason="It was Porto.")
    assert list_reviews(actor=other) == []
    archive_memory(actor=alice, memory_id=lisbon)
    with pytest.raises(Conflict):
        dispute_memory(actor=alice, memory_id=lisbon, reason="It was Porto.")
