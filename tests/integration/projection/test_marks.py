"""That Neo4j does not hold what was made is noticed within the minute, although no graph changes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from memory.models import DueWork, Entity, GraphPart, GraphProjection, ProjectionState, owner_scope
from memory.providers.composition import neo4j_client
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.due_work import run_due_work
from memory.services.projection import building, marks
from memory.services.projection.comparing import compare
from memory.services.projection.health import projection_finding
from memory.services.projection.projecting import project
from memory.services.projection.standing import call_for_projection, standing
from memory.services.projection.turn import Turn
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity
from tests.integration.projection import conftest as looks
from tests.integration.projection.conftest import asked, catch_up, nodes, small_graph

pytestmark = pytest.mark.django_db(transaction=True)

LOSSES = {
    "emptied": "MATCH (n) DETACH DELETE n",
    "of another generation": "MATCH (p:Projection) SET p.generation = 'another'",
    "of an earlier day": (
        "MATCH (p:Projection) SET p.projected_seq = p.projected_seq - 1, p.fence = p.fence - 1"
        " WITH p MATCH (e:Entity {display_name: 'Aurora'}) DETACH DELETE e"
    ),
    "of a later day": "MATCH (p:Projection) SET p.projected_seq = p.projected_seq + 7",
    "marked by somebody else": "MATCH (p:Projection) SET p.projected_seq = 'seven'",
}


def names(actor: Actor) -> list[str]:
    return sorted(node["display_name"] for node in nodes(actor, "Entity"))


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_another_neo4j_is_filled_although_nothing_changes(alice: Actor, projected: BoltServer, loss: str) -> None:
    small_graph(alice)
    catch_up(alice)
    DueWork.objects.all().delete()
    asked(LOSSES[loss])
    assert call_for_projection() == 1
    assert run_due_work()[DueWork.PROJECT] == 5
    assert names(alice) == ["Anna Weber", "Aurora"]
    assert compare(owner_id=alice.owner_id).mismatches == 0
    assert call_for_projection() == 0


def test_only_whose_mark_differs_is_called_for(
    alice: Actor, mallory: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "PAGE", 1)
    for one in (alice, mallory):
        entity(one, "Ben")
        catch_up(one)
    DueWork.objects.all().delete()
    assert call_for_projection() == 0
    for one in (alice, mallory):
        asked("MATCH (p:Projection {user_id: $owner}) DELETE p", owner=str(one.owner_id))
        assert list(marks.unlike_their_marks()) == [str(one.owner_id)]
        catch_up(one)
    assert not list(marks.unlike_their_marks())


def test_a_neo4j_that_is_away_is_told_and_stops_nothing_else(
    alice: Actor, mallory: Actor, projected: BoltServer
) -> None:
    small_graph(alice)
    catch_up(alice)
    DueWork.objects.all().delete()
    projected.kill()
    assert call_for_projection() == 2, "the other owner has no projection yet"
    assert set(DueWork.objects.values_list("owner_id", flat=True)) == {alice.owner_id, mallory.owner_id}
    run_due_work()
    assert (standing().failing, standing().error_code) == (2, "projection.unavailable")
    assert looks.standing(alice).state == ProjectionState.FOLLOWING
    assert projection_finding().status == "degraded"
    projected.again()
    neo4j_client().close()
    neo4j_client.cache_clear()
    run_due_work(at=now() + timedelta(hours=1))
    assert standing().failing == 0
    assert projection_finding().status == "ok"


def test_a_neo4j_of_an_earlier_day_is_not_gone_on_with(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    earlier = asked("MATCH (p:Projection) RETURN properties(p) AS p")[0]["p"]
    entity(alice, "Ben")
    catch_up(alice)
    asked(
        "MATCH (e:Entity {display_name: 'Ben'}) DETACH DELETE e WITH 1 AS one MATCH (p:Projection) SET p = $p",
        p=earlier,
    )
    entity(alice, "Cleo")
    catch_up(alice)
    assert names(alice) == ["Anna Weber", "Aurora", "Ben", "Cleo"]
    assert compare(owner_id=alice.owner_id).mismatches == 0


def test_a_database_of_an_earlier_day_is_noticed_after_many_attempts(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    earlier = looks.standing(alice)
    ben = entity(alice, "Ben")
    catch_up(alice)
    with owner_scope(alice.owner_id):
        GraphProjection.objects.update(state=ProjectionState.RESTING)
        Entity.objects.filter(pk=ben).delete()
        # Neo4j was away for a while after the restore: attempts were counted that it never saw.
        GraphProjection.objects.update(
            state=earlier.state, fence=earlier.fence + 50, projected_seq=earlier.projected_seq
        )
    catch_up(alice)
    assert names(alice) == ["Anna Weber", "Aurora"]
    assert compare(owner_id=alice.owner_id).mismatches == 0


def test_a_neo4j_that_was_restored_while_it_was_filled_is_filled_from_the_beginning(
    alice: Actor, projected: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_graph(alice)
    monkeypatch.setattr(building, "PAGE", 1)
    assert not project(owner_id=alice.owner_id, turn=Turn(until=0))
    earlier = asked("MATCH (p:Projection) RETURN properties(p) AS p")[0]["p"]
    generation = looks.standing(alice).generation
    assert not project(owner_id=alice.owner_id, turn=Turn(until=0))
    assert looks.standing(alice).generation == generation
    asked("MATCH (e:Entity {display_name: 'Aurora'}) DETACH DELETE e")
    asked("MATCH (p:Projection) SET p = $p", p=earlier)
    catch_up(alice)
    assert looks.standing(alice).generation != generation
    assert compare(owner_id=alice.owner_id).mismatches == 0


def test_a_change_with_a_lower_number_that_was_committed_later_raises_the_mark(
    alice: Actor, projected: BoltServer
) -> None:
    """Readers compare the mark of before with the number of after, and must not take both for the same."""
    made = small_graph(alice)
    catch_up(alice)
    before = looks.standing(alice).projected_seq
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_graphchange (owner_id, seq, part, row_id) VALUES (%s, 0, %s, %s)",
            [alice.owner_id, int(GraphPart.ENTITY), made["anna"]],
        )
    catch_up(alice)
    after = looks.standing(alice).projected_seq
    assert after > before
    assert asked("MATCH (p:Projection) RETURN p.projected_seq AS seq") == [{"seq": after}]
