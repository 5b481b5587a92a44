"""What Neo4j holds of owners that are not known here, or of none, is told, and deleted on demand."""

from __future__ import annotations

import json
from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from memory.ids import new_id
from memory.services.actors import Actor
from memory.services.projection import lease as leases
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity
from tests.integration.projection.conftest import asked, catch_up, nodes, small_graph, told

pytestmark = pytest.mark.django_db(transaction=True)

STANDING = """
    MATCH ()-[r]->() WITH count(r) AS relationships
    MATCH (n) WHERE NOT n:Other
    RETURN relationships, count(n) AS nodes
"""


def test_owners_that_are_not_known_here_are_told_and_deleted_on_demand(
    alice: Actor, mallory: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.services.projection.unknown.PAGE", 2)
    small_graph(alice)
    entity(mallory, "Ben")
    lowest, highest, gone = str(UUID(int=1)), str(UUID(int=2**128 - 1)), str(new_id())
    strange = {lowest: 1, highest: 2, gone: 1, "someone's": 1}
    for owner in strange:
        asked("CREATE (:Entity {user_id: $owner, id: 'x'})", owner=owner)
    asked("MATCH (e:Entity {user_id: $owner}) CREATE (e)-[:RELATES_TO]->(:Projection {user_id: $owner})", owner=highest)
    asked("CREATE (:Other {user_id: $owner})", owner=gone)
    assert "unknown" not in told("verify", "--owner", "alice")
    found = {"ok": True, "owners": strange, "more": False, "unowned": {}}
    assert told("verify")["unknown"] == {**found, "deleted": False}
    assert told("verify", "--delete-unknown")["unknown"] == {**found, "deleted": True}
    assert told("verify")["unknown"]["owners"] == {}
    assert asked("MATCH (n {user_id: $owner}) RETURN labels(n) AS of", owner=gone) == [{"of": ["Other"]}]
    assert (len(nodes(alice, "Entity")), len(nodes(mallory, "Entity"))) == (2, 1)
    for impossible in (["--owner", "alice"], ["--no-repair"]):
        with pytest.raises(CommandError, match="--delete-unknown"):
            told("verify", "--delete-unknown", *impossible)


UNOWNED = {
    "a node without an owner": ("CREATE (:Entity {id: 'x'})-[:RELATES_TO {user_id: 'x', id: 'x'}]->(:Other)", "Entity"),
    "a number as owner": ("CREATE (:TemporalEvent {user_id: 17, id: 'x'})", "TemporalEvent"),
    "a list as owner": ("CREATE (:EntityName {user_id: ['x']})", "EntityName"),
    "an empty text as owner": ("CREATE (:CausalLink {user_id: ''})", "CausalLink"),
    "a mark without an owner": ("CREATE (:Projection {generation: 'x'})", "Projection"),
    "a relation elsewhere": (
        "MATCH (p:Projection) CREATE (:Other)-[:RELATES_TO {user_id: p.user_id, id: 'x'}]->(:Other)",
        "RELATES_TO",
    ),
    "a relation elsewhere, without an id": (
        "MATCH (p:Projection) CREATE (:Other)-[:RELATES_TO {user_id: p.user_id}]->(:Other)",
        "RELATES_TO",
    ),
}


@pytest.mark.parametrize("made", UNOWNED, ids=str)
def test_what_names_no_owner_is_told_and_deleted_on_demand(alice: Actor, projected: BoltServer, made: str) -> None:
    small_graph(alice)
    catch_up(alice)
    asked("CREATE (:Other {id: 'x'})-[:RELATES_TO]->(:Other)")
    before = asked(STANDING)
    statement, name = UNOWNED[made]
    asked(statement)
    found = {"ok": True, "owners": {}, "more": False, "unowned": {name: 1}}
    assert told("verify")["unknown"] == {**found, "deleted": False}
    out = StringIO()
    call_command("graph", "verify", stdout=out)
    assert f"Of no owner: 1 {name} left." in out.getvalue()
    assert told("verify", "--delete-unknown")["unknown"] == {**found, "deleted": True}
    assert told("verify")["unknown"]["unowned"] == {}
    assert asked(STANDING) == before, "nothing else was touched"


def test_more_unknown_owners_than_are_told_are_said_to_be_there_and_deleted(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.services.projection.unknown.MOST", 3)
    small_graph(alice)
    asked("UNWIND range(1, 8) AS n CREATE (:Entity {user_id: 'nobody ' + n, id: 'x'})")
    found = told("verify")["unknown"]
    assert (sorted(found["owners"]), found["more"]) == (["nobody 1", "nobody 2", "nobody 3"], True)
    assert told("verify", "--delete-unknown")["unknown"] == {**found, "deleted": True}
    assert told("verify")["unknown"]["owners"] == {}
    assert len(nodes(alice, "Entity")) == 2


def test_nothing_unknown_is_deleted_where_an_owner_has_failed(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_graph(alice)
    catch_up(alice)
    asked("CREATE (:Entity {user_id: 'nobody', id: 'x'})")
    leases.take(alice.owner_id)
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("graph", "verify", "--delete-unknown", "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert (found["owners"][0]["error"], found["failed"]) == ("projection.busy", 1)
    assert (found["unknown"]["owners"], found["unknown"]["deleted"]) == ({"nobody": 1}, False)
    assert asked("MATCH (e:Entity {user_id: 'nobody'}) RETURN count(e) AS n") == [{"n": 1}]


def test_unknown_owners_that_cannot_be_told_end_the_command_with_a_failure(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up(alice)
    monkeypatch.setattr("memory.graph.projection.cypher.COUNT_UNKNOWN", "NO CYPHER {label}")
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("graph", "verify", "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert (found["owners"][0]["ok"], found["failed"]) == (True, 1)
    assert (found["unknown"]["ok"], found["unknown"]["error"]) == (False, "projection.failed")
