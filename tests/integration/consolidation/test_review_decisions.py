"""Decisions do what the item says, once, and can be taken back as long as nothing leans on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from memory.errors import InvalidInput, LociError, NotFound, PermissionRefused
from memory.ids import new_id
from memory.models import AuditEvent, Memory, MemoryEdge, MemorySource, ReviewItem, ReviewKind, owner_scope
from memory.services.actors import ALL_PERMISSIONS, Actor, Permission, Target
from memory.services.changes import change_memory
from memory.services.graph.entities import get_entity
from memory.services.graph.entity_changes import delete_entity
from memory.services.graph.happenings import list_causes, list_events
from memory.services.graph.relations import relations_of
from memory.services.graph.unmerging import undo_merge
from memory.services.memories import ListRequest, get_memory, list_memories
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.resolution import in_order, kept_apart
from memory.services.retirement import delete_memory, erase_due, restore_memory
from memory.services.review_decisions import approve, decide_many, reject, snooze, undo, undo_merge_by_id
from memory.services.reviews import get_review, list_reviews
from tests.integration.consolidation.reviewing import doubt, fact, opened
from tests.integration.graph.conftest import entity, memory, relate, time  # noqa: F401
from tests.integration.graph.moments import FixedClock, day
from tests.integration.graph.snapshot import graph_of

RELATION: dict[str, Any] = {
    "source": {"name": "Al", "type": "person"},
    "label": "lives in",
    "target": {"name": "Lisbon", "type": "topic"},
    "weight": 0.7,
    "valid_from": "2026-01-01T00:00:00+00:00",
    "valid_until": None,
    "ended": False,
    "evidence": "moved to Lisbon",
}
GRAPH: dict[ReviewKind, dict[str, Any]] = {
    ReviewKind.ENTITY: {
        "name": "Al", "type": "person", "aliases": ["Allan"], "properties": {"team": "red"}, "importance": 0.8,
    },
    ReviewKind.RELATION: RELATION,
    ReviewKind.EVENT: {
        "text": "Al moved to Lisbon.",
        "occurred_at": "2026-01-01T00:00:00+00:00",
        "participants": [{"name": "Al", "type": "person"}, {"name": "Lisbon", "type": "topic"}],
    },
    ReviewKind.CAUSE: {"cause": "rain", "effect": "Al moved", "cause_entity": None, "effect_entity": "Al"},
}  # fmt: skip


def texts(actor: Actor) -> list[str]:
    rows = list_memories(actor=actor, request=ListRequest(kinds=["fact"]), after=None, size=50)
    return sorted(row.text for row in rows)


def found(actor: Actor, query: str) -> list[str]:
    return [hit.memory.text for hit in recall(actor=actor, request=RecallRequest(query=query)).hits]


def code_of(act: Callable[[], Any]) -> str:
    with pytest.raises(LociError) as caught:
        act()
    return caught.value.machine_code


def test_an_approved_fact_is_a_memory_with_its_sources(alice: Actor) -> None:
    turns = [memory(alice, "No peanuts for me."), memory(alice, "Peanuts make me ill.")]
    al = entity(alice, "Alice")
    payload = fact(entities=["alice", "nobody"], topics=["allergy"], occurred_at="2026-01-01T00:00:00+00:00")
    item = opened(alice, payload=payload, evidence=[(turn, "") for turn in turns])
    done = approve(actor=alice, item_id=item.pk)
    assert (done.state, done.item.version, done.item.decided_by) == ("approved", 2, "person")
    row = get_memory(actor=alice, memory_id=UUID(done.item.outcome["memory"]))
    assert (row.text, row.kind, row.importance, row.confidence) == (payload["text"], "fact", 0.8, 1.0)
    assert (row.source, row.topics, row.occurred_at, row.extracted_at) == (
        "review",
        ["allergy"],
        day("2026-01-01"),
        None,
    )
    assert payload["text"] in found(alice, "peanuts allergic")
    with owner_scope(alice.owner_id):
        sources = MemorySource.objects.filter(memory_id=row.pk)
        assert set(sources.values_list("turn_id", flat=True)) == set(turns)
    assert get_entity(actor=alice, entity_id=al).mention_count == 2
    assert code_of(lambda: approve(actor=alice, item_id=item.pk)) == "review.decided"


def test_an_approved_fact_goes_with_the_last_turn_that_says_it(alice: Actor, time: FixedClock) -> None:  # noqa: F811
    turn = memory(alice, "No peanuts for me.")
    item = opened(alice, evidence=[(turn, "")])
    approve(actor=alice, item_id=item.pk)
    delete_memory(actor=alice, memory_id=turn)
    time.moment += timedelta(minutes=1)
    erase_due(owner_id=alice.owner_id, at=time.moment)
    assert (texts(alice), list_reviews(actor=alice, state=None)) == ([], [])


def test_undoing_an_approved_fact_archives_what_it_made(alice: Actor) -> None:
    item = opened(alice)
    made = UUID(approve(actor=alice, item_id=item.pk).item.outcome["memory"])
    back = undo(actor=alice, item_id=item.pk)
    assert (back.state, back.item.outcome, back.item.decided_at, back.item.version) == ("open", None, None, 3)
    assert get_memory(actor=alice, memory_id=made).status == "archived"
    assert found(alice, "peanuts allergic") == []
    assert code_of(lambda: undo(actor=alice, item_id=item.pk)) == "review.open"
    again = approve(actor=alice, item_id=item.pk)
    assert texts(alice) == [fact()["text"]]
    change_memory(actor=alice, memory_id=UUID(again.item.outcome["memory"]), changes={"text": "Or walnuts."})
    assert code_of(lambda: undo(actor=alice, item_id=item.pk)) == "review.changed"
    assert get_review(actor=alice, item_id=item.pk).state == "approved"


def test_a_fact_that_is_known_already_gets_a_source_and_loses_it(alice: Actor) -> None:
    turn, known = memory(alice, "No peanuts for me."), memory(alice, fact()["text"], kind="fact")
    item = opened(alice, evidence=[(turn, "")])
    assert approve(actor=alice, item_id=item.pk).item.outcome["memory"] == str(known)
    with owner_scope(alice.owner_id):
        assert MemorySource.objects.filter(memory_id=known, turn_id=turn).count() == 1
    undo(actor=alice, item_id=item.pk)
    assert texts(alice) == [fact()["text"]]
    with owner_scope(alice.owner_id):
        assert MemorySource.objects.filter(memory_id=known).count() == 1


def test_edit_and_approve(alice: Actor) -> None:
    item = opened(alice, payload=fact(claim={"subject": "Alice", "attribute": "a", "value": "b"}))
    for changes, code in (
        ({"turns": []}, "field.unknown"),
        ({"text": ""}, "text.empty"),
        ({"kind": "turn"}, "kind.invalid"),
        ({"importance": 3}, "importance.out_of_range"),
        ({"valid_from": "2026-02-01", "valid_until": "2026-01-01"}, "date.order"),
        ({"text": "x" * 70_000}, "payload.too_large"),
    ):
        assert code_of(partial(approve, actor=alice, item_id=item.pk, changes=changes)) == code
    assert texts(alice) == []
    done = approve(actor=alice, item_id=item.pk, changes={"text": "Alice avoids peanuts.", "importance": 0.9})
    assert (texts(alice), done.item.payload["text"]) == (["Alice avoids peanuts."], fact()["text"])
    assert done.item.outcome["changes"] == {"text": "Alice avoids peanuts.", "importance": 0.9}


@pytest.mark.parametrize("kind", list(GRAPH))
@pytest.mark.parametrize("standing", [False, True], ids=["new", "known"])
def test_what_is_approved_enters_the_graph_and_leaves_it_again(alice: Actor, kind: ReviewKind, standing: bool) -> None:
    def al() -> UUID:
        return get_entity(actor=alice, name="Al").pk

    said, before_it = memory(alice, "Al moved to Lisbon because of the rain."), memory(alice, "Al again.")
    if standing:
        first = opened(alice, kind, {**GRAPH[kind]}, evidence=[(before_it, "")])
        approve(actor=alice, item_id=first.pk)
        with owner_scope(alice.owner_id):
            ReviewItem.objects.all().delete()
        entity(alice, "Porto", "topic")
        relate(alice, entity(alice, "Al"), "likes", "Porto")
    before = graph_of(alice)
    item = opened(alice, kind, GRAPH[kind], evidence=[(said, "moved")])
    done = approve(actor=alice, item_id=item.pk)
    assert graph_of(alice) != before
    shown: dict[ReviewKind, Callable[[], bool]] = {
        ReviewKind.ENTITY: lambda: get_entity(actor=alice, name="allan").pk == al(),
        ReviewKind.RELATION: lambda: (
            [(row.label, row.target.name) for row in relations_of(actor=alice, entity_id=al(), label="lives_in")]
            == [("lives_in", "Lisbon")]
        ),
        ReviewKind.EVENT: lambda: [len(people) for _, people in list_events(actor=alice, entity_id=al())] == [2],
        ReviewKind.CAUSE: lambda: [row.cause for row in list_causes(actor=alice, entity_id=al())] == ["rain"],
    }
    assert shown[kind]()
    assert done.item.outcome["rows"]
    undo(actor=alice, item_id=item.pk)
    assert graph_of(alice) == before
    approve(actor=alice, item_id=item.pk)
    assert shown[kind]()


def test_a_move_that_a_person_confirms_ends_the_former_home(alice: Actor) -> None:
    entity(alice, "Al")
    entity(alice, "Porto", "topic")
    relate(alice, "Al", "lives_in", "Porto", valid_from=day("2020-01-01"))
    before = graph_of(alice)
    item = opened(alice, ReviewKind.RELATION, RELATION)
    approve(actor=alice, item_id=item.pk)
    al = get_entity(actor=alice, name="Al").pk
    assert [row.target.name for row in relations_of(actor=alice, entity_id=al)] == ["Lisbon"]
    undo(actor=alice, item_id=item.pk)
    assert graph_of(alice) == before
    ended = {**RELATION, "target": {"name": "Porto", "type": "topic"}, "ended": True, "valid_from": None}
    left = opened(alice, ReviewKind.RELATION, ended)
    approve(actor=alice, item_id=left.pk)
    assert relations_of(actor=alice, entity_id=al) == []


def test_what_others_lean_on_is_not_taken_out(alice: Actor) -> None:
    item = opened(alice, ReviewKind.ENTITY, GRAPH[ReviewKind.ENTITY])
    al = UUID(approve(actor=alice, item_id=item.pk).item.outcome["entity"])
    entity(alice, "Chess", "topic")
    added = relate(alice, al, "plays", "Chess")
    assert code_of(lambda: undo(actor=alice, item_id=item.pk)) == "review.changed"
    with owner_scope(alice.owner_id):
        added.relation.delete()
    entity(alice, "Al", memory_id=memory(alice, "Al again."))
    assert code_of(lambda: undo(actor=alice, item_id=item.pk)) == "review.changed"


@pytest.mark.parametrize("kind", list(GRAPH))
def test_a_payload_that_cannot_be_used_changes_nothing(alice: Actor, kind: ReviewKind) -> None:
    bad: dict[ReviewKind, dict[str, Any]] = {
        ReviewKind.ENTITY: {"type": "animal"},
        ReviewKind.RELATION: {"target": {"name": "Al", "type": "person"}},
        ReviewKind.EVENT: {"participants": [{"name": " ", "type": "person"}]},
        ReviewKind.CAUSE: {"effect": ""},
    }
    item = opened(alice, kind, GRAPH[kind])
    before = graph_of(alice)
    with pytest.raises(InvalidInput):
        approve(actor=alice, item_id=item.pk, changes=bad[kind])
    assert (graph_of(alice), get_review(actor=alice, item_id=item.pk).state) == (before, "open")


def merge_doubt(actor: Actor) -> tuple[ReviewItem, UUID, UUID]:
    first, second = entity(actor, "Merrivale", "topic"), entity(actor, "Merryvale", "topic")
    entity(actor, "Merryvale", "topic")
    names = {"names": ["Merrivale", "Merryvale"], "score": 0.92, "rule": "near"}
    item = opened(actor, ReviewKind.MERGE, {"first": str(first), "second": str(second), **names})
    return item, first, second


def test_a_merge_is_done_undone_and_refused(alice: Actor) -> None:
    item, first, second = merge_doubt(alice)
    before = graph_of(alice)
    approve(actor=alice, item_id=item.pk)
    row = get_entity(actor=alice, name="Merrivale", type_="topic")
    assert (row.pk, row.name, row.aliases) == (second, "Merryvale", ["Merrivale"])
    undo(actor=alice, item_id=item.pk)
    assert graph_of(alice) == before
    reject(actor=alice, item_id=item.pk)
    pair = in_order(first, second)
    with owner_scope(alice.owner_id):
        assert kept_apart([pair]) == {pair}
    undo(actor=alice, item_id=item.pk)
    with owner_scope(alice.owner_id):
        assert kept_apart([pair]) == set()
    delete_entity(actor=alice, entity_id=first)
    assert code_of(lambda: approve(actor=alice, item_id=item.pk)) == "review.gone"
    assert reject(actor=alice, item_id=item.pk).state == "rejected"


def test_undoing_a_merge_by_its_id_opens_its_item_again(alice: Actor) -> None:
    item, *_ = merge_doubt(alice)
    before = graph_of(alice)
    other = opened(alice)
    approve(actor=alice, item_id=other.pk)
    made = approve(actor=alice, item_id=item.pk).item.outcome["merge"]
    undo_merge_by_id(actor=alice, merge_id=UUID(made))
    reviewed = get_review(actor=alice, item_id=item.pk)
    assert (reviewed.state, reviewed.item.outcome, reviewed.item.decided_by, reviewed.item.version) == (
        "open", None, "", 3,
    )  # fmt: skip
    assert graph_of(alice) == before
    assert get_review(actor=alice, item_id=other.pk).state == "approved"
    # It can be decided anew, and a merge that was taken back earlier opens nothing.
    again = approve(actor=alice, item_id=item.pk).item.outcome["merge"]
    assert code_of(lambda: undo_merge_by_id(actor=alice, merge_id=UUID(made))) == "merge.undone"
    assert get_review(actor=alice, item_id=item.pk).state == "approved"
    assert again != made
    undo_merge(actor=alice, merge_id=UUID(again))
    assert undo(actor=alice, item_id=item.pk).state == "open"


def test_the_newer_statement_takes_the_place_of_the_older_and_gives_it_back(alice: Actor) -> None:
    older = memory(alice, "Alice loves cheese pizza.", occurred_at=day("2025-01-01"))
    newer = memory(alice, "Alice dislikes cheese pizza.", occurred_at=day("2026-01-01"))
    payload = {"older": str(older), "newer": str(newer), "reason": "polarity"}
    item = opened(alice, ReviewKind.CONTRADICTION, payload, evidence=[(older, ""), (newer, "")])
    approve(actor=alice, item_id=item.pk)
    row = get_memory(actor=alice, memory_id=older)
    assert (row.status, row.valid_until, row.version) == ("superseded", day("2026-01-01"), 2)
    assert found(alice, "cheese pizza") == ["Alice dislikes cheese pizza."]
    undo(actor=alice, item_id=item.pk)
    row = get_memory(actor=alice, memory_id=older)
    assert (row.status, row.valid_until, row.retracted_at, row.archived_at) == ("live", None, None, None)
    assert set(found(alice, "cheese pizza")) == {"Alice dislikes cheese pizza.", "Alice loves cheese pizza."}
    with owner_scope(alice.owner_id):
        assert not MemoryEdge.objects.exists()
    delete_memory(actor=alice, memory_id=older)
    assert code_of(lambda: approve(actor=alice, item_id=item.pk)) == "review.gone"


def test_a_statement_that_left_the_scope_is_not_retired(alice: Actor, make_agent: Callable[..., Any]) -> None:
    writer, _ = make_agent(alice, "writer")
    other = replace(make_agent(alice, "other")[0], permissions=ALL_PERMISSIONS)
    older, newer = memory(writer, "Alice loves cheese pizza."), memory(writer, "Alice dislikes cheese pizza.")
    payload = {"older": str(older), "newer": str(newer), "reason": "polarity"}
    item = opened(alice, ReviewKind.CONTRADICTION, payload, evidence=[(older, ""), (newer, "")])
    change_memory(actor=writer, memory_id=older, changes={}, scope="agent")
    for decider in (other, alice):
        assert code_of(partial(approve, actor=decider, item_id=item.pk)) == "review.gone"
    assert get_memory(actor=writer, memory_id=older).status == "live"


def test_snoozed_until_a_moment(alice: Actor, time: FixedClock) -> None:  # noqa: F811
    item = opened(alice)
    later = time.moment + timedelta(days=2)
    assert code_of(lambda: snooze(actor=alice, item_id=item.pk, until=time.moment)) == "date.past"
    assert snooze(actor=alice, item_id=item.pk, until=later).state == "snoozed"
    assert list_reviews(actor=alice) == []
    assert undo(actor=alice, item_id=item.pk).state == "open"
    snooze(actor=alice, item_id=item.pk, until=later)
    time.moment = later
    assert [one.state for one in list_reviews(actor=alice)] == ["open"]
    assert code_of(lambda: undo(actor=alice, item_id=item.pk)) == "review.open"
    assert approve(actor=alice, item_id=item.pk).item.snoozed_until is None


def test_an_approval_for_which_a_statement_made_way_is_not_undone(alice: Actor) -> None:
    older = memory(alice, "Al lives in Faro.")
    item = opened(alice, payload=fact("Al lives in Porto."))
    newer = approve(actor=alice, item_id=item.pk).item.outcome["memory"]
    payload = {"older": str(older), "newer": newer, "reason": "contested"}
    approve(actor=alice, item_id=opened(alice, ReviewKind.CONTRADICTION, payload).pk)
    assert code_of(partial(undo, actor=alice, item_id=item.pk)) == "review.changed"
    assert get_memory(actor=alice, memory_id=UUID(newer)).status == "live"
    restore_memory(actor=alice, memory_id=older)
    undo(actor=alice, item_id=item.pk)
    assert get_memory(actor=alice, memory_id=UUID(newer)).status == "archived"
    assert get_memory(actor=alice, memory_id=older).status == "live"


def test_a_rejected_fact_is_not_asked_again_until_that_is_undone(alice: Actor) -> None:
    item = opened(alice)
    reject(actor=alice, item_id=item.pk)
    assert (texts(alice), doubt(alice)) == ([], None)
    assert code_of(lambda: approve(actor=alice, item_id=item.pk)) == "review.decided"
    undo(actor=alice, item_id=item.pk)
    approve(actor=alice, item_id=item.pk)
    with owner_scope(alice.owner_id):
        verbs = AuditEvent.objects.filter(object_kind="review", object_id=item.pk).order_by("created_at", "pk")
        assert list(verbs.values_list("verb", "actor")) == [
            (verb, "person") for verb in ("reject", "reopen", "approve")
        ]


def test_who_may_decide(alice: Actor, mallory: Actor, make_agent: Callable[..., Any]) -> None:
    writer, _ = make_agent(alice, "writer")
    decider, _ = make_agent(alice, "decider", scopes=sorted(ALL_PERMISSIONS))
    private = opened(alice, payload=fact("The writer's own."), target=Target("agent", writer.agent_id))
    shared = opened(alice)
    for act in (approve, reject, undo):
        with pytest.raises(PermissionRefused):
            act(actor=writer, item_id=shared.pk)
        for actor, item in ((mallory, shared), (decider, private)):
            with pytest.raises(NotFound):
                act(actor=actor, item_id=item.pk)
    assert approve(actor=decider, item_id=shared.pk).item.decided_by == f"agent:{decider.agent_id}"
    made = approve(actor=alice, item_id=private.pk).item.outcome["memory"]
    assert get_memory(actor=writer, memory_id=UUID(made)).text == "The writer's own."
    with pytest.raises(NotFound):
        get_memory(actor=decider, memory_id=UUID(made))
    with owner_scope(alice.owner_id):
        row = Memory.objects.get(pk=made)
        assert (row.visibility, row.scope, row.sealing_agent_id) == ("agent", writer.agent_id, writer.agent_id)


@pytest.mark.parametrize("kind", list(GRAPH))
def test_what_is_approved_for_one_agent_is_only_for_that_agent(
    alice: Actor, make_agent: Callable[..., Any], kind: ReviewKind
) -> None:
    writer, _ = make_agent(alice, "writer")
    spy, _ = make_agent(alice, "spy")
    said = memory(writer, "Al moved.", scope="agent")
    target = Target("agent", writer.agent_id)
    before = graph_of(alice)
    item = opened(alice, kind, GRAPH[kind], target=target, evidence=[(said, "moved")])
    approve(actor=alice, item_id=item.pk)
    assert get_entity(actor=writer, name="Al").scope == writer.agent_id
    with pytest.raises(NotFound):
        get_entity(actor=spy, name="Al")
    undo(actor=alice, item_id=item.pk)
    assert graph_of(alice) == before


def test_a_version_that_is_not_the_current_one_is_refused(alice: Actor) -> None:
    item = opened(alice)
    for act in (approve, reject, undo):
        assert code_of(partial(act, actor=alice, item_id=item.pk, version=7)) == "review.version"
    assert approve(actor=alice, item_id=item.pk, version=1).item.version == 2


def test_many_are_decided_each_for_itself(alice: Actor) -> None:
    items = [opened(alice, payload=fact(f"Fact {number} about Alice.")).pk for number in range(3)]
    reject(actor=alice, item_id=items[1])
    results = decide_many(actor=alice, item_ids=[*items, items[0], unknown := new_id()], decision="approve")
    errors = {one.item_id: one.error.machine_code for one in results if one.error}
    assert (len(results), errors) == (4, {items[1]: "review.decided", unknown: "not_found"})
    assert texts(alice) == ["Fact 0 about Alice.", "Fact 2 about Alice."]
    assert [one.error for one in decide_many(actor=alice, item_ids=items, decision="undo")] == [None, None, None]
    assert texts(alice) == []
    assert len(decide_many(actor=alice, item_ids=items, decision="snooze", until="2199-01-01")) == 3
    for options in (
        {"item_ids": [], "decision": "approve"},
        {"item_ids": [new_id() for _ in range(101)], "decision": "approve"},
        {"item_ids": items, "decision": "burn"},
        {"item_ids": items, "decision": "snooze"},
    ):
        with pytest.raises(InvalidInput):
            decide_many(actor=alice, **options)
    powerless = replace(alice, permissions=frozenset({Permission.READ}))
    with pytest.raises(PermissionRefused):
        decide_many(actor=powerless, item_ids=items, decision="approve")
