"""Moments of a recall: the one it speaks from, the range asked for, and the past that it may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import InvalidInput, NotFound
from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.clock import set_clock
from memory.services.drafts import Draft
from memory.services.memories import ListRequest, get_memory, list_memories
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import archive_expired, archive_memory, delete_memory

SPRING = datetime(2026, 4, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "given",
    [SPRING, "2026-04-01T12:00:00Z", "2026-04-01T12:00:00", SPRING.astimezone(timezone(timedelta(hours=5)))],
    ids=["utc", "text", "naive", "zoned"],
)
def test_a_query_speaks_from_the_moment_given(alice: Actor, given: Any) -> None:
    query = prepare_query(alice, "tea", RecallRequest(query="tea", reference_time=given), wants_vector=False)
    assert query.reference == SPRING
    assert query.now > SPRING


def test_a_query_speaks_from_the_present_otherwise(alice: Actor) -> None:
    query = prepare_query(alice, "tea", RecallRequest(query="tea"), wants_vector=False)
    assert query.reference == query.now


@pytest.mark.parametrize(
    ("given", "code"),
    [("yesterday", "date.invalid"), (7, "date.invalid"), ("1066-10-14", "date.out_of_range")],
)
@pytest.mark.parametrize("name", ["reference_time", "occurred_from", "occurred_until"])
def test_moments_that_are_none(alice: Actor, name: str, given: Any, code: str) -> None:
    for text in ("tea", "hello"):
        with pytest.raises(InvalidInput) as caught:
            recall(actor=alice, request=RecallRequest(query=text, **{name: given}))
        assert caught.value.machine_code == code
        assert caught.value.details["field"] == name


@pytest.mark.parametrize("end", [SPRING, SPRING - timedelta(seconds=1)], ids=["equal", "before"])
def test_a_span_that_holds_no_moment_is_refused(alice: Actor, end: datetime) -> None:
    asked = RecallRequest(query="tea", occurred_from=SPRING, occurred_until=end)
    listed = ListRequest(created_from=SPRING, created_until=end)
    with pytest.raises(InvalidInput) as caught:
        recall(actor=alice, request=asked)
    assert (caught.value.machine_code, caught.value.details["field"]) == ("date.order", "occurred_until")
    with pytest.raises(InvalidInput) as caught:
        list_memories(actor=alice, request=listed, after=None, size=1)
    assert (caught.value.machine_code, caught.value.details["field"]) == ("date.order", "created_until")


class Calendar:
    """A clock that stands where the test puts it."""

    def __init__(self) -> None:
        self.moment = SPRING

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def calendar() -> Iterator[Calendar]:
    made = Calendar()
    set_clock(made)
    yield made
    set_clock(None)


def day(number: int) -> datetime:
    return SPRING + timedelta(days=number)


def then(actor: Actor, number: int, **more: Any) -> set[str]:
    """List what stood on a day, and see that a recall of live rows says the same of them."""
    rows = list_memories(actor=actor, request=ListRequest(as_of=day(number), **more), after=None, size=50)
    request = RecallRequest(query="office kettle", as_of=day(number), threshold=0, limit=50, reinforce=False, **more)
    hits = recall(actor=actor, request=request).hits
    assert {hit.memory.text for hit in hits} == {row.text for row in rows if row.status == Status.LIVE}
    return {row.text for row in rows}


def test_only_what_was_recorded_by_then_is_seen(alice: Actor, calendar: Calendar) -> None:
    remember(actor=alice, draft=Draft(text="The kettle is old."))
    calendar.moment = day(10)
    remember(actor=alice, draft=Draft(text="The kettle is new."))
    assert then(alice, -1) == set()
    assert then(alice, 0) == {"The kettle is old."}
    assert then(alice, 9) == {"The kettle is old."}
    assert then(alice, 10) == {"The kettle is old.", "The kettle is new."}


def test_only_what_held_and_was_believed_then_is_seen(alice: Actor, calendar: Calendar) -> None:
    remember(actor=alice, draft=Draft(text="The office is in Rome.", valid_from=day(-9), valid_until=day(5)))
    remember(actor=alice, draft=Draft(text="The office is in Oslo.", valid_from=day(5)))
    wrong = remember(actor=alice, draft=Draft(text="The office is in Bonn.")).memory_id
    with owner_scope(alice.owner_id):
        row = Memory.objects.get(pk=wrong)
        row.retracted_at = day(3)
        row.save(update_fields=["retracted_at"])
    calendar.moment = day(20)
    assert then(alice, 1) == {"The office is in Rome.", "The office is in Bonn."}
    assert then(alice, 3) == {"The office is in Rome."}
    assert then(alice, 5) == {"The office is in Oslo."}
    # Without a moment to look from, what no longer holds is found too, and says so.
    request = RecallRequest(query="office", threshold=0, filter={"valid": False})
    assert [hit.memory.text for hit in recall(actor=alice, request=request).hits] == ["The office is in Rome."]
    asked = RecallRequest(query="office", threshold=0, filter={"valid": True}, as_of=day(1))
    assert "The office is in Rome." in {hit.memory.text for hit in recall(actor=alice, request=asked).hits}


def test_lists_hold_what_was_live_then(alice: Actor, calendar: Calendar) -> None:
    archived = remember(actor=alice, draft=Draft(text="The kettle leaks.")).memory_id
    remember(actor=alice, draft=Draft(text="The kettle is lent out.", expires_at=day(4)))
    deleted = remember(actor=alice, draft=Draft(text="The kettle was a gift.")).memory_id
    calendar.moment = day(5)
    archive_memory(actor=alice, memory_id=archived)
    delete_memory(actor=alice, memory_id=deleted)
    calendar.moment = day(9)
    archive_expired(owner_id=alice.owner_id, at=day(9))
    assert then(alice, 3) == {"The kettle leaks.", "The kettle is lent out."}
    assert then(alice, 4) == {"The kettle leaks."}
    assert then(alice, 5) == set()
    assert then(alice, 3, filter={"not": {"tag": "x"}}) == {"The kettle leaks.", "The kettle is lent out."}
    rows = list_memories(actor=alice, request=ListRequest(as_of=day(3), statuses=["live"]), after=None, size=9)
    assert rows == []


def test_memories_are_shown_as_they_stood(alice: Actor, calendar: Calendar) -> None:
    memory = remember(
        actor=alice, draft=Draft(text="The office is in Rome.", tags=["a"], importance=0.1, occurred_at=day(-3))
    ).memory_id
    remember(actor=alice, draft=Draft(text="The kettle is red."))
    calendar.moment = day(2)
    change_memory(actor=alice, memory_id=memory, changes={"text": "The office is in Oslo.", "importance": 0.2})
    calendar.moment = day(4)
    change_memory(
        actor=alice,
        memory_id=memory,
        changes={"text": "The office is in Bonn.", "tags": ["b"], "importance": 0.3, "occurred_at": day(1)},
    )
    calendar.moment = day(6)
    assert then(alice, 1) == {"The office is in Rome.", "The kettle is red."}
    assert then(alice, 3) == {"The office is in Oslo.", "The kettle is red."}
    assert then(alice, 4) == {"The office is in Bonn.", "The kettle is red."}
    shown = {number: get_memory(actor=alice, memory_id=memory, as_of=day(number)) for number in (1, 2, 3, 4)}
    assert [(row.text[-5:], row.tags, row.importance, row.version) for row in shown.values()] == [
        ("Rome.", ["a"], 0.1, 1),
        ("Oslo.", ["a"], 0.2, 2),
        ("Oslo.", ["a"], 0.2, 2),
        ("Bonn.", ["b"], 0.3, 3),
    ]
    assert [row.occurred_at for row in shown.values()] == [day(-3), day(-3), day(-3), day(1)]
    assert get_memory(actor=alice, memory_id=memory).text == "The office is in Bonn."
    with pytest.raises(NotFound):
        get_memory(actor=alice, memory_id=memory, as_of=day(-1))


def test_looking_back_takes_the_same_number_of_queries(alice: Actor, calendar: Calendar) -> None:
    for number in range(6):
        memory = remember(actor=alice, draft=Draft(text=f"Kettle {number}")).memory_id
        calendar.moment += timedelta(hours=1)
        change_memory(actor=alice, memory_id=memory, changes={"text": f"Kettle {number}, mended"})
    counts = []
    for size in (1, 6):
        with CaptureQueriesContext(connection) as captured:
            request = ListRequest(as_of=calendar.moment - timedelta(minutes=1))
            rows = list_memories(actor=alice, request=request, after=None, size=size)
        assert len(rows) == size
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_what_was_hidden_then_stays_hidden(
    alice: Actor, calendar: Calendar, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    one, _ = make_agent(alice, "one")
    two, _ = make_agent(alice, "two")
    memory = remember(actor=one, draft=Draft(text="The office kettle, said in private."), scope="agent").memory_id
    calendar.moment = day(2)
    change_memory(actor=one, memory_id=memory, changes={"text": "The office kettle, for all."}, scope="owner")
    assert then(two, 1) == set()
    assert then(one, 1) == then(alice, 1) == {"The office kettle, said in private."}
    assert then(two, 2) == {"The office kettle, for all."}
    with pytest.raises(NotFound):
        get_memory(actor=two, memory_id=memory, as_of=day(1))
    assert get_memory(actor=two, memory_id=memory, as_of=day(2)).text == "The office kettle, for all."


def test_another_owners_past_is_not_there(alice: Actor, mallory: Actor, calendar: Calendar) -> None:
    memory = remember(actor=alice, draft=Draft(text="The office kettle."))
    assert then(mallory, 0) == set()
    with pytest.raises(NotFound):
        get_memory(actor=mallory, memory_id=memory.memory_id, as_of=day(0))


@pytest.mark.parametrize("given", ["yesterday", 7, "1066-10-14"])
def test_a_past_that_is_none(alice: Actor, given: Any) -> None:
    memory = remember(actor=alice, draft=Draft(text="The office kettle.")).memory_id
    for call in (
        lambda: recall(actor=alice, request=RecallRequest(query="tea", as_of=given)),
        lambda: list_memories(actor=alice, request=ListRequest(as_of=given), after=None, size=1),
        lambda: get_memory(actor=alice, memory_id=memory, as_of=given),
    ):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.details["field"] == "as_of"
