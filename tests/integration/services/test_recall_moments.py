"""Moments of a recall: the one it speaks from, the range asked for, and the past that it may look at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memory.errors import InvalidInput
from memory.services.actors import Actor
from memory.services.memories import ListRequest, list_memories
from memory.services.recall import RecallRequest, prepare_query, recall

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
