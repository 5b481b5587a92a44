"""The graph in exports: it comes back whole at another owner's, joined to the memories, and within its scopes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.models import Entity, EntityMention, GraphEvidence, Memory, owner_scope
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.exporting import export_stream
from memory.services.graph import importing
from memory.services.graph.edges import edges_of, link_memories
from memory.services.graph.entities import get_entity
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from memory.services.graph.merging import merge_two
from memory.services.graph.relations import relations_of, retract_relation
from memory.services.graph.writing import Reference
from memory.services.importing import Imported, import_document
from memory.services.retirement import archive_memory, delete_memory, erase_due
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.graph.conftest import entity, memory, relate
from tests.integration.graph.moments import FixedClock

PARTS = ("entities", "relations", "events", "causes", "edges")


def exported(actor: Actor, form: str = "loci") -> Any:
    return json.loads("".join(export_stream(actor=actor, form=form)))


def created(found: Imported) -> dict[str, int]:
    return {part: counts["created"] for part, counts in found.graph.items()}


@pytest.fixture
def document(alice: Actor, time: FixedClock) -> Any:
    """Alice's export: people, homes in two times, an event, a cause, links, an archived memory and a turn."""
    fact = memory(alice, "Al lives in Lisbon.", source="user:al")
    said = ingest_turns(actor=alice, session="s", turns=[TurnDraft(draft=Draft(text="I moved to Porto."))]).turns[0]
    assert said.memory_id is not None
    old = memory(alice, "Al lived in Faro.")
    archive_memory(actor=alice, memory_id=old)
    al = entity(alice, "Al", aliases=["Alan"], properties={"born": 1980}, importance=0.9, memory_id=fact)
    entity(alice, "Al", memory_id=said.memory_id)
    entity(alice, "Al", memory_id=old)
    for place in ("Lisbon", "Porto", "Faro"):
        entity(alice, place, "concept", memory_id=fact)
    entity(alice, "Bo")
    relate(alice, "Al", "lives_in", "Faro", memory_id=old, valid_from="2010-01-01", evidence="lived in Faro")
    time.moment += timedelta(days=1)
    relate(alice, "Al", "lives_in", "Lisbon", memory_id=fact, valid_from="2020-01-01", weight=0.8, confidence=0.7)
    time.moment += timedelta(days=1)
    relate(alice, "Al", "lives_in", "Porto", memory_id=said.memory_id, valid_from="2024-01-01")
    wrong = relate(alice, "Al", "knows", "Bo").relation
    retract_relation(actor=alice, relation_id=wrong.pk)
    relate(alice, al, "knows", "Bo", valid_from="2021-01-01")
    merge_temporal_event(
        actor=alice, text="Al moved", occurred_at="2024-01-01", participants=[Reference(name="Al")], memory_id=fact
    )
    add_causal_link(
        actor=alice, cause="a new job", effect="the move", cause_entity=Reference(name="Al"), confidence=0.6
    )
    link_memories(
        actor=alice, source_id=fact, target_id=said.memory_id, kind="contradicts", weight=0.9, relationship="moved on",
        insight_id=old,
    )  # fmt: skip
    time.moment += timedelta(days=30)
    return exported(alice)


def plain(document: Any) -> dict[str, list[Any]]:
    """Give the graph of an export with names and texts in place of ids, in an order of its own."""
    texts = {item["id"]: item["content"] for item in document["memories"]}
    names = {item["id"]: item["name"] for item in document["entities"]}

    def spoken(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: spoken(inner, name) for name, inner in value.items() if name != "id"}
        if isinstance(value, list):
            return sorted((spoken(inner, key) for inner in value), key=str)
        return texts.get(value) or names.get(value) or value if isinstance(value, str) else value

    return {part: spoken(document[part]) for part in PARTS}


def test_what_an_export_holds(document: Any) -> None:
    assert document["format"] == "loci-export/2"
    assert {part: len(document[part]) for part in PARTS} == {
        "entities": 5, "relations": 5, "events": 1, "causes": 1, "edges": 1,
    }  # fmt: skip
    al = next(item for item in plain(document)["entities"] if item["name"] == "Al")
    assert al["mentions"] == ["Al lived in Faro.", "Al lives in Lisbon.", "I moved to Porto."]
    assert (al["aliases"], al["properties"], al["mention_count"], al["stated"]) == (["Alan"], {"born": 1980}, 3, False)
    homes = {item["target"]: item for item in plain(document)["relations"] if item["label"] == "lives_in"}
    assert {name: item.get("valid_until") for name, item in homes.items()} == {
        "Faro": "2020-01-01T00:00:00Z", "Lisbon": "2024-01-01T00:00:00Z", "Porto": None,
    }  # fmt: skip
    assert homes["Faro"]["evidence"] == [{"memory": "Al lived in Faro.", "text": "lived in Faro"}]
    assert all(item["recorded_at"] < item.get("closed_at", "9") for item in homes.values())
    assert sum("retracted_at" in item for item in document["relations"]) == 1


