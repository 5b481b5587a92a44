"""What happens to the projection when a side dies, hangs, refuses or is replaced."""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from neo4j import ManagedTransaction

from memory.errors import ProjectionUnavailable
from memory.graph.projection.shape import SCHEMA
from memory.models import DueWork, Entity, GraphProjection, ProjectionState, owner_scope
from memory.providers.composition import neo4j_client
from memory.providers.neo4j_client import GuardRefused, Neo4jClient
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.due_work import run_due_work
from memory.services.projection import projecting
from memory.services.projection.comparing import compare
from memory.services.projection.health import probed_finding, projection_finding
from memory.services.projection.projecting import project, project_owner
from memory.services.projection.standing import call_for_projection, standing
from memory.services.projection.turn import Turn
from tests.bolt.cutting import Cutting
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity
from tests.integration.projection import conftest as looks
from tests.integration.projection.conftest import asked, catch_up, edges, nodes, small_graph, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def fresh() -> Neo4jClient:
    """Give a client that remembers no failure."""
    neo4j_client().close()
    neo4j_client.cache_clear()
    return neo4j_client()


def goes_on(alice: Actor, code: str) -> None:
    """What an attempt has left undone is told, and done when its time has come."""
    row = looks.standing(alice)
    assert (row.failures, row.error_code, row.waiting > 0) == (1, code, True)
    assert len(set(waiting(alice))) == 5
    fresh()
    assert row.retry_at is not None
    assert project_owner(owner_id=alice.owner_id, at=row.retry_at - timedelta(seconds=1)) == (0, row.retry_at)
    assert project_owner(owner_id=alice.owner_id, at=now() + timedelta(hours=1)) == (5, None)
    assert edges(alice) == {("Anna Weber", "works_on", "Aurora")}
    assert compare(owner_id=alice.owner_id).mismatches == 0
    assert looks.standing(alice).failures == 0


