"""Names of a batch meet the entities that stand: the same takes the name, a doubt is asked once, others stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import InvalidInput, NotFound
from memory.models import ReviewItem, owner_scope
from memory.services.actors import Actor, Target
from memory.services.graph.entities import EntityDraft, get_entity, merge_entities
from memory.services.graph.searching import search_entities
from memory.services.resolution import Resolution, keep_apart, open_doubts, resolve
from tests.integration.graph.conftest import entity, memory


def owner_wide(actor: Actor) -> Target:
    return Target("owner", actor.owner_id)


def resolved(actor: Actor, *drafts: tuple[str, str]) -> Resolution:
    made = [EntityDraft(name=name, type=type_) for name, type_ in drafts]
    return resolve(actor=actor, drafts=made, target=owner_wide(actor))


def merged(actor: Actor, resolution: Resolution, said: UUID | None = None) -> list[UUID]:
    return [one.entity_id for one in merge_entities(actor=actor, drafts=list(resolution), memory_id=said)]


def names(drafts: Sequence[EntityDraft]) -> list[tuple[str, str]]:
    return [(str(draft.name), str(draft.type)) for draft in drafts]


STANDING = [
    ("Room 101", "topic"),
    ("2023 tax return", "topic"),
    ("UA123", "concept"),
    ("Dr John Richardson", "person"),
    ("Q3 revenue report", "concept"),
]
COMING = [
    ("Room 102", "topic"),
    ("2024 tax return", "topic"),
    ("UA124", "concept"),
    ("Dr Jane Richardson", "person"),
    ("Q4 revenue report", "concept"),
]


def test_what_differs_by_a_mark_stays_apart(alice: Actor) -> None:
    for name, type_ in STANDING:
        entity(alice, name, type_)
    found = resolved(alice, *COMING)
    assert (names(found), found.doubts, found.rules) == (COMING, (), {})
    again = resolved(alice, *STANDING, *COMING)
    assert (names(again), again.doubts) == ([*STANDING, *COMING], ())


def test_the_same_takes_the_standing_name_and_keeps_its_own_as_an_alias(alice: Actor) -> None:
    standing = {name: entity(alice, name, type_) for name, type_ in (("Git Hub", "tool"), ("Jörg Müller", "person"))}
    found = resolved(alice, ("GitHub", "tool"), ("Joerg Mueller", "person"), ("Jörg Müller", "concept"))
    assert names(found) == [("Git Hub", "tool"), ("Jörg Müller", "person"), ("Jörg Müller", "person")]
    assert found.rules == {0: "spelling", 1: "spelling", 2: "type_of_name"}
    assert merged(alice, found) == [standing["Git Hub"], standing["Jörg Müller"], standing["Jörg Müller"]]
    assert get_entity(actor=alice, name="joerg mueller").pk == standing["Jörg Müller"]
    assert resolved(alice, ("Joerg Mueller", "person")).rules == {}


@pytest.mark.parametrize(
    ("first", "second", "type_", "rule"),
    [
        ("Wren 🐦", "Wren 🌸", "person", "emoji"),
        ("Merrivale", "Merryvale", "topic", "near"),
        ("Robert Smith", "Bob Smith", "person", "nickname"),
    ],
    ids=["emoji", "near", "nickname"],
)
def test_a_doubt_is_asked_once_and_shown(alice: Actor, first: str, second: str, type_: str, rule: str) -> None:
    standing, said = entity(alice, first, type_), memory(alice, f"We met {second}.")
    found = resolved(alice, (second, type_))
    assert (names(found), [(one.entity_id, one.rule) for one in found.doubts]) == (
        [(second, type_)],
        [(standing, rule)],
    )
    ids = merged(alice, found, said)
    for asked in (1, 0):
        evidence = {0: [(said, f"We met {second}.")]}
        assert (
            open_doubts(actor=alice, resolution=found, entity_ids=ids, target=owner_wide(alice), evidence=evidence)
            == asked
        )
    with owner_scope(alice.owner_id):
        item = ReviewItem.objects.get()
        assert {item.payload["first"], item.payload["second"]} == {str(standing), str(ids[0])}
        assert (set(item.payload["names"]), item.payload["rule"]) == ({first, second}, rule)
        assert (item.kind, item.reason) == ("merge", f"merge.{rule}")


def test_two_names_of_one_batch_are_compared_too(alice: Actor) -> None:
    found = resolved(
        alice, ("Kubernetes", "tool"), ("Kuberentes", "tool"), ("Merrivale", "topic"), ("Merryvale", "topic")
    )
    assert [name for name, _ in names(found)] == ["Kubernetes", "Kubernetes", "Merrivale", "Merryvale"]
    ids = merged(alice, found)
    assert (ids[0], len(set(ids))) == (ids[1], 3)
    assert open_doubts(actor=alice, resolution=found, entity_ids=ids, target=owner_wide(alice)) == 1
    assert open_doubts(actor=alice, resolution=found, entity_ids=[None] * 4, target=owner_wide(alice)) == 0


def test_a_first_name_alone_is_asked_about_where_one_bears_it(alice: Actor) -> None:
    johnson = entity(alice, "Alice Johnson")
    assert [one.entity_id for one in resolved(alice, ("Alice", "person")).doubts] == [johnson]
    entity(alice, "Alice Smith")
    assert resolved(alice, ("Alice", "person")).doubts == ()


def test_pairs_that_a_person_kept_apart_are_not_proposed(alice: Actor, mallory: Actor) -> None:
    first = entity(alice, "Merrivale", "topic")
    found = resolved(alice, ("Merryvale", "topic"))
    second = merged(alice, found)[0]
    for _ in range(2):
        keep_apart(actor=alice, first_id=second, second_id=first)
    assert open_doubts(actor=alice, resolution=found, entity_ids=[second], target=owner_wide(alice)) == 0
    with pytest.raises(InvalidInput):
        keep_apart(actor=alice, first_id=first, second_id=first)
    with pytest.raises(NotFound):
        keep_apart(actor=mallory, first_id=first, second_id=second)


def test_other_scopes_and_owners_do_not_count(alice: Actor, mallory: Actor) -> None:
    entity(mallory, "Git Hub", "tool")
    assert names(resolved(alice, ("GitHub", "tool"))) == [("GitHub", "tool")]
    entity(alice, "Git Hub", "tool")
    private = resolve(
        actor=alice, drafts=[EntityDraft(name="GitHub", type="tool")], target=Target("agent", mallory.owner_id)
    )
    assert names(private) == [("GitHub", "tool")]


def test_a_batch_costs_a_few_statements_whatever_its_size(alice: Actor) -> None:
    for number in range(30):
        entity(alice, f"Project {chr(97 + number % 26)}{number}", "project")
    costs = []
    for size in (1, 200):
        drafts = [EntityDraft(name=f"Project thing{number}", type="project") for number in range(size)]
        with owner_scope(alice.owner_id), CaptureQueriesContext(connection) as queries:
            resolve(actor=alice, drafts=drafts, target=owner_wide(alice))
        costs.append(len([one for one in queries if "SAVEPOINT" not in one["sql"]]))
    assert costs[0] == costs[1] == 3


def test_names_that_cannot_be_used_are_left_for_the_merge(alice: Actor) -> None:
    assert [draft.name for draft in resolved(alice, ("", "person"), ("x" * 500, "topic"))] == ["", "x" * 500]
    assert search_entities(actor=alice) == []
