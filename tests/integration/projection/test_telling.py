"""What operators are told of the projection: the line of `doctor`, and the values of the metrics."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client, override_settings
from prometheus_client.parser import text_string_to_metric_families as families
from pytest_django import Settings

from memory.providers.composition import neo4j_client
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.reading import get_neighbours
from memory.services.health import forget_health
from memory.services.projection.health import projection_finding
from memory.services.projection.projecting import project_owner
from memory.services.projection.verifying import verify
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity
from tests.integration.projection import conftest as looks
from tests.integration.projection.conftest import asked, catch_up, small_graph
from tests.integration.telemetry.clocks import at

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def diagnosed() -> dict[str, str]:
    """Give what `doctor` says of Neo4j, forgetting that it was away a moment ago."""
    neo4j_client().close()
    neo4j_client.cache_clear()
    forget_health()
    out = StringIO()
    with pytest.raises(SystemExit):
        # Nothing runs here as a server, which is what makes it end with a code.
        call_command("doctor", "--json", stdout=out)
    (check,) = (check for check in json.loads(out.getvalue())["checks"] if check["name"] == "neo4j")
    return dict(check)


def figures(client: Client) -> dict[str, float]:
    """Give what `/metrics` says of projections, by name and state."""
    text = client.get("/metrics", headers={"Authorization": f"Bearer {settings.METRICS_TOKEN}"}).content.decode()
    return {
        "_".join([sample.name.removeprefix("loci_projection_"), *sample.labels.values()]): sample.value
        for family in families(text)
        for sample in family.samples
        if sample.name.startswith("loci_projection_")
    }


class TestDoctor:
    def test_it_answers(self, alice: Actor, projected: BoltServer) -> None:
        assert diagnosed()["status"] == "ok", "nothing is projected yet, and no index is needed"
        small_graph(alice)
        catch_up(alice)
        found = diagnosed()
        assert found["status"] == "ok"
        assert found["detail"] == "Graphs of 1 of 1 owner stand in Neo4j; 0 changes wait."

    def test_it_is_away(self, alice: Actor, projected: BoltServer) -> None:
        catch_up(alice)
        projected.kill()
        found = diagnosed()
        assert (found["status"], "did not answer usably" in found["detail"]) == ("degraded", True)
        assert "NEO4J_URI" in found["remedy"]

    def test_it_refuses_the_login(self, alice: Actor, projected: BoltServer) -> None:
        catch_up(alice)
        with override_settings(NEO4J_PASSWORD="another one"):
            found = diagnosed()
        assert (found["status"], "refuses the login" in found["detail"]) == ("degraded", True)
        assert "NEO4J_PASSWORD" in found["remedy"]

    def test_it_lacks_an_index_and_a_constraint(self, alice: Actor, projected: BoltServer) -> None:
        small_graph(alice)
        catch_up(alice)
        asked("DROP INDEX loci_entity_by_name")
        asked("DROP CONSTRAINT loci_entityname_once")
        found = diagnosed()
        assert found["status"] == "degraded"
        assert "EntityName(user_id, hash, entity_id), Entity(user_id, name)" in found["detail"]
        assert found["remedy"] == "python3 manage.py graph verify"
        verify(owner_id=alice.owner_id)
        assert diagnosed()["status"] == "ok"

    def test_it_tells_what_else_is_wrong(self, alice: Actor, projected: BoltServer) -> None:
        small_graph(alice)
        catch_up(alice)
        asked("DROP INDEX loci_entity_by_name")
        with override_settings(NEO4J_TEXT="hashed"):
            found = diagnosed()
        assert found["detail"].startswith(
            "Neo4j lacks constraints or indexes of the projection: Entity(user_id, name)."
        )
        assert found["detail"].endswith(
            "NEO4J_TEXT was changed; what it let out before still stands in Neo4j, of 1 owner."
        )

    def test_another_neo4j_is_not_asked(self, alice: Actor, projected: BoltServer) -> None:
        catch_up(alice)
        asked("DROP INDEX loci_entity_by_name")
        with override_settings(NEO4J_URI=f"bolt://localhost:{projected.port}"):
            found = diagnosed()
        assert found["detail"].startswith("Graphs of 1 owner stand in a Neo4j that the settings do not name any more.")
        assert (found["remedy"], "lacks" in found["detail"]) == ("python3 manage.py graph status", False)

    def test_it_is_not_set_up(self, alice: Actor) -> None:
        forget_health()
        out = StringIO()
        with pytest.raises(SystemExit):
            call_command("doctor", "--json", stdout=out)
        (check,) = (check for check in json.loads(out.getvalue())["checks"] if check["name"] == "neo4j")
        assert (check["status"], check["detail"]) == ("ok", "The graph is not projected to Neo4j.")


class TestReads:
    """What health says where Neo4j is chosen to answer: it is judged by the last question of this process."""

    @pytest.fixture
    def seed(self, alice: Actor, projected: BoltServer, settings: Settings) -> UUID:
        settings.GRAPH_READS = "neo4j"
        made: UUID = small_graph(alice)["anna"]
        catch_up(alice)
        return made

    def test_a_neo4j_that_hangs(self, alice: Actor, seed: UUID, projected: BoltServer) -> None:
        assert projection_finding().status == "ok"
        with override_settings(NEO4J_READ_TIMEOUT=0.2):
            projected.pause()
            try:
                assert get_neighbours(actor=alice, entity_id=seed).degraded == ("projection.slow",)
                found = projection_finding()
            finally:
                projected.resume()
        assert (found.status, "(projection.slow)" in found.detail) == ("degraded", True)
        assert "NEO4J_READ_TIMEOUT" in found.remedy
        assert get_neighbours(actor=alice, entity_id=seed).degraded == ()
        assert projection_finding().status == "ok"

    def test_a_neo4j_that_is_not_chosen_is_not_judged(
        self, alice: Actor, seed: UUID, projected: BoltServer, settings: Settings
    ) -> None:
        projected.kill()
        assert get_neighbours(actor=alice, entity_id=seed).degraded == ("projection.unavailable",)
        found = projection_finding()
        assert (found.status, "NEO4J_URI" in found.remedy) == ("degraded", True)
        settings.GRAPH_READS = "postgres"
        assert projection_finding().status == "ok"


class TestMetrics:
    def test_nothing_is_told_where_nothing_is_projected(self, alice: Actor, client: Client) -> None:
        assert figures(client) == {}

    def test_their_values(self, alice: Actor, mallory: Actor, projected: BoltServer, client: Client) -> None:
        none = {
            "lag_seconds": 0,
            "changes_waiting": 0,
            "owners_following": 0,
            "owners_building": 0,
            "owners_failing": 0,
        }
        assert figures(client) == none
        entity(mallory, "Ben")
        catch_up(mallory)
        catch_up(alice)
        assert figures(client) == {**none, "owners_following": 2}
        small_graph(alice)
        projected.kill()
        neo4j_client().close()
        project_owner(owner_id=alice.owner_id, at=now())
        row = looks.standing(alice)
        assert row.waiting >= 5
        assert row.behind_since is not None
        with at(row.behind_since + timedelta(minutes=20)):
            found = figures(client)
        assert found == {
            **none, "lag_seconds": 1200, "changes_waiting": row.waiting, "owners_following": 2, "owners_failing": 1
        }  # fmt: skip
        with override_settings(NEO4J_TEXT="hashed"):
            told = figures(client)
        assert (told["owners_following"], told["owners_building"]) == (0, 2)
