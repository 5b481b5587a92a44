"""Filter expressions on stored memories: in lists and in every way that a recall finds something."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import InvalidInput
from memory.models import LabelKind, Memory, MemoryLabel, owner_scope
from memory.recall import fallback
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.context import build_context
from memory.services.drafts import Draft
from memory.services.memories import ListRequest, get_memory, list_memories
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import recall
from memory.services.remember import remember, remember_many
from memory.services.turns import TurnDraft, ingest_turns

DAY = datetime(2026, 3, 1, tzinfo=UTC)
DRAFTS = [
    Draft(text="The kettle leaks.", kind="fact", tags=["Work", "kitchen"], source="user:al/chat", importance=0.9),
    Draft(text="The kettle is red.", kind="note", tags=["home"], metadata={"team": "red", "build": {"number": 7}}),
    Draft(text="A kettle boils.", kind="skill", topics=["tea"], metadata={"team": "blue", "ok": True}, confidence=0.2),
    Draft(text="Kettle bought.", kind="decision", category="project", occurred_at=DAY, source="web", tags=["work"]),
    Draft(text="Kettle of al@example.org", kind="note", metadata={"n": 7.0, "team": ["red"]}, valid_until=DAY),
]


@pytest.fixture
def stored(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> dict[UUID, Memory]:
    """Memories of a person, and turns of an agent, by id."""
    remember_many(actor=alice, drafts=DRAFTS)
    agent, _ = make_agent(alice, "assistant")
    turns = [
        TurnDraft(draft=Draft(text="Which kettle do you mean?", kind="turn", role="user", speaker="Al")),
        TurnDraft(draft=Draft(text="The red kettle.", kind="turn", role="assistant", metadata={"team": "red"})),
    ]
    ingest_turns(actor=agent, session="kitchen", turns=turns)
    rows = list_memories(actor=alice, request=ListRequest(), after=None, size=50)
    assert len(rows) == 7
    return {row.pk: row for row in rows}


def listed(actor: Actor, expression: Any, **more: Any) -> set[str]:
    return {
        row.text
        for row in list_memories(actor=actor, request=ListRequest(filter=expression, **more), after=None, size=50)
    }


def recalled(actor: Actor, expression: Any, profile: str = "default", query: str = "kettle", **more: Any) -> set[str]:
    request = RecallRequest(
        query=query, filter=expression, profile=profile, limit=50, threshold=0, reinforce=False, record=False, **more
    )
    return {hit.memory.text for hit in recall(actor=actor, request=request).hits}


LEAVES: list[tuple[dict[str, Any], Callable[[Memory], bool]]] = [
    ({"tag": "WORK"}, lambda row: "work" in {tag.casefold() for tag in row.tags or ()}),
    ({"tag": ["home", "kitchen"]}, lambda row: bool({"home", "kitchen"} & set(row.tags or ()))),
    ({"topic": "Tea"}, lambda row: "tea" in (row.topics or ())),
    ({"source": "user:al"}, lambda row: (row.source or "").startswith("user:al")),
    ({"speaker": "al"}, lambda row: row.speaker == "Al"),
    ({"kind": ["fact", "turn"]}, lambda row: row.kind in ("fact", "turn")),
    ({"tier": "episodic"}, lambda row: row.tier == "episodic"),
    ({"category": "Project"}, lambda row: row.category == "project"),
    ({"metadata": {"team": "red"}}, lambda row: (row.metadata or {}).get("team") == "red"),
    ({"metadata": {"build.number": 7}}, lambda row: (row.metadata or {}).get("build") == {"number": 7}),
    ({"metadata": {"n": 7, "team": "x"}}, lambda row: False),
    ({"metadata": {"ok": True}}, lambda row: (row.metadata or {}).get("ok") is True),
    ({"metadata": {"n": "7"}}, lambda row: False),
    ({"importance": {"least": 0.9}}, lambda row: row.importance >= 0.9),
    ({"confidence": {"most": 0.5}}, lambda row: row.confidence <= 0.5),
    ({"occurred": {"until": "2026-03-02"}}, lambda row: row.occurred_at < datetime(2026, 3, 2, tzinfo=UTC)),
    ({"created": {"from": "2026-03-02"}}, lambda row: True),
    ({"pii_tier": {"most": 0}}, lambda row: row.pii_tier == 0),
    ({"valid": True}, lambda row: row.valid_until is None),
    ({"valid": False}, lambda row: row.valid_until is not None),
    ({"agent": str(UUID(int=7))}, lambda row: False),
    ({"session": [str(UUID(int=7)), str(UUID(int=8))]}, lambda row: False),
]


def holds(expression: Any, row: Memory, at: dict[int, Callable[[Memory], bool]]) -> bool:
    """Judge a row by an expression of drawn leaves, without any SQL."""
    if id(expression) in at:
        return at[id(expression)](row)
    ((name, value),) = expression.items()
    if name == "not":
        return not holds(value, row, at)
    judged = [holds(one, row, at) for one in value]
    return all(judged) if name == "and" else any(judged)


def expressions(depth: int = 4) -> st.SearchStrategy[Any]:
    leaves = st.sampled_from([leaf for leaf, _ in LEAVES])
    if depth == 0:
        return leaves
    inner = expressions(depth - 1)
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        leaves,
        st.builds(lambda one: {"not": one}, inner),
        st.builds(lambda all_: {"and": all_}, some),
        st.builds(lambda any_: {"or": any_}, some),
    )


@pytest.mark.parametrize(
    ("leaf", "judge"), LEAVES, ids=[f"{n}-{next(iter(leaf))}" for n, (leaf, _) in enumerate(LEAVES)]
)
def test_each_condition_and_its_opposite(
    alice: Actor, stored: dict[UUID, Memory], leaf: dict[str, Any], judge: Callable[[Memory], bool]
) -> None:
    expected = {row.text for row in stored.values() if judge(row)}
    everything = {row.text for row in stored.values()}
    assert listed(alice, leaf) == expected
    assert listed(alice, {"not": leaf}) == everything - expected
    for profile in ("default", "praxis", "engram"):
        assert recalled(alice, leaf, profile) == expected
        assert recalled(alice, {"not": leaf}, profile) == everything - expected


def test_combinations_mean_what_they_say(alice: Actor, stored: dict[UUID, Memory]) -> None:
    judges = {id(leaf): judge for leaf, judge in LEAVES}

    @settings(max_examples=60, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(expressions())
    def compare(expression: Any) -> None:
        # A condition by itself counts as one object of depth, so the deepest drawn ones are refused.
        try:
            found = listed(alice, expression)
        except InvalidInput as error:
            assert error.machine_code == "filter.invalid"
            return
        assert found == {row.text for row in stored.values() if holds(expression, row, judges)}

    compare()


def test_members_of_one_object_all_have_to_hold(alice: Actor, stored: dict[UUID, Memory]) -> None:
    assert listed(alice, {"tag": "work", "kind": "fact"}) == {"The kettle leaks."}
    assert listed(alice, {"or": [{"tag": "work", "kind": "fact"}, {"topic": "tea"}]}) == {
        "The kettle leaks.",
        "A kettle boils.",
    }


def test_an_expression_joins_the_plain_fields(alice: Actor, stored: dict[UUID, Memory]) -> None:
    assert listed(alice, {"not": {"kind": "fact"}}, tags=["work"]) == {"Kettle bought."}
    assert recalled(alice, {"not": {"kind": "fact"}}, tags=["work"]) == {"Kettle bought."}


def test_agents_and_sessions(alice: Actor, stored: dict[UUID, Memory]) -> None:
    turn = next(row for row in stored.values() if row.kind == "turn")
    turns = {row.text for row in stored.values() if row.kind == "turn"}
    others = {row.text for row in stored.values() if row.kind != "turn"}
    for name, value in (("agent", turn.agent_id), ("session", turn.session_id)):
        assert listed(alice, {name: str(value)}) == turns
        assert recalled(alice, {name: value}) == turns
        assert listed(alice, {"not": {name: str(value)}}) == others
        assert recalled(alice, {"not": {name: str(value)}}) == others


def test_the_fallback_is_filtered_too(alice: Actor, stored: dict[UUID, Memory]) -> None:
    request = RecallRequest(query="ettl", filter={"metadata": {"team": "red"}})
    query = prepare_query(alice, "ettl", request, wants_vector=False)
    with owner_scope(alice.owner_id):
        found = fallback.scan(query, limit=10)
    assert {stored[memory_id].text for memory_id in found} == {"The kettle is red.", "The red kettle."}


def test_a_block_is_filtered_too(alice: Actor, stored: dict[UUID, Memory]) -> None:
    request = RecallRequest(query="kettle", threshold=0, filter={"metadata": {"team": "blue"}})
    block = build_context(actor=alice, request=request)
    assert [stored[memory_id].text for memory_id in block.memory_ids] == ["A kettle boils."]


def test_a_limit_counts_what_the_filter_leaves(alice: Actor) -> None:
    remember_many(actor=alice, drafts=[Draft(text=f"kettle kettle kettle {n}") for n in range(150)])
    remember(actor=alice, draft=Draft(text="a kettle among many other things", tags=["rare"]))
    assert recalled(alice, {"tag": "rare"}, "praxis") == {"a kettle among many other things"}
    assert recalled(alice, {"tag": "rare"}) == {"a kettle among many other things"}


def test_another_owners_labels_and_ids_find_nothing(
    alice: Actor, mallory: Actor, stored: dict[UUID, Memory], make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    turn = next(row for row in stored.values() if row.kind == "turn")
    remember(actor=mallory, draft=Draft(text="Mallory's kettle.", tags=["spy"], metadata={"team": "black"}))
    unknown: list[dict[str, Any]] = [{"agent": str(turn.agent_id)}, {"session": str(turn.session_id)}, {"tag": "home"}]
    for expression in unknown:
        assert listed(mallory, expression) == recalled(mallory, expression) == set()
        assert listed(mallory, {"not": expression}) == recalled(mallory, {"not": expression}) == {"Mallory's kettle."}
    foreign: list[dict[str, Any]] = [{"tag": "spy"}, {"metadata": {"team": "black"}}]
    for expression in foreign:
        assert listed(alice, expression) == recalled(alice, expression) == set()


def test_a_filter_does_not_widen_a_scope(
    alice: Actor, stored: dict[UUID, Memory], make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    one, _ = make_agent(alice, "one")
    two, _ = make_agent(alice, "two")
    remember(actor=one, draft=Draft(text="The secret kettle.", tags=["secret"]), scope="agent")
    expression = {"or": [{"tag": "secret"}, {"topic": "tea"}, {"agent": str(one.agent_id)}]}
    assert listed(two, expression) == recalled(two, expression) == {"A kettle boils."}
    assert listed(one, expression) == recalled(one, expression) == {"A kettle boils.", "The secret kettle."}


def test_changed_metadata_changes_what_is_found(alice: Actor) -> None:
    memory = remember(actor=alice, draft=Draft(text="kettle", tags=["a"], metadata={"team": "red"})).memory_id
    change_memory(actor=alice, memory_id=memory, changes={"metadata": {"team": "blue"}})
    assert listed(alice, {"metadata": {"team": "red"}}) == set()
    assert listed(alice, {"metadata": {"team": "blue"}, "tag": "a"}) == {"kettle"}
    change_memory(actor=alice, memory_id=memory, changes={"metadata": None})
    assert listed(alice, {"metadata": {"team": "blue"}}) == set()
    assert listed(alice, {"tag": "a"}) == {"kettle"}


def test_metadata_beyond_fifty_values_is_kept_and_noted(alice: Actor) -> None:
    metadata = {f"k{n}": n for n in range(60)}
    stored = remember(actor=alice, draft=Draft(text="kettle", metadata=metadata))
    assert [note["code"] for note in stored.notes] == ["metadata.many"]
    assert get_memory(actor=alice, memory_id=stored.memory_id).metadata == metadata
    assert listed(alice, {"metadata": {"k49": 49}}) == {"kettle"}
    assert listed(alice, {"metadata": {"k50": 50}}) == set()
    with owner_scope(alice.owner_id):
        assert MemoryLabel.objects.filter(kind=LabelKind.METADATA).count() == 50


def test_metadata_stands_in_no_column_in_clear(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="kettle", metadata={"projectname": "zanzibar"}))
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        for table in ("memory_memory", "memory_memorylabel"):
            cursor.execute(f"SELECT t::text FROM {table} t")
            text = " ".join(row[0] for row in cursor.fetchall())
            assert text
            assert "zanzibar" not in text
            assert "projectname" not in text


@pytest.mark.parametrize("text", ["kettle", "hello"])
def test_a_filter_that_cannot_be_used_is_refused_whatever_is_asked(alice: Actor, text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        recall(actor=alice, request=RecallRequest(query=text, filter={"colour": "red"}))
    assert (caught.value.machine_code, caught.value.details["path"]) == ("filter.invalid", "filter.colour")
    with pytest.raises(InvalidInput):
        list_memories(actor=alice, request=ListRequest(filter={}), after=None, size=1)
