"""Changing an entity keeps it findable; deleting it takes what hangs on it and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from memory.errors import Conflict, InvalidInput, LociError, NotFound, PermissionRefused
from memory.models import AuditEvent, EntityName, owner_scope
from memory.services.actors import Actor
from memory.services.graph.entities import get_entity
from memory.services.graph.entity_changes import change_entity, delete_entity, memories_of
from memory.services.graph.happenings import add_causal_link, list_causes, list_events, merge_temporal_event
from memory.services.graph.merging import list_merges, merge_two
from memory.services.graph.searching import search_entities
from memory.services.graph.writing import Reference
from memory.services.retirement import archive_memory
from tests.integration.graph.conftest import entity, memory, relate
from tests.integration.graph.moments import FixedClock, day
from tests.integration.graph.snapshot import graph_of


def test_a_renamed_entity_is_found_by_both_names(alice: Actor) -> None:
    al = entity(alice, "Al", aliases=["Allan"], properties={"team": "red"})
    row = change_entity(
        actor=alice, entity_id=al, changes={"name": "Allan", "type": "topic", "importance": 0.9, "properties": {}}
    )
    assert (row.name, row.aliases, row.type, row.importance, row.properties) == ("Allan", ["Al"], "topic", 0.9, None)
    assert [found.pk for found in search_entities(actor=alice, query="al", types=["topic"])] == [al]
    for name in ("Al", "ALLAN"):
        assert get_entity(actor=alice, name=name, type_="topic").pk == al
    assert change_entity(actor=alice, entity_id=al, changes={"name": "allan"}).aliases == ["Al"]
    with owner_scope(alice.owner_id):
        assert set(EntityName.objects.values_list("type", flat=True)) == {"topic"}
        assert AuditEvent.objects.filter(verb="change", object_id=al).count() == 2


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "field": ({"mention_count": 5}, "field.unknown"),
    "type": ({"type": "animal"}, "type.invalid"),
    "name": ({"name": " "}, "text.empty"),
    "taken": ({"name": "bob"}, "alias.taken"),
    "taken in the other type": ({"type": "topic"}, "alias.taken"),
    "importance": ({"importance": 2}, "importance.out_of_range"),
}


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_change_that_cannot_be_is_refused_whole(alice: Actor, name: str) -> None:
    changes, code = BAD[name]
    al = entity(alice, "Al")
    entity(alice, "Bob")
    entity(alice, "Al", "topic")
    before = graph_of(alice)
    with pytest.raises((InvalidInput, Conflict)) as caught:
        change_entity(actor=alice, entity_id=al, changes={"properties": {"a": 1}, **changes})
    assert isinstance(caught.value, LociError)
    assert (caught.value.machine_code, graph_of(alice)) == (code, before)


def test_what_hangs_on_a_deleted_entity_goes(alice: Actor, make_agent: Callable[..., Any], mallory: Actor) -> None:
    ann, chess = entity(alice, "Ann"), entity(alice, "Chess", "topic")
    relate(alice, ann, "likes", chess)
    standing = graph_of(alice)
    said = memory(alice, "Al plays chess.")
    al = entity(alice, "Al", memory_id=said)
    relate(alice, al, "plays", chess)
    relate(alice, ann, "knows", al)
    ends = [Reference(entity_id=al), Reference(entity_id=ann)]
    merge_temporal_event(actor=alice, text="They met.", occurred_at=day("2026-01-01"), participants=ends)
    add_causal_link(actor=alice, cause="rain", effect="a cold", effect_entity=Reference(entity_id=al))
    merge_two(actor=alice, kept_id=al, merged_id=entity(alice, "Allan"))
    agent, _ = make_agent(alice)
    for actor, error in ((mallory, NotFound), (agent, PermissionRefused)):
        with pytest.raises(error):
            delete_entity(actor=actor, entity_id=al)
    assert delete_entity(actor=alice, entity_id=al) == 2
    after = graph_of(alice)
    for table in ("Entity", "EntityName", "EntityMention", "Relation"):
        assert after[table] == standing[table], table
    assert [[one.name for one in people] for _, people in list_events(actor=alice)] == [["Ann"]]
    assert [cause.effect_entity_id for cause in list_causes(actor=alice)] == [None]
    assert list_merges(actor=alice) == []
    with owner_scope(alice.owner_id):
        assert AuditEvent.objects.get(verb="delete", object_kind="entity").count == 3
    with pytest.raises(NotFound):
        delete_entity(actor=alice, entity_id=al)


def test_memories_of_an_entity_come_newest_first_to_those_who_may_read_them(
    alice: Actor, make_agent: Callable[..., Any], time: FixedClock
) -> None:
    writer, _ = make_agent(alice, "writer")
    spy, _ = make_agent(alice, "spy")
    said = []
    for number in range(4):
        time.moment += timedelta(hours=1)
        scope = "agent" if number == 1 else "owner"
        said.append(memory(writer, f"Al said {number}.", scope=scope))
        al = entity(writer, "Al", memory_id=said[-1], scope="owner")
    archive_memory(actor=alice, memory_id=said[3])
    newest = memories_of(actor=writer, entity_id=al, size=2)
    assert [row.pk for row in newest] == [said[2], said[1]]
    after = (newest[-1].created_at, newest[-1].pk)
    assert [row.pk for row in memories_of(actor=writer, entity_id=al, after=after)] == [said[0]]
    assert [row.text for row in memories_of(actor=spy, entity_id=al)] == ["Al said 2.", "Al said 0."]
