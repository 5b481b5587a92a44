"""Turns: verbatim, once each, in order."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connections

from memory.errors import InvalidInput, LociError, NotFound
from memory.models import Memory, MemoryVector, OwnerActivity, Session, owner_scope
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.sessions import close_session, get_session, list_sessions
from memory.services.turns import CHUNK, TurnDraft, ingest_turns


def turn(text: Any, *, position: int | None = None, reply_to: int | None = None, **draft: Any) -> TurnDraft:
    return TurnDraft(draft=Draft(text=text, role="user", **draft), position=position, reply_to=reply_to)


def stored(actor: Actor) -> list[tuple[int, str]]:
    with owner_scope(actor.owner_id):
        return [(row.position, row.text) for row in Memory.objects.order_by("session", "position")]


def test_turns_keep_everything(alice: Actor) -> None:
    said_at = datetime(2026, 5, 8, 13, 56, tzinfo=UTC)
    ingested = ingest_turns(
        actor=alice,
        session="chat-1",
        turns=[
            turn("Where is the key?", speaker="Al", occurred_at=said_at),
            TurnDraft(draft=Draft(text="{}", role="tool", tool_name="find_key", call_id="c1"), reply_to=0),
        ],
    )
    with owner_scope(alice.owner_id):
        first, second = Memory.objects.order_by("position")
    assert (first.text, first.speaker, first.role, first.occurred_at) == ("Where is the key?", "Al", "user", said_at)
    assert (second.tool_name, second.call_id, second.role, second.reply_to_id) == ("find_key", "c1", "tool", first.pk)
    assert {first.session_id, second.session_id} == {ingested.session_id}
    assert (first.kind, first.tier, first.is_question) == ("turn", "episodic", True)


def test_two_equal_turns_are_two_rows(alice: Actor) -> None:
    ingest_turns(actor=alice, session="s", turns=[turn("ok"), turn("ok")])
    assert stored(alice) == [(0, "ok"), (1, "ok")]


def test_a_conversation_can_be_sent_again_and_continued(alice: Actor) -> None:
    first = [turn("one", position=0), turn("two", position=1)]
    ingest_turns(actor=alice, session="s", turns=first)
    again = ingest_turns(actor=alice, session="s", turns=[*first, turn("three", position=2)])
    assert [one.created for one in again.turns] == [False, False, True]
    follow = ingest_turns(actor=alice, session="s", turns=[turn("four")])
    assert follow.turns[0].position == 3
    assert stored(alice) == [(0, "one"), (1, "two"), (2, "three"), (3, "four")]


def test_another_text_at_a_position_is_refused_and_the_rest_stored(alice: Actor) -> None:
    ingest_turns(actor=alice, session="s", turns=[turn("one", position=0)])
    results = ingest_turns(
        actor=alice,
        session="s",
        turns=[turn("uno", position=0), turn("two", position=5), turn("zwei", position=5), turn(""), turn("last")],
    ).turns
    codes = [one.error.machine_code if one.error else None for one in results]
    assert codes == ["turn.position_taken", None, "turn.position_taken", "text.empty", None]
    assert stored(alice) == [(0, "one"), (5, "two"), (6, "last")]


@pytest.mark.parametrize("reply_to", [7, 1])
def test_a_reply_to_nothing_is_refused(alice: Actor, reply_to: int) -> None:
    results = ingest_turns(
        actor=alice, session="s", turns=[turn("a"), turn("b", reply_to=reply_to), turn("c", reply_to=1)]
    ).turns
    assert [one.error.machine_code if one.error else None for one in results] == [
        None,
        "reply_to.unknown",
        "reply_to.unknown",
    ]
    assert stored(alice) == [(0, "a")]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"position": -1}, "position.invalid"),
        ({"position": True}, "position.invalid"),
        ({"position": 2**40}, "position.invalid"),
        ({"reply_to": "0"}, "reply_to.invalid"),
        ({"role": "narrator"}, "role.invalid"),
        ({"speaker": "x" * 300}, "speaker.too_long"),
        ({"text": "a\x00"}, "text.nul"),
    ],
)
def test_bad_turns(alice: Actor, values: dict[str, Any], code: str) -> None:
    outer = {name: values[name] for name in ("position", "reply_to") if name in values}
    inner = {"text": "x", "role": "user", **{name: values[name] for name in values if name not in outer}}
    result = ingest_turns(actor=alice, session="s", turns=[TurnDraft(draft=Draft(**inner), **outer)]).turns[0]
    assert result.error is not None
    assert result.error.machine_code == code
    assert stored(alice) == []


@pytest.mark.parametrize("session", ["", " ", None, 5, "x" * 900, "a\x00"])
def test_bad_session_names(alice: Actor, session: Any) -> None:
    with pytest.raises(LociError) as caught:
        ingest_turns(actor=alice, session=session, turns=[turn("x")])
    assert 400 <= caught.value.status < 500


def test_sizes(alice: Actor) -> None:
    for turns in ([], [turn("x")] * 2001):
        with pytest.raises(InvalidInput):
            ingest_turns(actor=alice, session="s", turns=turns)


def test_chunks_keep_order_and_vectors(alice: Actor) -> None:
    count = 2 * CHUNK + 5
    ingest_turns(actor=alice, session="s", turns=[turn(f"number {index}") for index in range(count)])
    assert stored(alice) == [(index, f"number {index}") for index in range(count)]
    with owner_scope(alice.owner_id):
        assert MemoryVector.objects.count() == count
        assert OwnerActivity.objects.get().turns_since_consolidation == count
        session = Session.objects.get()
        assert (session.turn_count, session.next_position) == (count, count)


@pytest.mark.django_db(transaction=True)
def test_parallel_writers_get_positions_of_their_own(make_owner: Callable[..., Actor]) -> None:
    owner = make_owner("alice")

    def add(number: int) -> list[int | None]:
        try:
            answer = ingest_turns(actor=owner, session="s", turns=[turn(f"{number} a"), turn(f"{number} b")])
            return [one.position for one in answer.turns]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(max_workers=8) as pool:
        positions = [position for pair in pool.map(add, range(8)) for position in pair]
    assert sorted(positions) == list(range(16))  # type: ignore[type-var]


def test_sessions_of_two_agents_do_not_mix(alice: Actor, make_agent: Callable[..., Any]) -> None:
    one, _ = make_agent(alice, "one")
    two, _ = make_agent(alice, "two")
    first = ingest_turns(actor=one, session="main", turns=[turn("x")])
    second = ingest_turns(actor=two, session="main", turns=[turn("y")])
    assert first.session_id is not None
    assert first.session_id != second.session_id
    with pytest.raises(NotFound):
        get_session(actor=two, session_id=first.session_id)
    assert [row.label for row in list_sessions(actor=one, after=None, size=10)] == ["main"]
    assert len(list_sessions(actor=alice, after=None, size=10)) == 2


def test_a_closed_session_opens_again(alice: Actor) -> None:
    session_id = ingest_turns(actor=alice, session="s", turns=[turn("x")]).session_id
    assert session_id is not None
    assert close_session(actor=alice, session_id=session_id).closed_at is not None
    ingest_turns(actor=alice, session="s", turns=[turn("y")])
    assert get_session(actor=alice, session_id=session_id).closed_at is None