def test_it_comes_back_whole_in_a_fresh_owner(document: Any, mallory: Actor) -> None:
    found = import_document(actor=mallory, document=json.loads(json.dumps(document)))
    assert found.errors == []
    assert created(found) == {"entities": 5, "relations": 5, "events": 1, "causes": 1, "edges": 1}
    assert plain(exported(mallory)) == plain(document)
    al = get_entity(actor=mallory, name="alan")
    now_there = relations_of(actor=mallory, entity_id=al.pk, label="lives_in")
    assert [(row.target.name, row.weight) for row in now_there] == [("Porto", 0.5)]
    then = relations_of(actor=mallory, entity_id=al.pk, label="lives_in", valid_at="2015-01-01")
    assert [row.target.name for row in then] == ["Faro"]
    with owner_scope(mallory.owner_id):
        fact = next(row for row in Memory.objects.all() if row.text == "Al lives in Lisbon.")
    (linked,) = edges_of(actor=mallory, memory_id=fact.pk)
    assert (linked.memory.text, linked.edge.relationship, linked.edge.insight_id is not None) == (
        "I moved to Porto.", "moved on", True,
    )  # fmt: skip


def test_importing_twice_adds_nothing(document: Any, mallory: Actor) -> None:
    import_document(actor=mallory, document=document)
    before = plain(exported(mallory))
    again = import_document(actor=mallory, document=document)
    assert again.errors == []
    assert set(created(again).values()) == {0}
    assert plain(exported(mallory)) == before


def test_erasing_a_memory_takes_its_part_of_an_imported_graph(document: Any, mallory: Actor, time: FixedClock) -> None:
    import_document(actor=mallory, document=document)
    with owner_scope(mallory.owner_id):
        said = next(row for row in Memory.objects.all() if row.text == "I moved to Porto.")
    delete_memory(actor=mallory, memory_id=said.pk)
    erase_due(owner_id=mallory.owner_id, at=time.moment + timedelta(minutes=1))
    al = get_entity(actor=mallory, name="Al")
    labels = [(row.label, row.target.name) for row in relations_of(actor=mallory, entity_id=al.pk)]
    assert labels == [("knows", "Bo")]


def test_what_is_believed_here_is_settled_with_what_comes(document: Any, mallory: Actor) -> None:
    for name, type_ in (("Al", "person"), ("Braga", "concept")):
        entity(mallory, name, type_)
    relate(mallory, "Al", "lives_in", "Braga", valid_from="2025-01-01")
    import_document(actor=mallory, document=document)
    al = get_entity(actor=mallory, name="Al")
    homes = relations_of(actor=mallory, entity_id=al.pk, label="lives_in", superseded=True)
    ends = {row.target.name: row.valid_until and f"{row.valid_until:%Y}" for row in homes}
    assert ends == {"Braga": None, "Porto": "2025", "Lisbon": "2024", "Faro": "2020"}


