"""Two entities become one with everything that is said of them, and become two again exactly as they were."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused
from memory.ids import new_id
from memory.models import AuditEvent, EntityMerge, GraphEvidence, owner_scope
from memory.services.actors import Actor, system
from memory.services.graph.entities import add_alias, get_entity
from memory.services.graph.happenings import add_causal_link, list_causes, list_events, merge_temporal_event
from memory.services.graph.merging import list_merges, merge_two
from memory.services.graph.naming import name_anew
from memory.services.graph.relations import relations_of, supersede_relation
from memory.services.graph.unmerging import undo_merge
from memory.services.graph.writing import Reference
from memory.services.resolution import keep_apart
from memory.services.retirement import delete_memory, erase_due
from tests.integration.graph.conftest import entity, memory, relate
from tests.integration.graph.moments import FixedClock, day
from tests.integration.graph.snapshot import graph_of


def merge(actor: Actor, kept: UUID, gone: UUID) -> EntityMerge:
    return merge_two(actor=actor, kept_id=kept, merged_id=gone, rule="by_hand", score=None)


def said(actor: Actor, entity_id: UUID, **options: Any) -> list[tuple[str, str, str]]:
    rows = relations_of(actor=actor, entity_id=entity_id, superseded=True, **options)
    return sorted((row.source.name, row.label, row.target.name) for row in rows)


@pytest.fixture
def smiths(alice: Actor, time: FixedClock) -> tuple[UUID, UUID]:
    """Two entities for one man, with something of every kind said of both."""
    first, second = memory(alice, "Robert Smith wrote."), memory(alice, "Bob wrote, and so did Robert.")
    kept = entity(alice, "Robert Smith", memory_id=first, properties={"team": "red"}, importance=0.4)
    gone = entity(alice, "Bob", memory_id=second, aliases=["Bobby"], properties={"team": "blue", "city": "Rome"})
    entity(alice, "Robert Smith", memory_id=second)
    for name, type_ in (("Lisbon", "topic"), ("Porto", "topic"), ("Chess", "topic"), ("Ann", "person")):
        entity(alice, name, type_)
    relate(alice, kept, "likes", "Chess", memory_id=first, weight=0.5)
    relate(alice, gone, "likes", "Chess", memory_id=second, weight=0.8, evidence="Bob likes chess")
    relate(alice, "Ann", "knows", gone)
    relate(alice, gone, "knows", kept)
    relate(alice, kept, "lives_in", "Porto", valid_from=day("2020-01-01"))
    relate(alice, gone, "lives_in", "Lisbon", valid_from=day("2025-01-01"))
    supersede_relation(actor=alice, relation_id=relate(alice, gone, "plays", "Chess").relation.pk)
    merge_temporal_event(
        actor=alice,
        text="They met.",
        occurred_at=day("2026-01-01"),
        participants=[Reference(entity_id=kept), Reference(entity_id=gone)],
    )
    merge_temporal_event(
        actor=alice, text="He left.", occurred_at=day("2026-02-01"), participants=[Reference(entity_id=gone)]
    )
    add_causal_link(actor=alice, cause="rain", effect="a cold", effect_entity=Reference(entity_id=gone))
    keep_apart(actor=alice, first_id=gone, second_id=get_entity(actor=alice, name="Ann").pk)
    time.moment += timedelta(days=1)
    return kept, gone


def test_everything_said_of_the_second_is_said_of_the_first(alice: Actor, smiths: tuple[UUID, UUID]) -> None:
    kept, gone = smiths
    merge(alice, kept, gone)
    row = get_entity(actor=alice, name="bobby")
    assert (row.pk, row.name, row.aliases) == (kept, "Robert Smith", ["Bob", "Bobby"])
    assert (row.mention_count, row.properties, row.importance) == (2, {"team": "red", "city": "Rome"}, 0.5)
    assert said(alice, kept) == [
        ("Ann", "knows", "Robert Smith"),
        ("Robert Smith", "likes", "Chess"),
        ("Robert Smith", "lives_in", "Lisbon"),
        ("Robert Smith", "lives_in", "Porto"),
        ("Robert Smith", "plays", "Chess"),
    ]
    now_true = relations_of(actor=alice, entity_id=kept, label="lives_in")
    assert [found.target.name for found in now_true] == ["Lisbon"]
    [likes] = relations_of(actor=alice, entity_id=kept, label="likes")
    assert likes.weight == pytest.approx(0.85)
    with owner_scope(alice.owner_id):
        assert GraphEvidence.objects.filter(relation_id=likes.pk).count() == 2
        assert AuditEvent.objects.filter(verb="merge", object_id=kept).count() == 1
    assert [len(people) for _, people in list_events(actor=alice, entity_id=kept)] == [1, 1]
    assert [cause.effect_entity_id for cause in list_causes(actor=alice, entity_id=kept)] == [kept]
    with pytest.raises(NotFound):
        get_entity(actor=alice, entity_id=gone)


def test_undoing_gives_the_whole_graph_back(alice: Actor, smiths: tuple[UUID, UUID]) -> None:
    before = graph_of(alice)
    made = merge(alice, *smiths)
    assert graph_of(alice) != before
    undo_merge(actor=alice, merge_id=made.pk)
    assert graph_of(alice) == before
    with pytest.raises(Conflict) as caught:
        undo_merge(actor=alice, merge_id=made.pk)
    assert caught.value.machine_code == "merge.undone"
    listed = list_merges(actor=alice)
    assert [(row.pk, row.undone_at is None) for row in listed] == [(made.pk, False)]


def test_merges_of_merges_are_undone_from_the_last(alice: Actor, smiths: tuple[UUID, UUID]) -> None:
    kept, gone = smiths
    third = entity(alice, "R. Smith")
    relate(alice, third, "likes", "Chess")
    relate(alice, third, "knows", gone)
    states = [graph_of(alice)]
    made = [merge(alice, kept, gone)]
    states.append(graph_of(alice))
    made.append(merge(alice, third, kept))
    with pytest.raises(Conflict) as caught:
        undo_merge(actor=alice, merge_id=made[0].pk)
    assert caught.value.machine_code == "merge.later"
    for state, one in zip(reversed(states), reversed(made), strict=True):
        undo_merge(actor=alice, merge_id=one.pk)
        assert graph_of(alice) == state


def test_what_was_said_since_stays_with_the_kept_one(alice: Actor, smiths: tuple[UUID, UUID], time: FixedClock) -> None:
    kept, gone = smiths
    made = merge(alice, kept, gone)
    entity(alice, "Robert Smith", memory_id=memory(alice, "Robert again."), properties={"city": "Bari"})
    relate(alice, kept, "owns", "Chess")
    relate(alice, kept, "likes", "Chess", memory_id=memory(alice, "He still likes chess."))
    time.moment += timedelta(days=1)
    undo_merge(actor=alice, merge_id=made.pk)
    row, other = get_entity(actor=alice, entity_id=kept), get_entity(actor=alice, entity_id=gone)
    assert (row.mention_count, row.aliases, row.properties) == (3, None, {"team": "red", "city": "Bari"})
    assert (other.name, other.aliases, other.mention_count) == ("Bob", ["Bobby"], 1)
    assert ("Robert Smith", "owns", "Chess") in said(alice, kept)
    assert ("Bob", "likes", "Chess") in said(alice, gone)


@pytest.mark.parametrize(("back", "open_now"), [("Porto", ["Porto"]), ("Chess", ["Chess"])])
def test_what_holds_in_the_place_of_what_the_merge_ended_keeps_it(
    alice: Actor, smiths: tuple[UUID, UUID], time: FixedClock, back: str, open_now: list[str]
) -> None:
    kept, gone = smiths
    made = merge(alice, kept, gone)
    relate(alice, kept, "lives_in", back, valid_from=day("2026-01-01"))
    time.moment += timedelta(days=1)
    undo_merge(actor=alice, merge_id=made.pk)
    homes = [row for row in relations_of(actor=alice, entity_id=kept) if row.label == "lives_in"]
    assert [row.target.name for row in homes] == open_now
    assert ("Bob", "lives_in", "Lisbon") in said(alice, gone)


def test_what_a_third_party_said_of_the_merged_one_is_history_once_it_has_moved_on(
    alice: Actor, time: FixedClock
) -> None:
    kept, gone = entity(alice, "Acme", "organization"), entity(alice, "Acme Inc", "organization")
    entity(alice, "Initech", "organization")
    entity(alice, "Ann")
    relate(alice, "Ann", "works_at", kept, valid_from=day("2020-01-01"), supersede=False)
    relate(alice, "Ann", "works_at", gone, valid_from=day("2021-01-01"), supersede=False)
    made = merge(alice, kept, gone)
    time.moment += timedelta(days=1)
    relate(alice, "Ann", "works_at", "Initech", valid_from=day("2025-01-01"))
    time.moment += timedelta(days=1)
    undo_merge(actor=alice, merge_id=made.pk)
    ann = get_entity(actor=alice, name="Ann")
    held = [row for row in relations_of(actor=alice, entity_id=ann.pk, superseded=True) if row.retracted_at is None]
    ends = {row.target.name: row.valid_until for row in held}
    assert ends == {"Acme": day("2025-01-01"), "Acme Inc": day("2025-01-01"), "Initech": None}


def test_properties_for_which_there_is_no_room_come_back_with_the_undoing(alice: Actor) -> None:
    kept = entity(alice, "Robert Smith", properties={"a": "x" * 9_000})
    gone = entity(alice, "Bob", properties={"b": "y" * 9_000, "c": "small"})
    made = merge(alice, kept, gone)
    assert sorted(get_entity(actor=alice, entity_id=kept).properties or {}) == ["a", "c"]
    entity(alice, "Robert Smith", properties={"d": "learned since"})
    undo_merge(actor=alice, merge_id=made.pk)
    assert sorted(get_entity(actor=alice, entity_id=kept).properties or {}) == ["a", "d"]
    assert sorted(get_entity(actor=alice, entity_id=gone).properties or {}) == ["b", "c"]


def test_a_name_that_another_one_took_stands_in_the_way(alice: Actor, smiths: tuple[UUID, UUID]) -> None:
    kept, gone = smiths
    made = merge(alice, kept, gone)
    with owner_scope(alice.owner_id):
        row = get_entity(actor=alice, entity_id=kept)
        row.aliases = ["Bobby"]
        row.save(update_fields=["aliases"])
        name_anew(row, keyring().of(alice.owner_id))
    entity(alice, "Bob")
    before = graph_of(alice)
    with pytest.raises(Conflict) as caught:
        undo_merge(actor=alice, merge_id=made.pk)
    assert caught.value.machine_code == "alias.taken"
    assert graph_of(alice) == before


def test_what_was_erased_since_does_not_come_back(alice: Actor, time: FixedClock) -> None:
    spoken = memory(alice, "Bob likes chess.")
    kept, gone = entity(alice, "Robert"), entity(alice, "Bob", memory_id=spoken, aliases=["Bobby"])
    entity(alice, "Chess", "topic")
    relate(alice, kept, "likes", "Chess")
    relate(alice, gone, "likes", "Chess", memory_id=spoken)
    entity(alice, "Bob")
    made = merge(alice, kept, gone)
    delete_memory(actor=alice, memory_id=spoken)
    time.moment += timedelta(minutes=1)
    erase_due(owner_id=alice.owner_id, at=time.moment)
    undo_merge(actor=alice, merge_id=made.pk)
    assert (said(alice, gone), len(said(alice, kept))) == ([], 1)
    with owner_scope(alice.owner_id):
        assert not GraphEvidence.objects.filter(memory_id=spoken).exists()


def test_a_merged_entity_is_forgotten_with_the_last_memory_of_it(alice: Actor, time: FixedClock) -> None:
    first, second, both = memory(alice, "Bob came."), memory(alice, "Bob left."), memory(alice, "Robert stayed.")
    kept = entity(alice, "Robert", memory_id=both)
    gone = entity(alice, "Bob", memory_id=first)
    entity(alice, "Bob", memory_id=second)
    made = merge(alice, kept, gone)
    for spoken, aliases in ((first, ["Bob"]), (second, None)):
        delete_memory(actor=alice, memory_id=spoken)
        time.moment += timedelta(minutes=1)
        erase_due(owner_id=alice.owner_id, at=time.moment)
        assert get_entity(actor=alice, entity_id=kept).aliases == aliases
    assert list_merges(actor=alice) == []
    with pytest.raises(NotFound):
        undo_merge(actor=alice, merge_id=made.pk)
    with pytest.raises(NotFound):
        get_entity(actor=alice, name="Bob")


def test_who_may_merge_what(
    alice: Actor, mallory: Actor, make_agent: Callable[..., Any], smiths: tuple[UUID, UUID]
) -> None:
    kept, gone = smiths
    agent, _ = make_agent(alice)
    for actor, error in ((mallory, NotFound), (agent, PermissionRefused)):
        with pytest.raises(error):
            merge(actor, kept, gone)
    with pytest.raises(InvalidInput):
        merge(alice, kept, kept)
    private = entity(agent, "Bob", scope="agent")
    with pytest.raises(InvalidInput) as caught:
        merge(alice, kept, private)
    assert caught.value.machine_code == "entities.pair"
    keep_apart(actor=alice, first_id=kept, second_id=gone)
    with pytest.raises(Conflict) as refused:
        merge(system(alice.owner_id), kept, gone)
    assert refused.value.machine_code == "merge.apart"
    before = graph_of(alice)
    undo_merge(actor=alice, merge_id=merge(alice, kept, gone).pk)
    assert graph_of(alice) == before


def test_entities_of_two_types_are_one_when_a_person_says_so(alice: Actor) -> None:
    kept, gone = entity(alice, "Python", "tool"), entity(alice, "python", "concept", aliases=["Py"])
    other = entity(alice, "Py", "tool")
    before = graph_of(alice)
    made = merge(alice, kept, gone)
    row = get_entity(actor=alice, entity_id=kept)
    assert (row.aliases, get_entity(actor=alice, name="py").pk) == (None, other)
    undo_merge(actor=alice, merge_id=made.pk)
    assert graph_of(alice) == before


NAMES = ["Al", "Bob", "Cy", "Dee"]
STEP = st.tuples(
    st.sampled_from(["relate", "move", "event", "cause", "alias"]),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.integers(0, 2),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEP, max_size=12), st.permutations(NAMES))
def test_any_graph_comes_back(make_owner: Callable[..., Actor], steps: list[Any], order: list[str]) -> None:
    owner = make_owner(f"owner {new_id()}")
    ids = {name: entity(owner, name, memory_id=memory(owner, f"{name} spoke.")) for name in NAMES}
    for kind, first, second, number in steps:
        if kind in ("relate", "move") and first != second:
            label = "lives_in" if kind == "move" else f"label {number % 2}"
            relate(owner, ids[first], label, ids[second], memory_id=memory(owner, f"{first} {label} {number}"))
        elif kind == "event":
            ends = [Reference(entity_id=ids[one]) for one in {first, second}]
            merge_temporal_event(actor=owner, text=f"event {number}", occurred_at=day("2026-01-01"), participants=ends)
        elif kind == "cause":
            add_causal_link(
                actor=owner,
                cause=f"cause {number}",
                effect="effect",
                cause_entity=Reference(entity_id=ids[first]),
                effect_entity=Reference(entity_id=ids[second]),
            )
        elif kind == "alias":
            add_alias(actor=owner, entity_id=ids[first], alias=f"{first} {number}")
    states, made = [], []
    for kept, gone in ((order[0], order[1]), (order[2], order[0]), (order[2], order[3])):
        states.append(graph_of(owner))
        made.append(merge(owner, ids[kept], ids[gone]))
    for state, one in zip(reversed(states), reversed(made), strict=True):
        undo_merge(actor=owner, merge_id=one.pk)
        assert graph_of(owner) == state
