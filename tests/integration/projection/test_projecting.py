"""What stands in Neo4j after the projector was there: the graph, with as much text as is let out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import override_settings

from memory.crypto.keyring import keyring
from memory.graph.names import name_hash
from memory.models import DueWork, Entity, GraphPart, ProjectionState, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.due_work import run_due_work
from memory.services.graph.entities import add_alias
from memory.services.graph.merging import merge_two
from memory.services.graph.relations import retract_relation, supersede_relation
from memory.services.projection.projecting import project
from memory.services.projection.turn import Turn
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity, relate
from tests.integration.projection.conftest import asked, catch_up, edges, nodes, small_graph, standing, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_graph_stands_in_neo4j_as_it_does_here(alice: Actor, projected: BoltServer) -> None:
    made = small_graph(alice)
    assert catch_up(alice) == 5
    anna, aurora = (next(n for n in nodes(alice, "Entity") if n["id"] == str(made[who])) for who in ("anna", "aurora"))
    with owner_scope(alice.owner_id):
        row = Entity.objects.get(pk=made["anna"])
    assert anna["name_hash"] == name_hash(keyring().of(alice.owner_id), "Anna Weber")
    assert {**anna, "first_seen": None, "last_seen": None, "name_hash": None} == {
        "user_id": str(alice.owner_id),
        "id": str(made["anna"]),
        "name": "anna weber",
        "display_name": "Anna Weber",
        "type": "person",
        "importance": 0.5,
        "mention_count": 1,
        "stated": False,
        "scope": str(alice.owner_id),
        "visibility": "owner",
        "first_seen": None,
        "last_seen": None,
        "name_hash": None,
    }
    assert anna["first_seen"].to_native() == row.first_seen
    assert aurora["type"] == "project"
    assert edges(alice) == {("Anna Weber", "works_on", "Aurora")}
    relation = asked("MATCH ()-[r:RELATES_TO]->() RETURN properties(r) AS r")[0]["r"]
    assert relation["id"] == str(made["works"])
    assert not {"valid_until", "evidence"} & set(relation)
    event = asked("MATCH (e:Entity)-[:PARTICIPATED_IN]->(v:TemporalEvent) RETURN v, collect(e.id) AS who")[0]
    assert set(event["who"]) == {str(made["anna"]), str(made["aurora"])}
    assert event["v"]["occurred_at"].to_native() == datetime(2026, 3, 2, tzinfo=UTC)
    links = asked(
        "MATCH (a:Entity)-[:CAUSED_BY {direction: 'cause'}]->(c:CausalLink)-[:CAUSED_BY {direction: 'effect'}]->(b)"
        " RETURN a.id AS cause, c.id AS link, b.id AS effect"
    )
    assert links == [{"cause": str(made["anna"]), "link": str(made["cause"]), "effect": str(made["aurora"])}]
    assert standing(alice).state == ProjectionState.FOLLOWING
    assert not waiting(alice)


def test_names_and_aliases_lead_to_entities_by_their_hashes(alice: Actor, projected: BoltServer) -> None:
    made = small_graph(alice)
    catch_up(alice)
    ring = keyring().of(alice.owner_id)

    def led_to(name: str) -> list[Any]:
        found = asked(
            "MATCH (:EntityName {user_id: $owner, hash: $hash})-[:NAMES]->(e:Entity) RETURN e.id AS id",
            owner=str(alice.owner_id),
            hash=name_hash(ring, name),
        )
        return [row["id"] for row in found]

    assert led_to("Anna Weber") == led_to("ANNIE") == [str(made["anna"])]
    assert led_to("Weber") == []
    add_alias(actor=alice, entity_id=made["anna"], alias="Weber")
    catch_up(alice)
    assert led_to("Weber") == [str(made["anna"])]


def test_what_changes_is_followed(alice: Actor, projected: BoltServer) -> None:
    made = small_graph(alice)
    catch_up(alice)
    ben = entity(alice, "Ben")
    relate(alice, made["anna"], "knows", ben)
    supersede_relation(actor=alice, relation_id=made["works"], valid_until="2026-05-01")
    assert catch_up(alice) >= 3
    assert edges(alice) == {("Anna Weber", "works_on", "Aurora"), ("Anna Weber", "knows", "Ben")}
    ended = asked("MATCH ()-[r:RELATES_TO {id: $id}]->() RETURN r.valid_until AS until", id=str(made["works"]))
    assert ended[0]["until"].to_native() == datetime(2026, 5, 1, tzinfo=UTC)
    retract_relation(actor=alice, relation_id=made["works"])
    catch_up(alice)
    assert edges(alice) == {("Anna Weber", "knows", "Ben")}


def test_a_merge_moves_relations_and_takes_the_entity_away(alice: Actor, projected: BoltServer) -> None:
    made = small_graph(alice)
    other, ben = entity(alice, "A. Weber"), entity(alice, "Ben")
    relate(alice, other, "knows", ben)
    catch_up(alice)
    merge_two(actor=alice, kept_id=made["anna"], merged_id=other)
    catch_up(alice)
    assert {n["display_name"] for n in nodes(alice, "Entity")} == {"Anna Weber", "Aurora", "Ben"}
    assert edges(alice) == {("Anna Weber", "works_on", "Aurora"), ("Anna Weber", "knows", "Ben")}


def test_what_was_projected_twice_stands_once(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    whole = asked("MATCH (n) RETURN count(n) AS n")[0]["n"]
    with owner_scope(alice.owner_id):
        Entity.objects.update(importance=0.75)
    catch_up(alice)
    catch_up(alice, anew=True)
    assert asked("MATCH (n) RETURN count(n) AS n")[0]["n"] == whole
    assert asked("MATCH ()-[r:RELATES_TO]->() RETURN count(r) AS n")[0]["n"] == 1
    assert {n["importance"] for n in nodes(alice, "Entity")} == {0.75}


def test_owners_stand_apart(alice: Actor, mallory: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    entity(mallory, "Anna Weber")
    catch_up(alice)
    catch_up(mallory)
    assert len(nodes(alice, "Entity")) == 2
    assert len(nodes(mallory, "Entity")) == 1
    assert asked("MATCH (a)--(b) WHERE a.user_id <> b.user_id RETURN count(*) AS n")[0]["n"] == 0


@pytest.mark.parametrize("text", ["names", "all", "hashed"])
def test_as_much_text_leaves_as_is_let_out(alice: Actor, projected: BoltServer, text: str) -> None:
    small_graph(alice)
    with override_settings(NEO4J_TEXT=text):
        catch_up(alice)
    every = asked("MATCH (n) RETURN properties(n) AS p UNION ALL MATCH ()-[r]->() RETURN properties(r) AS p")
    told = "\n".join(str(value) for row in every for value in row["p"].values())
    names = ["Anna Weber", "anna weber", "Aurora", "works_on"]
    texts = ["first talk", "went well", "its money", "Graz", "jasmine"]
    assert all((name in told) == (text != "hashed") for name in names)
    assert [one for one in texts if one in told] == ([] if text != "all" else texts[:4])
    assert "Annie" not in told


def test_another_choice_of_text_builds_anew(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    with override_settings(NEO4J_TEXT="all"):
        catch_up(alice)
    assert "description" in nodes(alice, "TemporalEvent")[0]
    before = standing(alice).generation
    catch_up(alice)
    assert standing(alice).generation != before
    assert "first talk" not in nodes(alice, "TemporalEvent")[0]["description"]


def test_the_worker_projects_what_is_due(alice: Actor, projected: BoltServer) -> None:
    catch_up(alice)
    small_graph(alice)
    assert run_due_work(at=now())[DueWork.PROJECT] == 5
    assert edges(alice) == {("Anna Weber", "works_on", "Aurora")}
    assert not DueWork.objects.filter(job=DueWork.PROJECT).exists()


def test_a_building_goes_on_where_its_turn_ended(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.services.projection.building.PAGE", 2)
    for number in range(7):
        entity(alice, f"Entity {number}")
    turns = 0
    while not project(owner_id=alice.owner_id, turn=Turn(until=0)):
        turns += 1
        position = standing(alice).position
        assert position["part"] == GraphPart.ENTITY
        if turns == 1:
            entity(alice, "Latecomer")
    assert turns >= 4
    assert len(nodes(alice, "Entity")) == 8
