"""A projection is compared with the rows, and what differs is put right."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from memory.models import GraphProjection
from memory.services.actors import Actor
from memory.services.projection.comparing import compare
from memory.services.projection.verifying import Verified, verify
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity
from tests.integration.projection.conftest import asked, catch_up, edges, nodes, small_graph, told

pytestmark = pytest.mark.django_db(transaction=True)

DAMAGES = {
    "a node that is gone": "MATCH (e:Entity {display_name: 'Aurora'}) DETACH DELETE e",
    "a relation that is gone": "MATCH ()-[r:RELATES_TO]->() DELETE r",
    "a node too many": "MATCH (p:Projection) CREATE (:TemporalEvent {user_id: p.user_id, id: 'ffffffff-0000-7000-8000-0123456789ab'})",  # noqa: E501
    "a relation twice": "MATCH (s)-[r:RELATES_TO]->(t) CREATE (s)-[x:RELATES_TO]->(t) SET x = properties(r)",
    "a name changed": "MATCH (e:Entity {display_name: 'Aurora'}) SET e.display_name = 'Borealis'",
    "a weight changed": "MATCH ()-[r:RELATES_TO]->() SET r.weight = 0.99",
    "a property too many": "MATCH (c:CausalLink) SET c.effect = 'told', c.more = 1",
    "a participation that is gone": "MATCH ()-[r:PARTICIPATED_IN]->() WITH r LIMIT 1 DELETE r",
    "a cause that is gone": "MATCH ()-[r:CAUSED_BY {direction: 'cause'}]->() DELETE r",
    "a name that is gone": "MATCH (n:EntityName) WITH n LIMIT 1 DETACH DELETE n",
    "a name at another entity": "MATCH (n:EntityName)-[r:NAMES]->(:Entity {display_name: 'Aurora'}) MATCH (e:Entity {display_name: 'Anna Weber'}) DELETE r CREATE (n)-[:NAMES]->(e)",  # noqa: E501
    "a name at two entities": "MATCH (n:EntityName)-[:NAMES]->(:Entity {display_name: 'Aurora'}) MATCH (e:Entity {display_name: 'Anna Weber'}) CREATE (n)-[:NAMES {user_id: n.user_id}]->(e)",  # noqa: E501
    "a name at nothing": "MATCH (p:Projection) CREATE (:EntityName {user_id: p.user_id, entity_id: 'x', hash: 1})",
    "a hash that is none": "MATCH (n:EntityName)-[:NAMES]->(:Entity {display_name: 'Aurora'}) SET n.hash = 'x'",
    "hashes of several sorts": "MATCH (n:EntityName)-[:NAMES]->(:Entity {display_name: 'Anna Weber'}) WITH n LIMIT 1 REMOVE n.hash",  # noqa: E501
    "a moment that is none": "MATCH (e:Entity {display_name: 'Aurora'}) SET e.first_seen = 'x', e.last_seen = time()",
    "an id that is none": "MATCH (p:Projection) CREATE (:Entity {user_id: p.user_id, id: '01a2-foo'})",
    "an id behind all": "MATCH (p:Projection) CREATE (:Entity {user_id: p.user_id, id: 'zzz'})",
    "an id before all": "MATCH (p:Projection) CREATE (:Entity {user_id: p.user_id, id: '00000000-0000-0000-0000-000000000000'})",  # noqa: E501
    "an id in capitals": "MATCH (p:Projection) CREATE (:Entity {user_id: p.user_id, id: 'FFFFFFFF-0000-7000-8000-0123456789AB'})",  # noqa: E501
    "no id": "MATCH (p:Projection) CREATE (:Entity {user_id: p.user_id})",
    "a number as id": "MATCH (p:Projection) CREATE (:TemporalEvent {user_id: p.user_id, id: 17})",
    "a list as id": "MATCH (p:Projection) CREATE (:CausalLink {user_id: p.user_id, id: ['x']})",
    "a relation without an id": "MATCH (s)-[r:RELATES_TO]->(t) CREATE (s)-[:RELATES_TO {user_id: r.user_id}]->(t)",
    "a relation of nobody": "MATCH (s)-[r:RELATES_TO]->(t) CREATE (s)-[:RELATES_TO {id: r.id}]->(t)",
    "a relation to itself": "MATCH (e:Entity {display_name: 'Aurora'}) CREATE (e)-[:RELATES_TO]->(e)",
    "a relation to elsewhere": "MATCH (e:Entity {display_name: 'Aurora'}) CREATE (e)-[:RELATES_TO {user_id: 'x', id: 'x'}]->(:Other)",  # noqa: E501
    "a relation from elsewhere": "MATCH (e:Entity {display_name: 'Aurora'}) CREATE (:Other)-[:RELATES_TO {user_id: e.user_id, id: e.id}]->(e)",  # noqa: E501
    "a participation the wrong way": "MATCH (e:Entity {display_name: 'Aurora'}), (v:TemporalEvent) CREATE (v)-[:PARTICIPATED_IN {user_id: e.user_id}]->(e)",  # noqa: E501
    "a cause of another": "MATCH (e:Entity {display_name: 'Aurora'}) CREATE (e)-[:CAUSED_BY {user_id: e.user_id}]->(:CausalLink {user_id: 'x'})",  # noqa: E501
}


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_what_differs_is_found_and_put_right(alice: Actor, projected: BoltServer, damage: str) -> None:
    small_graph(alice)
    catch_up(alice)
    assert compare(owner_id=alice.owner_id).mismatches == 0
    asked(DAMAGES[damage])
    assert verify(owner_id=alice.owner_id, repair=False).left.mismatches > 0
    outcome = verify(owner_id=alice.owner_id)
    assert outcome.found.mismatches > 0
    assert (outcome.repaired, outcome.left.mismatches) == (True, 0)
    assert edges(alice) == {("Anna Weber", "works_on", "Aurora")}
    assert asked("MATCH (e:Entity)-[r]-() RETURN count(DISTINCT r) AS n, count(DISTINCT e) AS e") == [{"n": 8, "e": 2}]


def test_ids_are_compared_page_by_page(alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.services.projection.comparing.PAGE", 2)
    for number in range(7):
        entity(alice, f"Entity {number}")
    catch_up(alice)
    assert compare(owner_id=alice.owner_id, sample=3).counts["Entity"] == (7, 7)
    asked("MATCH (e:Entity {display_name: 'Entity 4'}) DETACH DELETE e")
    found = compare(owner_id=alice.owner_id, sample=0)
    assert (found.counts["Entity"], found.mismatches) == ((7, 6), 1)


def test_relationships_are_looked_at_page_by_page(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.services.projection.foreign.PAGE", 2)
    for number in range(5):
        entity(alice, f"Entity {number}")
    catch_up(alice)
    asked("MATCH (e:Entity) CREATE (e)-[:RELATES_TO]->(:Other), (:Other)-[:NAMES]->(e)")
    found = compare(owner_id=alice.owner_id)
    assert (found.foreign, found.mismatches) == ({"RELATES_TO": 5, "NAMES": 5}, 10)


def test_the_command_looks_after_all_of_it(alice: Actor, mallory: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    entity(mallory, "Ben")
    made = told("project")
    assert [one["ok"] for one in made["owners"]] == [True, True]
    assert sum(one["rows"] for one in made["owners"]) == 6
    status = told("status")
    assert (status["neo4j"], status["following"], status["waiting"], status["text"]) == ("answers", 2, 0, "names")
    asked(DAMAGES["a weight changed"])
    with pytest.raises(SystemExit):
        told("verify", "--no-repair", "--owner", "alice")
    assert told("verify", "--owner", "alice")["owners"][0]["left"] == 0
    assert told("rebuild", "--owner", "mallory")["owners"][0]["rows"] == 1
    told("forget", "--owner", "mallory")
    assert not nodes(mallory, "Entity")
    assert not GraphProjection.objects.filter(owner_id=mallory.owner_id).exists()
    assert len(nodes(alice, "Entity")) == 2
    out = StringIO()
    call_command("graph", "status", stdout=out)
    assert "answers" in out.getvalue()


def test_one_owners_defect_ends_no_others_verification(
    alice: Actor, mallory: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = sorted([alice.owner_id, mallory.owner_id])

    def broken(*, owner_id: UUID, **options: Any) -> Verified:
        if owner_id == first:
            raise ValueError("a defect")
        return verify(owner_id=owner_id, **options)

    monkeypatch.setattr("memory.management.commands.graph.verify", broken)
    out = StringIO()
    with pytest.raises(ValueError, match="a defect"):
        call_command("graph", "verify", "--json", stdout=out)
    found = json.loads(out.getvalue())["owners"]
    assert [(one["owner"], one["ok"]) for one in found] == [(str(first), False), (str(second), True)]
    assert found[0]["error"] == "internal.ValueError"


TWICE = {
    "an entity": "MATCH (n:Entity {display_name: 'Aurora'}) CREATE (x:Entity) SET x = properties(n)",
    "a name": "MATCH (n:EntityName)-[:NAMES]->(e) WITH n, e LIMIT 1 CREATE (x:EntityName)-[r:NAMES]->(e) SET x = properties(n), r.user_id = n.user_id",  # noqa: E501
    "the mark": "MATCH (n:Projection) CREATE (x:Projection) SET x = properties(n)",
}
CONSTRAINTS = {"an entity": "loci_entity_once", "a name": "loci_entityname_once", "the mark": "loci_projection_once"}


@pytest.mark.parametrize("what", TWICE)
def test_what_stands_twice_under_a_lost_constraint_is_mended(
    alice: Actor, mallory: Actor, projected: BoltServer, what: str
) -> None:
    constraint = CONSTRAINTS[what]
    small_graph(alice)
    catch_up(alice)
    asked(f"DROP CONSTRAINT {constraint}")
    asked(TWICE[what])
    entity(mallory, "Ben")
    assert catch_up(mallory) == 1, "it keeps nobody else from being projected"
    outcome = verify(owner_id=alice.owner_id)
    assert outcome.found.mismatches > 0
    assert (outcome.repaired, outcome.left.mismatches) == (True, 0)
    assert constraint in {row["name"] for row in asked("SHOW CONSTRAINTS YIELD name")}
    assert (len(nodes(alice, "Entity")), len(nodes(alice, "Projection"))) == (2, 1)


def test_a_constraint_that_nobody_known_stands_against_is_told_until_that_is_deleted(
    alice: Actor, projected: BoltServer
) -> None:
    small_graph(alice)
    catch_up(alice)
    asked("DROP CONSTRAINT loci_entity_once")
    asked("UNWIND [1, 2] AS n CREATE (:Entity {user_id: 'nobody', id: 'x'})")
    generation = nodes(alice, "Projection")[0]["generation"]
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("graph", "verify", "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert (found["owners"][0]["repaired"], found["failed"]) == (False, 1)
    assert found["schema"] == {"ok": False, "lacking": ["Entity(user_id, id)"]}
    assert told("verify", "--delete-unknown")["schema"] == {"ok": True, "lacking": []}
    assert nodes(alice, "Projection")[0]["generation"] == generation


def test_the_command_says_what_is_wrong(alice: Actor, projected: BoltServer) -> None:
    with pytest.raises(CommandError, match="--all"):
        call_command("graph", "forget")
    with override_settings(NEO4J_PASSWORD="another one"):
        out = StringIO()
        with pytest.raises(SystemExit):
            call_command("graph", "project", stdout=out)
        assert "projection.refused" in out.getvalue()
    with override_settings(NEO4J_URI=""):
        with pytest.raises(CommandError, match="NEO4J_URI"):
            call_command("graph", "project")
        assert told("status")["configured"] is False