def test_the_graph_of_a_scope_stays_within_it(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    mine, _ = make_agent(alice, "mine", scopes=["memory:read", "memory:write", "transfer"])
    other, _ = make_agent(alice, "other", scopes=["memory:read", "memory:write", "transfer"])
    secret = memory(mine, "The code is 7.", scope="agent")
    shared = memory(mine, "Tea is warm.")
    entity(mine, "Safe", "concept", scope="agent", memory_id=secret)
    entity(mine, "Tea", "concept", scope="owner", memory_id=shared)
    entity(mine, "Tea", "concept", scope="owner", memory_id=secret)
    entity(mine, "Cup", "concept")
    relate(mine, "Safe", "holds", "Tea", scope="agent", memory_id=secret)
    relate(mine, "Tea", "fills", "Cup", scope="owner", memory_id=secret, evidence="the code is 7")
    link_memories(actor=mine, source_id=secret, target_id=shared)
    seen = exported(other)
    assert [item["name"] for item in seen["entities"]] == ["Tea", "Cup"]
    assert [item["evidence"] for item in seen["relations"]] == [[]]
    assert "code is 7" not in json.dumps(seen)
    assert [item["mentions"] for item in seen["entities"] if item["name"] == "Tea"] == [[str(shared)]]
    assert seen["edges"] == []
    assert [item["label"] for item in seen["relations"]] == ["fills"]
    everything = exported(alice)
    assert {part: len(everything[part]) for part in ("entities", "relations", "edges")} == {
        "entities": 3, "relations": 2, "edges": 1,
    }  # fmt: skip
    agent, _ = make_agent(mallory, "theirs", scopes=["memory:read", "memory:write", "transfer"])
    import_document(actor=agent, document=everything, scope="agent")
    with owner_scope(mallory.owner_id):
        assert {row.scope for row in Entity.objects.all()} == {agent.agent_id}
        assert {row.scope for row in GraphEvidence.objects.all()} == {agent.agent_id}


def test_former_exports_are_taken_and_have_no_graph(document: Any, mallory: Actor) -> None:
    former = {**document, "format": "loci-export/1"}
    found = import_document(actor=mallory, document=former)
    assert (found.created, found.graph) == (3, {})
    with owner_scope(mallory.owner_id):
        assert not Entity.objects.exists()


def test_the_other_form_has_no_graph(document: Any, alice: Actor) -> None:
    assert not set(PARTS) & set(exported(alice, "engram"))


def test_bad_items_are_reported_and_the_others_stored(mallory: Actor) -> None:
    document = {
        "format": "loci-export/2",
        "memories": [{"id": "m", "content": "Tea is warm."}, {"id": ["n"], "content": "Tea is green."}],
        "entities": [
            {"id": "a", "type": "person", "name": "Al", "mentions": ["m", "nowhere", 7]},
            {"id": "b", "type": "planet", "name": "Bo"},
            {"id": "c", "type": "person"},
            "text",
            {"id": "d", "type": "person", "name": "Di", "aliases": "Diana"},
            {"id": "e", "type": ["person"], "name": "Ed"},
            {"id": ["f"], "type": "person", "name": "Flo", "mention_count": "many", "importance": 0.3},
            {"id": "g", "type": "person\0", "name": "Gus"},
            {"id": "h", "type": "\ud800", "name": "Hal"},
        ],
        "relations": [
            {"source": "a", "label": "knows", "target": "nobody", "valid_from": "2020-01-01"},
            {"source": "a", "label": "knows", "target": "a", "valid_from": "2020-01-01"},
            {"source": ["a"], "label": "knows", "target": "a"},
        ],
        "events": [{"text": "", "occurred_at": "2020-01-01"}, {"text": "moved", "occurred_at": "never"}],
        "causes": [{"cause": "x"}, {"cause": "x", "effect": "y", "evidence": ["m"]}],
        "edges": [{"source": "m", "target": "m", "kind": "supports"}, {"source": "m", "target": "x"}],
    }
    found = import_document(actor=mallory, document=document)
    assert [(error["part"], error["index"]) for error in found.errors] == [
        ("entities", 1), ("entities", 2), ("entities", 3), ("entities", 4), ("entities", 5),
        ("entities", 7), ("entities", 8), ("relations", 1), ("events", 0), ("events", 1),
        ("causes", 0), ("causes", 1), ("edges", 0),
    ]  # fmt: skip
    assert created(found) == {"entities": 2, "relations": 0, "events": 0, "causes": 0, "edges": 0}
    assert [found.graph[part]["skipped"] for part in ("relations", "edges")] == [2, 1]
    with owner_scope(mallory.owner_id):
        assert EntityMention.objects.count() == 1


def crowd(count: int) -> Any:
    """Make a graph of people who know the next one, each of whom one memory speaks."""
    day = "2020-01-01"
    return {
        "format": "loci-export/2",
        "memories": [{"id": "m", "content": "All of them came."}],
        "entities": [
            {"id": str(n), "type": "person", "name": f"Person {n}", "aliases": [f"P{n}"], "mentions": ["m"],
             "mention_count": n % 7, "importance": 0.3, "stated": n % 2 == 0, "first_seen": day}
            for n in range(count)
        ],
        "relations": [
            {"source": str(n), "label": "lives_in" if n % 3 else "knows", "target": str((n + 1) % count),
             "valid_from": day, "weight": 0.4, "evidence": [{"memory": "m", "text": f"words {n}"}]}
            for n in range(count)
        ],
    }  # fmt: skip


def test_a_large_graph_is_taken_in_a_few_statements(mallory: Actor) -> None:
    document = crowd(1_500)
    for expected in (1_500, 0):
        with owner_scope(mallory.owner_id), CaptureQueriesContext(connection) as statements:
            found = import_document(actor=mallory, document=document)
        assert found.errors == []
        assert {part: found.graph[part]["created"] for part in ("entities", "relations")} == dict.fromkeys(
            ("entities", "relations"), expected
        )
        assert len(statements) < 250
    with owner_scope(mallory.owner_id):
        assert EntityMention.objects.count() == GraphEvidence.objects.count() == 1_500


def test_taken_together_is_what_is_taken_one_by_one(
    document: Any, alice: Actor, mallory: Actor, make_owner: Callable[..., Actor], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = crowd(12)
    more["entities"] += [
        {"id": "a", "type": "person", "name": "P3"},
        {"id": "b", "type": "person", "name": "Twin", "aliases": ["person 5"]},
        {"id": "c", "type": "topic", "name": "Person 5"},
        {"id": "d", "type": "person", "name": "Twin", "aliases": ["Gemini"], "properties": {"n": 1}},
        {"id": "e", "type": "planet", "name": "Person 6"},
        {"id": "f", "type": "person", "name": "Person 7", "first_seen": "never"},
    ]
    more["relations"] += [
        {**more["relations"][0], "evidence": [{"memory": None, "text": "again"}]},
        {**more["relations"][1], "valid_until": "2021-01-01", "closed_at": "2021-02-01"},
        {**more["relations"][1], "target": "9", "valid_from": "2022-01-01"},
        {**more["relations"][2], "retracted_at": "2021-02-01"},
        {**more["relations"][3], "evidence": ["bad"]},
        {**more["relations"][4], "weight": 7},
    ]
    outcomes = []
    for owner, together in ((mallory, True), (make_owner("trudy"), False)):
        if not together:
            monkeypatch.setattr(importing, "_TOGETHER", {})
        counted = []
        for name in ("Person 1", "Person 2"):
            entity(owner, name)
        relate(owner, "Person 1", "lives_in", entity(owner, "Moon", "topic"), valid_from="2021-01-01")
        for one in (document, more, more):
            found = import_document(actor=owner, document=one)
            counted.append((found.graph, sorted((one["part"], one["index"], one["code"]) for one in found.errors)))
        outcomes.append((counted, plain(exported(owner))))
    assert outcomes[0][0] == outcomes[1][0]
    assert outcomes[0][1] == outcomes[1][1]


def test_an_entity_that_was_merged_from_several_keeps_all_its_names(alice: Actor, mallory: Actor) -> None:
    kept = entity(alice, "Robert", aliases=[f"Robert {number}" for number in range(40)])
    gone = entity(alice, "Bob", aliases=[f"Bob {number}" for number in range(40)])
    relate(alice, kept, "knows", entity(alice, "Ann"))
    merge_two(actor=alice, kept_id=kept, merged_id=gone)
    document = exported(alice)
    for outcome in ({"entities": 2, "relations": 1}, {"entities": 0, "relations": 0}):
        found = import_document(actor=mallory, document=document)
        assert found.errors == []
        assert {part: found.graph[part]["created"] for part in outcome} == outcome
    assert len(get_entity(actor=mallory, name="Bob 39").aliases or ()) == 81


def test_belief_cannot_begin_ahead(mallory: Actor, time: FixedClock) -> None:
    ahead = "2100-01-01T00:00:00Z"
    document = {
        "format": "loci-export/2",
        "memories": [],
        "entities": [
            {"id": name, "type": "person", "name": name, "first_seen": ahead, "last_seen": ahead} for name in "ab"
        ],
        "relations": [
            {
                "source": "a", "label": "knows", "target": "b", "valid_from": "2020-01-01", "recorded_at": ahead,
                "valid_until": "2021-01-01", "closed_at": ahead, "last_seen": ahead,
            }
        ],
    }  # fmt: skip
    assert import_document(actor=mallory, document=document).errors == []
    (relation,) = exported(mallory)["relations"]
    at = time.moment.isoformat().replace("+00:00", "Z")
    assert {relation[name] for name in ("recorded_at", "closed_at", "last_seen")} == {at}
