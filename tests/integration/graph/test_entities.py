"""Entities: one name is one entity, found in any spelling by those who may read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError

from memory.errors import Conflict, InvalidInput, InvalidScope, LociError, NotFound, TooLarge
from memory.models import Entity, EntityMention, owner_scope
from memory.services.actors import Actor
from memory.services.graph.entities import (
    EntityDraft,
    add_alias,
    get_entity,
    merge_entities,
    merge_entity,
)
from memory.services.graph.searching import search_entities
from tests.integration.graph.conftest import entity, memory
from tests.integration.graph.moments import FixedClock, day


def names(actor: Actor, query: str, **options: Any) -> list[str]:
    return [row.name for row in search_entities(actor=actor, query=query, **options)]


def test_the_same_name_is_one_entity_and_counts_its_mentions(alice: Actor, time: FixedClock) -> None:
    first = merge_entity(actor=alice, draft=EntityDraft(name="Renée Müller", type="person", importance=0.8))
    time.moment = day("2026-03-05")
    again = merge_entity(actor=alice, draft=EntityDraft(name="  RENEE   muller ", type="person", importance=0.9))
    assert (first.created, again.created, again.entity_id) == (True, False, first.entity_id)
    row = get_entity(actor=alice, name="renée MULLER")
    assert (row.name, row.mention_count, row.importance) == ("Renée Müller", 2, 0.9)
    assert (row.first_seen, row.last_seen) == (day("2026-03-01"), day("2026-03-05"))
    lower = merge_entity(actor=alice, draft=EntityDraft(name="Renée Müller", type="person", importance=0.1))
    assert get_entity(actor=alice, entity_id=lower.entity_id).importance == 0.9


def test_another_type_or_number_is_another_entity(alice: Actor) -> None:
    rooms = [("Room 101", "topic"), ("Room 102", "topic"), ("Q3 report", "topic"), ("Q4 report", "topic")]
    wrens = [("Wren 🐦", "person"), ("Wren 🦜", "person"), ("Wren", "person")]
    pairs = [("Python", "tool"), ("Python", "topic"), *rooms, *wrens]
    assert len({entity(alice, name, type_) for name, type_ in pairs}) == len(pairs)


def test_500_repeated_entities_of_one_memory_are_one_mention(alice: Actor) -> None:
    said = memory(alice, "Al, Al, Al.")
    drafts = [EntityDraft(name="Al", type="person") for _ in range(500)]
    for _ in range(2):
        merged = merge_entities(actor=alice, drafts=drafts, memory_id=said)
        assert len({one.entity_id for one in merged}) == 1
    assert get_entity(actor=alice, name="Al").mention_count == 1
    entity(alice, "Al", memory_id=memory(alice, "Al again."))
    assert get_entity(actor=alice, name="Al").mention_count == 2
    with pytest.raises(InvalidInput) as caught:
        merge_entities(actor=alice, drafts=[*drafts, *drafts])
    assert caught.value.machine_code == "batch.size"


def test_aliases_find_the_entity_and_belong_to_one(alice: Actor) -> None:
    robert = entity(alice, "Robert Smith", aliases=["Bob", "bob", "Robert Smith"], properties={"team": "blue"})
    assert get_entity(actor=alice, name="BOB").pk == robert
    assert get_entity(actor=alice, entity_id=robert).aliases == ["bob"]
    assert entity(alice, "Bob", properties={"city": "Rome"}) == robert
    assert get_entity(actor=alice, entity_id=robert).properties == {"team": "blue", "city": "Rome"}
    add_alias(actor=alice, entity_id=robert, alias="Robbie")
    add_alias(actor=alice, entity_id=robert, alias="robbie")
    assert get_entity(actor=alice, name="robbie").aliases == ["bob", "Robbie"]
    other = entity(alice, "Roberta")
    with pytest.raises(Conflict) as caught:
        add_alias(actor=alice, entity_id=other, alias="Bob")
    assert caught.value.machine_code == "alias.taken"
    merged = merge_entity(actor=alice, draft=EntityDraft(name="Roberta", type="person", aliases=["BOB", "Berta"]))
    assert (merged.created, merged.aliases_taken) == (False, ("BOB",))
    assert get_entity(actor=alice, name="berta").pk == other


def test_search_by_words_and_beginnings(alice: Actor) -> None:
    for name in ("Alice Smith", "Alan Smithson"):
        entity(alice, name)
    entity(alice, "Smith & Co", "organization")
    entity(alice, "東京タワー", "topic")
    entity(alice, "Alan Smithson")
    assert names(alice, "smith") == ["Alan Smithson", *sorted(["Smith & Co", "Alice Smith"], reverse=True)]
    assert names(alice, "al smi") == ["Alan Smithson", "Alice Smith"]
    assert names(alice, "smi", types=["organization"]) == ["Smith & Co"]
    assert names(alice, "mith") == []
    assert names(alice, "東京") == ["東京タワー"]
    assert [row.name for row in search_entities(actor=alice, name="ALICE smith")] == ["Alice Smith"]
    with pytest.raises(InvalidInput) as caught:
        names(alice, "...")
    assert caught.value.machine_code == "q.invalid"


def test_pages_show_each_once(alice: Actor) -> None:
    merge_entities(actor=alice, drafts=[EntityDraft(name=f"Thing {number}") for number in range(25)])
    seen: list[UUID] = []
    after = None
    while rows := search_entities(actor=alice, query="thing", after=after, size=10):
        seen += [row.pk for row in rows]
        after = (rows[-1].mention_count, rows[-1].pk)
    assert (len(seen), len(set(seen))) == (25, 25)


def test_another_owner_has_its_own(alice: Actor, mallory: Actor) -> None:
    mine, theirs = entity(alice, "Al"), entity(mallory, "Al")
    assert mine != theirs
    assert names(mallory, "al") == ["Al"]
    with pytest.raises(NotFound):
        get_entity(actor=mallory, entity_id=mine)
    with pytest.raises(NotFound):
        add_alias(actor=mallory, entity_id=mine, alias="Ally")
    with pytest.raises(NotFound):
        entity(mallory, "Al", memory_id=memory(alice, "Al was here."))
    said = memory(alice, "Al was here again.")
    with pytest.raises(IntegrityError, match="foreign key"), owner_scope(alice.owner_id):
        EntityMention(entity_id=theirs, memory_id=said).save(force_insert=True)


def test_what_one_agent_keeps_to_itself(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    agent, _ = make_agent(alice, "assistant")
    colleague, _ = make_agent(alice, "colleague")
    private = entity(agent, "Zorro", memory_id=memory(agent, "Zorro is my user.", scope="agent"))
    assert get_entity(actor=agent, name="zorro").pk == private
    assert get_entity(actor=alice, name="zorro").pk == private
    with pytest.raises(NotFound):
        get_entity(actor=colleague, entity_id=private)
    with pytest.raises(NotFound):
        get_entity(actor=colleague, name="zorro")
    with pytest.raises(NotFound):
        add_alias(actor=colleague, entity_id=private, alias="Z")
    assert names(colleague, "zorro") == []
    shared = entity(colleague, "Zorro")
    assert shared != private
    assert names(agent, "zorro") == names(alice, "zorro") == ["Zorro", "Zorro"]
    with pytest.raises(InvalidScope):
        entity(agent, "Nobody", scope="*")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"name": ""}, "text.empty"),
        ({"name": "a\x00b"}, "text.nul"),
        ({"name": "\ud800"}, "text.surrogate"),
        ({"name": 7}, "field.type"),
        ({"name": "x" * 201}, "name.too_long"),
        ({"type": "animal"}, "type.invalid"),
        ({"importance": 2}, "importance.out_of_range"),
        ({"aliases": ["a"] * 51}, "aliases.too_many"),
        ({"properties": {"a": "b" * 20_000}}, "properties.too_large"),
        ({"properties": {"a": float("nan")}}, "properties.invalid"),
        ({"seen_at": "soon"}, "date.invalid"),
    ],
    ids=str,
)
def test_bad_input_is_refused(alice: Actor, fields: dict[str, Any], code: str) -> None:
    with pytest.raises((InvalidInput, TooLarge)) as caught:
        merge_entity(actor=alice, draft=EntityDraft(**{"name": "Al", **fields}))
    assert isinstance(caught.value, LociError)
    assert caught.value.machine_code == code
    with owner_scope(alice.owner_id):
        assert not Entity.objects.exists()
