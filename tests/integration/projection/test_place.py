"""Another address in the settings: nothing is written, deleted or called done elsewhere than where the graph stands."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import override_settings
from django_q.models import Task

from memory.errors import ProjectionElsewhere
from memory.models import GraphProjection, Owner, ProjectionState, Purge, PurgeState
from memory.providers.composition import forget_providers
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.jobs import RUN_DUE_WORK
from memory.services.projection import lease as leases
from memory.services.projection.erasing import forget
from memory.services.projection.health import projection_finding
from memory.services.projection.place import present_place
from memory.services.projection.projecting import project, project_owner
from memory.services.projection.turn import Turn
from memory.services.projection.unknown import delete_unknown
from memory.services.projection.verifying import verify
from memory.services.purge.held import held_up
from memory.services.purge.partial_requests import PartialRequest, begin_partial
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity
from tests.integration.projection.conftest import asked, catch_up, nodes, small_graph, standing

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


@pytest.fixture
def renamed(projected: BoltServer) -> Iterator[Callable[[], None]]:
    """Give what sets another name of the same Neo4j, as the settings of a process that starts anew."""
    change = override_settings(NEO4J_URI=f"bolt://localhost:{projected.port}")
    changed: list[bool] = []

    def rename() -> None:
        forget_providers()
        change.enable()
        changed.append(True)

    yield rename
    if changed:
        forget_providers()
        change.disable()


def graph(*arguments: str) -> dict[str, Any]:
    """Give what an action of the command says, whatever its exit code."""
    said = StringIO()
    with contextlib.suppress(SystemExit):
        call_command("graph", *arguments, "--json", stdout=said)
    answer: dict[str, Any] = json.loads(said.getvalue())
    return answer


def test_nothing_is_written_or_deleted_under_another_address(
    alice: Actor, projected: BoltServer, renamed: Callable[[], None]
) -> None:
    catch_up(alice)
    small_graph(alice)
    before = standing(alice).place
    assert before == present_place()
    renamed()
    for act in (
        lambda: project(owner_id=alice.owner_id, turn=Turn()),
        lambda: project(owner_id=alice.owner_id, turn=Turn(), anew=True),
        lambda: verify(owner_id=alice.owner_id, repair=False),
        lambda: forget(owner_id=alice.owner_id, turn=Turn()),
    ):
        with pytest.raises(ProjectionElsewhere):
            act()
    assert nodes(alice, "Entity") == []
    assert project_owner(owner_id=alice.owner_id, at=now())[0] == 0
    row = standing(alice)
    assert (row.place, row.failures, row.error_code) == (before, 1, "projection.elsewhere")
    assert row.retry_at is not None
    assert graph("status")["elsewhere"] == 1


def test_verifying_changes_no_schema_and_deletes_nobody_under_another_address(
    alice: Actor, projected: BoltServer, renamed: Callable[[], None]
) -> None:
    small_graph(alice)
    catch_up(alice)
    renamed()
    asked("DROP CONSTRAINT loci_projection_once")
    asked("CREATE (:Entity {user_id: 'nobody', id: 'x'})")
    before = asked("SHOW CONSTRAINTS YIELD name")
    with pytest.raises(ProjectionElsewhere):
        verify(owner_id=alice.owner_id)
    found = graph("verify", "--delete-unknown")
    assert (found["failed"], found["unknown"]["deleted"]) == (1, False)
    with pytest.raises(ProjectionElsewhere):
        delete_unknown(turn=Turn())
    assert asked("SHOW CONSTRAINTS YIELD name") == before
    assert asked("MATCH (e:Entity {user_id: 'nobody'}) RETURN count(e) AS n") == [{"n": 1}]


def test_what_never_reached_neo4j_stands_nowhere(
    alice: Actor, projected: BoltServer, renamed: Callable[[], None]
) -> None:
    small_graph(alice)
    with override_settings(NEO4J_PASSWORD="another one"):
        project_owner(owner_id=alice.owner_id, at=now())
    row = standing(alice)
    assert (row.fence, row.place, row.error_code) == (1, "", "projection.refused")
    renamed()
    assert graph("status")["elsewhere"] == 0
    with override_settings(NEO4J_URI=""):
        assert graph("status")["elsewhere"] == 0
        assert projection_finding().status == "ok"
        made = begin_purge(actor=alice)
        assert run_purge(purge_id=made.purge.pk).state == PurgeState.DONE


def test_health_tells_before_anything_is_tried(
    alice: Actor, projected: BoltServer, renamed: Callable[[], None]
) -> None:
    catch_up(alice)
    assert projection_finding().status == "ok"
    renamed()
    for uri in (settings.NEO4J_URI, ""):
        with override_settings(NEO4J_URI=uri):
            found = projection_finding()
        assert (found.status, found.remedy) == ("degraded", "python3 manage.py graph status")
        assert found.detail.startswith("Graphs of 1 owner stand in a Neo4j that the settings do not name any more.")
    assert standing(alice).failures == 0
    graph("moved")
    assert projection_finding().status == "ok"


def test_the_same_neo4j_under_another_name_is_told_by_its_mark(
    alice: Actor, mallory: Actor, projected: BoltServer, renamed: Callable[[], None]
) -> None:
    for owner in (alice, mallory):
        small_graph(owner)
        catch_up(owner)
    renamed()
    asked("MATCH (p:Projection {user_id: $owner}) SET p.generation = 'of another'", owner=str(mallory.owner_id))
    project_owner(owner_id=alice.owner_id, at=now())
    told = graph("moved")
    assert told["failed"] == 1
    by_owner = {one["owner"]: one for one in told["owners"]}
    assert by_owner[str(alice.owner_id)]["moved"] is True
    assert by_owner[str(mallory.owner_id)]["error"] == "projection.elsewhere"
    assert (standing(alice).place, standing(alice).failures) == (present_place(), 0)
    entity(alice, "Ben")
    assert catch_up(alice) == 1
    with pytest.raises(ProjectionElsewhere):
        catch_up(mallory)
    assert {one["owner"]: one.get("moved") for one in graph("moved")["owners"]}[str(alice.owner_id)] is False


def test_a_purge_is_not_done_by_asking_another_neo4j(
    alice: Actor, projected: BoltServer, renamed: Callable[[], None]
) -> None:
    small_graph(alice)
    catch_up(alice)
    made = begin_purge(actor=alice)
    renamed()
    with pytest.raises(ProjectionElsewhere):
        run_purge(purge_id=made.purge.pk)
    made.purge.refresh_from_db()
    assert (made.purge.state, made.purge.error_code) == (PurgeState.WAITING, "projection.elsewhere")
    assert len(nodes(alice, "Entity")) == 2
    assert Owner.objects.filter(pk=alice.owner_id).exists()
    assert graph("moved")["owners"][0]["moved"] is True
    done = run_purge(purge_id=made.purge.pk, at=now() + timedelta(hours=2))
    assert done.state == PurgeState.DONE
    assert asked("MATCH (n) RETURN count(n) AS n")[0]["n"] == 0


def test_a_purge_of_a_part_waits_as_well_and_a_lost_neo4j_is_given_up(
    alice: Actor, projected: BoltServer, renamed: Callable[[], None]
) -> None:
    made = small_graph(alice)
    catch_up(alice)
    asked_for = begin_partial(actor=alice, request=PartialRequest(memories=(made["memory"],)))
    renamed()
    with pytest.raises(ProjectionElsewhere):
        run_purge(purge_id=asked_for.purge.pk)
    asked_for.purge.refresh_from_db()
    assert [(held.code, held.needs_operator) for held in held_up(asked_for.purge)] == [("projection.elsewhere", True)]
    assert graph("forget", "--all", "--lost")["failed"] == 0
    row = standing(alice)
    assert (row.state, row.fence, row.place, row.projected_at) == (ProjectionState.RESTING, 0, "", None)
    assert row.given_up_at is not None
    assert graph("status")["elsewhere"] == 0
    done = run_purge(purge_id=asked_for.purge.pk, at=now() + timedelta(hours=2))
    assert done.state == PurgeState.DONE
    assert says_given_up(done)
    catch_up(alice)
    assert standing(alice).place == present_place()


def says_given_up(done: Purge) -> bool:
    """Tell whether a receipt says that a Neo4j was given up, in which nobody has looked."""
    assert done.receipt is not None
    return any("has given up as gone" in one["what"] for one in done.receipt["stays"])


def test_that_a_neo4j_was_given_up_is_told_by_purges_of_later(
    alice: Actor, mallory: Actor, projected: BoltServer
) -> None:
    for owner in (alice, mallory):
        small_graph(owner)
    catch_up(alice)
    leases.ensure(mallory.owner_id, text="names")
    assert graph("forget", "--all", "--lost")["failed"] == 0
    catch_up(alice)
    catch_up(mallory)
    assert graph("forget", "--all")["failed"] == 0
    assert list(GraphProjection.objects.values_list("owner_id", "fence")) == [(alice.owner_id, 0)]
    catch_up(alice)
    for owner, told in ((alice, True), (mallory, False)):
        done = run_purge(purge_id=begin_purge(actor=owner).purge.pk, most=2)
        assert done.state == PurgeState.DONE
        assert says_given_up(done) is told


def test_what_the_release_before_has_made_is_taken_for_the_present_one(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    generation = standing(alice).generation
    GraphProjection.objects.update(place="")
    entity(alice, "Ben")
    assert catch_up(alice) == 1
    assert (standing(alice).place, standing(alice).generation) == (present_place(), generation)


@pytest.mark.parametrize(
    ("uri", "database", "same"),
    [
        ("neo4j+s://Graph.example.org:7687", "", True),
        ("bolt://graph.example.org", "", True),
        ("bolt://graph.example.org:7688", "", False),
        ("bolt://other.example.org", "", False),
        ("bolt://graph.example.org", "loci", False),
    ],
)
def test_server_port_and_database_make_the_place(uri: str, database: str, same: bool) -> None:
    with override_settings(NEO4J_URI="neo4j://graph.example.org:7687", NEO4J_DATABASE=""):
        place = present_place()
    assert "graph" not in place
    with override_settings(NEO4J_URI=uri, NEO4J_DATABASE=database):
        assert (present_place() == place) is same


def test_while_a_worker_runs_nothing_is_forgotten(alice: Actor, projected: BoltServer) -> None:
    small_graph(alice)
    catch_up(alice)
    sign = Task.objects.create(
        id="1", name="sign", func=RUN_DUE_WORK, started=now(), stopped=now(), success=True, args=(), kwargs={}
    )
    for whom in (["--all"], ["--owner", "alice"]):
        with pytest.raises(CommandError, match="Stop Loci, wait three minutes"):
            call_command("graph", "forget", *whom)
    assert len(nodes(alice, "Entity")) == 2
    Task.objects.filter(pk=sign.pk).update(stopped=now() - timedelta(minutes=4))
    assert graph("forget", "--all")["failed"] == 0
    assert nodes(alice, "Entity") == []