def test_a_server_killed_in_the_middle_of_a_batch_loses_nothing(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up(alice)
    small_graph(alice)
    sent: list[Any] = []
    send = ManagedTransaction.run

    def kill_within(self: ManagedTransaction, query: Any, *args: Any, **options: Any) -> Any:
        # The guard and the entities went before it, in the same transaction.
        if len(sent) == 2:
            projected.kill()
        sent.append(query)
        return send(self, query, *args, **options)

    monkeypatch.setattr(ManagedTransaction, "run", kill_within)
    done, again = project_owner(owner_id=alice.owner_id, at=now())
    monkeypatch.undo()
    assert (done, again is not None) == (0, True)
    assert ("SET p.fence" in sent[0], "MERGE (e:Entity" in sent[1]) == (True, True)
    projected.again()
    fresh()
    assert nodes(alice, "Entity") == []
    goes_on(alice, "projection.unavailable")


def test_a_server_killed_after_a_commit_that_nobody_heard_of_loses_nothing(alice: Actor, projected: BoltServer) -> None:
    way = Cutting(projected)
    try:
        with override_settings(NEO4J_URI=way.uri):
            catch_up(alice)
            small_graph(alice)
            before = looks.standing(alice).projected_seq
            way.armed = True
            done, again = project_owner(owner_id=alice.owner_id, at=now())
            assert (done, again is not None, way.cut) == (0, True, True)
            assert looks.standing(alice).projected_seq == before
            projected.again()
            fresh()
            assert len(nodes(alice, "Entity")) == 2, "it was committed"
            goes_on(alice, "projection.unavailable")
    finally:
        way.close()


def test_a_write_to_a_server_that_hangs_is_left_and_written_again(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up(alice)
    small_graph(alice)
    monkeypatch.setattr("memory.providers.neo4j_client.MARGIN_SECONDS", 1.0)
    with override_settings(NEO4J_TIMEOUT=2):
        assert neo4j_client().rows("RETURN 1 AS one", {}) == [{"one": 1}]
        projected.pause()
        try:
            done, again = project_owner(owner_id=alice.owner_id, at=now())
        finally:
            projected.resume()
    assert (done, again is not None) == (0, True)
    goes_on(alice, "projection.slow")


def test_a_worker_that_dies_after_writing_writes_again(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up(alice)
    small_graph(alice)

    def die(owner_id: Any, *, most: int) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(projecting, "_still", die)
    with pytest.raises(KeyboardInterrupt):
        project(owner_id=alice.owner_id, turn=Turn())
    monkeypatch.undo()
    assert len(nodes(alice, "Entity")) == 2
    assert len(set(waiting(alice))) == 5, "noted last"
    assert catch_up(alice) == 5
    assert compare(owner_id=alice.owner_id).mismatches == 0


def test_a_server_that_hangs_is_left_after_the_time_out(alice: Actor, projected: BoltServer) -> None:
    catch_up(alice)
    with override_settings(NEO4J_READ_TIMEOUT=3):
        neo4j_client().read("RETURN 1 AS one", {})
        projected.pause()
        try:
            with pytest.raises(ProjectionUnavailable) as refused:
                neo4j_client().read("RETURN 1 AS one", {})
        finally:
            projected.resume()
        assert refused.value.machine_code == "projection.slow"
        assert neo4j_client().failure() is refused.value
        assert fresh().rows("RETURN 1 AS one", {}) == [{"one": 1}]


def test_a_read_that_takes_long_does_not_make_neo4j_away(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.providers.neo4j_client.AWAY_SECONDS", 3600.0)
    with override_settings(NEO4J_READ_TIMEOUT=1):
        client = fresh()
        client.read("RETURN 1 AS one", {})
        with pytest.raises(ProjectionUnavailable) as refused:
            client.read("UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN count(*) AS n", {})
        assert refused.value.machine_code == "projection.slow"
        for _ in range(600):
            # Where the server's own time-out comes after the client's, it ends what was left behind.
            with contextlib.suppress(ProjectionUnavailable):
                assert client.read("RETURN 1 AS one", {}) == [{"one": 1}]
                break
            time.sleep(0.1)
        else:
            pytest.fail("it was left alone for an hour")


def test_a_guard_that_refuses_is_an_answer(projected: BoltServer) -> None:
    with pytest.raises(ProjectionUnavailable):
        neo4j_client().rows("NO CYPHER", {})
    assert neo4j_client().failure() is not None
    with pytest.raises(GuardRefused):
        neo4j_client().write([], guard=("MATCH (n:Nothing) RETURN n", {}))
    assert neo4j_client().failure() is None


def test_a_wrong_password_is_said_and_nothing_is_lost(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    with override_settings(NEO4J_PASSWORD="another one"):
        assert project_owner(owner_id=alice.owner_id, at=now())[0] == 0
        assert looks.standing(alice).error_code == "projection.refused"
        found = projection_finding()
        assert (found.status, "projection.refused" in found.detail) == ("degraded", True)
        assert probed_finding().status == "degraded"
    assert looks.standing(alice).state == ProjectionState.RESTING, "nothing is noted for a server that was never there"
    assert catch_up(alice) == 5
    assert projection_finding().status == "ok"


def test_a_schema_that_is_there_already_is_passed_over(alice: Actor, projected: BoltServer) -> None:
    neo4j_client().change_schema(SCHEMA)
    neo4j_client().change_schema([statement.replace(" IF NOT EXISTS", "") for statement in SCHEMA])
    names = {row["name"] for row in asked("SHOW INDEXES YIELD name")}
    for one in list(names):
        if one == "loci_entity_by_owner":
            asked(f"DROP INDEX {one}")
            asked("CREATE INDEX theirs FOR (n:Entity) ON (n.user_id)")
    small_graph(alice)
    assert catch_up(alice) == 5
    asked("DROP INDEX theirs")
    neo4j_client().change_schema(SCHEMA)


def test_a_neo4j_that_was_emptied_is_filled_again(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    asked("MATCH (n) DETACH DELETE n")
    entity(alice, "Ben")
    catch_up(alice)
    assert len(nodes(alice, "Entity")) == 3
    assert compare(owner_id=alice.owner_id).mismatches == 0


def test_a_database_of_an_earlier_day_is_projected_anew(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    earlier = GraphProjection.objects.filter(owner_id=alice.owner_id).values().get()
    ben = entity(alice, "Ben")
    catch_up(alice)
    with owner_scope(alice.owner_id):
        GraphProjection.objects.filter(owner_id=alice.owner_id).update(state=ProjectionState.RESTING)
        Entity.objects.filter(pk=ben).delete()
        GraphProjection.objects.filter(owner_id=alice.owner_id).update(
            state=earlier["state"], fence=earlier["fence"], projected_seq=earlier["projected_seq"]
        )
    catch_up(alice)
    assert {node["display_name"] for node in nodes(alice, "Entity")} == {"Anna Weber", "Aurora"}
    assert compare(owner_id=alice.owner_id).mismatches == 0


def test_too_much_that_waits_is_let_go_and_built_anew(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up(alice)
    monkeypatch.setattr(projecting, "MOST_WAITING", 3)
    small_graph(alice)
    projected.kill()
    project_owner(owner_id=alice.owner_id, at=now())
    assert looks.standing(alice).state == ProjectionState.RESTING
    assert not waiting(alice)
    entity(alice, "Ben")
    assert not waiting(alice)
    projected.again()
    fresh()
    call_for_projection()
    assert run_due_work(at=now() + timedelta(hours=1))[DueWork.PROJECT] == 6
    assert compare(owner_id=alice.owner_id).mismatches == 0


def test_without_an_address_nothing_more_is_noted(alice: Actor, projected: BoltServer) -> None:
    catch_up(alice)
    with override_settings(NEO4J_URI=""):
        assert call_for_projection() == 1
        small_graph(alice)
        assert not waiting(alice)
        assert not DueWork.objects.filter(job=DueWork.PROJECT).exists()
        assert projection_finding().there is False
    catch_up(alice)
    assert len(nodes(alice, "Entity")) == 2


def test_operators_are_told_what_is_behind(alice: Actor, projected: BoltServer) -> None:
    assert (standing().owners, standing().following) == (1, 0)
    catch_up(alice)
    assert (standing().following, standing().lag_seconds) == (1, 0)
    entity(alice, "Ben")
    GraphProjection.objects.filter(owner_id=alice.owner_id).update(behind_since=now() - timedelta(minutes=20))
    assert standing().lag_seconds >= 1200
    assert projection_finding().status == "degraded"
    catch_up(alice)
    assert standing().lag_seconds == 0
    assert projection_finding().status == "ok"
