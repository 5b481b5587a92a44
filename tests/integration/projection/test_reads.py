"""Neo4j as the one that answers: what it gives is confirmed, and PostgreSQL answers where it cannot be believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from memory.ids import new_id
from memory.providers.composition import neo4j_client
from memory.providers.neo4j_client import Neo4jClient
from memory.services.actors import Actor
from memory.services.graph.reading import get_neighbours, graph_query
from memory.services.graph.searching import look_up, search_entities
from memory.services.projection.projecting import project
from memory.services.projection.turn import Turn
from tests.bolt.server import BoltServer
from tests.contract.graph.conftest import Told, told
from tests.integration.api.conftest import client_of
from tests.integration.graph.conftest import entity, relate, time
from tests.integration.graph.moments import FixedClock
from tests.integration.projection.conftest import asked, catch_up

__all__ = ["time", "told"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reading(projected: BoltServer, settings: Settings) -> BoltServer:
    """Neo4j is chosen to answer."""
    settings.GRAPH_READS = "neo4j"
    return projected


@pytest.fixture
def ids(alice: Actor, reading: BoltServer) -> dict[str, UUID]:
    """Ann knows Ben and Ben knows Cid, all of it projected."""
    made = {name: entity(alice, name) for name in ("Ann", "Ben", "Cid")}
    relate(alice, made["Ann"], "knows", made["Ben"], weight=0.9)
    relate(alice, made["Ben"], "knows", made["Cid"])
    catch_up(alice)
    return made


def names(actor: Actor, entity_id: UUID, **options: Any) -> tuple[list[str], list[str]]:
    """Give the names of what is around an entity, and why the chosen store has not answered."""
    found = get_neighbours(actor=actor, entity_id=entity_id, **options)
    return [row.name for row, _ in found.entities], list(found.degraded)


def all_answers(actor: Actor, ann: UUID) -> list[list[str]]:
    """Ask everything that Neo4j can answer, and give why it has not."""
    found = get_neighbours(actor=actor, entity_id=ann, hops=2)
    assert [row.name for row, _ in found.entities] == ["Ann", "Ben", "Cid"]
    answer = graph_query(actor=actor, question="Who is Ann?")
    assert [line.split(" (")[0] for line in answer.lines] == ["Ann knows Ben"]
    ahead = look_up(actor=actor, name="ann")
    assert [row.pk for row in search_entities(actor=actor, name="ann", ahead=ahead)] == [ann]
    return [list(found.degraded), list(answer.degraded), ahead.degraded]


class TestBehind:
    def test_what_was_just_said_is_known_at_once(self, alice: Actor, ids: dict[str, UUID], told: Told) -> None:
        assert names(alice, ids["Cid"]) == (["Cid", "Ben"], [])
        relate(alice, ids["Cid"], "knows", entity(alice, "Dan"), weight=0.1)
        assert names(alice, ids["Cid"]) == (["Cid", "Ben", "Dan"], ["projection.behind"])
        catch_up(alice)
        assert names(alice, ids["Cid"]) == (["Cid", "Ben", "Dan"], [])
        assert [(read.store, read.outcome) for read in told.reads] == [
            ("neo4j", "ok"),
            ("postgres", "projection.behind"),
            ("neo4j", "ok"),
        ]

    def test_one_owners_changes_keep_no_other_waiting(self, alice: Actor, mallory: Actor, ids: dict[str, UUID]) -> None:
        own = entity(mallory, "Eve")
        assert names(mallory, own) == (["Eve"], ["projection.behind"])
        assert all_answers(alice, ids["Ann"]) == [[], [], []]

    def test_what_is_projected_between_reading_and_confirming_is_not_missed(
        self, alice: Actor, ids: dict[str, UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        relate(alice, ids["Cid"], "knows", entity(alice, "Dan"), weight=0.1)
        read = Neo4jClient.reading

        def and_then_project(client: Neo4jClient, work: Any) -> Any:
            found = read(client, work)
            project(owner_id=alice.owner_id, turn=Turn())
            return found

        monkeypatch.setattr(Neo4jClient, "reading", and_then_project)
        assert names(alice, ids["Cid"]) == (["Cid", "Ben", "Dan"], ["projection.behind"])

    def test_a_database_that_was_replaced_is_not_believed(self, alice: Actor, ids: dict[str, UUID]) -> None:
        asked("MATCH (p:Projection) SET p.generation = $other", other=str(new_id()))
        assert all_answers(alice, ids["Ann"]) == [["projection.behind"]] * 3
        asked("MATCH (n) DETACH DELETE n")
        assert all_answers(alice, ids["Ann"]) == [["projection.behind"]] * 3

    def test_what_was_made_for_another_choice_of_text_is_not_believed(self, alice: Actor, ids: dict[str, UUID]) -> None:
        with override_settings(NEO4J_TEXT="hashed"):
            assert all_answers(alice, ids["Ann"]) == [["projection.behind"]] * 3
            catch_up(alice)
            # Names are hashes there, and those by which entities are found are the same as ever.
            assert all_answers(alice, ids["Ann"]) == [[], [], []]


class TestAway:
    def test_a_server_that_died(self, alice: Actor, ids: dict[str, UUID], reading: BoltServer) -> None:
        reading.kill()
        assert all_answers(alice, ids["Ann"]) == [["projection.unavailable"]] * 3

    def test_a_server_that_does_not_answer_in_time(
        self, alice: Actor, ids: dict[str, UUID], reading: BoltServer
    ) -> None:
        with override_settings(NEO4J_READ_TIMEOUT=0.2):
            reading.pause()
            assert all_answers(alice, ids["Ann"]) == [["projection.slow"]] * 3
            reading.resume()

    def test_a_password_that_is_refused(self, alice: Actor, ids: dict[str, UUID]) -> None:
        with override_settings(NEO4J_PASSWORD="not that one"):
            assert all_answers(alice, ids["Ann"]) == [["projection.refused"]] * 3
        assert all_answers(alice, ids["Ann"]) == [[], [], []]


class TestTampered:
    """Whoever can write to Neo4j learns nothing through Loci, and shows nobody what they may not see."""

    @pytest.fixture
    def agent(self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> Actor:
        return make_agent(alice, "assistant")[0]

    def test_relations_that_were_never_said(self, alice: Actor, ids: dict[str, UUID]) -> None:
        asked(
            "MATCH (a:Entity {id: $a}), (c:Entity {id: $c}) CREATE (a)-[:RELATES_TO {user_id: $owner, id: $id,"
            " weight: 1.0, scope: $owner, valid_from: datetime('2020-01-01'), label_hash: 1}]->(c)",
            a=str(ids["Ann"]),
            c=str(ids["Cid"]),
            owner=str(alice.owner_id),
            id=str(new_id()),
        )
        assert names(alice, ids["Ann"]) == (["Ann", "Ben"], [])
        assert len(graph_query(actor=alice, question="Ann?").lines) == 1

    def test_another_owners_rows(self, alice: Actor, mallory: Actor, ids: dict[str, UUID]) -> None:
        eve, fay = entity(mallory, "Eve"), entity(mallory, "Fay")
        hidden = relate(mallory, eve, "knows", fay).relation.pk
        catch_up(mallory)
        asked(
            "MATCH (n:Entity) WHERE n.user_id = $whose SET n.user_id = $owner",
            whose=str(mallory.owner_id),
            owner=str(alice.owner_id),
        )
        asked(
            "MATCH (a:Entity {id: $a}), (e:Entity {id: $e}) MATCH (e)-[r:RELATES_TO]->() SET r.user_id = $owner,"
            " r.scope = $owner CREATE (a)-[:RELATES_TO {user_id: $owner, id: $id, weight: 1.0, scope: $owner,"
            " valid_from: datetime('2020-01-01'), label_hash: 1}]->(e)",
            a=str(ids["Ann"]),
            e=str(eve),
            owner=str(alice.owner_id),
            id=str(hidden),
        )
        asked(
            "MATCH (n:EntityName {entity_id: $a}), (e:Entity {id: $e}) CREATE (n)-[:NAMES]->(e)",
            a=str(ids["Ann"]),
            e=str(eve),
        )
        assert names(alice, ids["Ann"], hops=2) == (["Ann", "Ben", "Cid"], [])
        assert all_answers(alice, ids["Ann"]) == [[], [], []]

    def test_what_is_another_agents_own(
        self, alice: Actor, agent: Actor, make_agent: Callable[..., tuple[Actor, str]], ids: dict[str, UUID]
    ) -> None:
        colleague, _ = make_agent(alice, "colleague")
        secret = entity(agent, "Secret", "topic", scope="agent")
        relate(agent, ids["Ann"], "keeps", secret, scope="agent")
        catch_up(alice)
        asked("MATCH (n) WHERE n.scope IS NOT NULL SET n.scope = $owner", owner=str(alice.owner_id))
        asked("MATCH ()-[r:RELATES_TO]->() SET r.scope = $owner", owner=str(alice.owner_id))
        assert names(colleague, ids["Ann"]) == (["Ann", "Ben"], [])
        ahead = look_up(actor=colleague, name="secret")
        assert search_entities(actor=colleague, name="secret", ahead=ahead) == []
        answer = graph_query(actor=colleague, question="What of Ann and the Secret?")
        assert [row.name for row in answer.entities] == ["Ann"]
        assert len(answer.lines) == 1
        assert sorted(names(agent, ids["Ann"])[0]) == ["Ann", "Ben", "Secret"]

    def test_names_that_an_entity_does_not_bear(self, alice: Actor, ids: dict[str, UUID]) -> None:
        asked(
            "MATCH (n:EntityName {entity_id: $a}) SET n.entity_id = $b WITH n MATCH (b:Entity {id: $b})"
            " MATCH (n)-[r:NAMES]->() DELETE r CREATE (n)-[:NAMES {user_id: n.user_id}]->(b)",
            a=str(ids["Ann"]),
            b=str(ids["Cid"]),
        )
        ahead = look_up(actor=alice, name="ann")
        assert (ahead.found, ahead.degraded) == ([ids["Cid"]], [])
        assert search_entities(actor=alice, name="ann", ahead=ahead) == []
        answer = graph_query(actor=alice, question="Who is Ann?")
        assert ([row.name for row in answer.entities], answer.degraded) == (["Ann"], ())
        assert [line.split(" (")[0] for line in answer.lines] == ["Ann knows Ben"]

    def test_what_has_ended(self, alice: Actor, ids: dict[str, UUID], time: FixedClock) -> None:
        asked("MATCH ()-[r:RELATES_TO]->() SET r.valid_from = datetime('1990-01-01')")
        assert names(alice, ids["Ann"], valid_at="2001-01-01") == (["Ann"], [])

    @pytest.mark.parametrize("change", ["r.id = 'x'", "r.weight = null", "r.weight = 'heavy'"])
    def test_values_that_were_not_projected(self, alice: Actor, ids: dict[str, UUID], change: str) -> None:
        asked(f"MATCH ()-[r:RELATES_TO]->() SET {change}")
        assert names(alice, ids["Ann"]) == (["Ann", "Ben"], ["projection.foreign"])
        assert neo4j_client().failure() is None, "Neo4j has answered"

    @pytest.mark.parametrize(
        "change",
        ["generation = 'a\\u0000b'", "generation = 17", "generation = null", "projected_seq = 1e30"]
        + ["projected_seq = -1", "projected_seq = 'x'", "projected_seq = '99999999999999999999'"]
        + ["projected_seq = 1.0 / 0.0"],
    )
    def test_marks_that_were_not_put(self, alice: Actor, ids: dict[str, UUID], change: str) -> None:
        asked(f"MATCH (p:Projection) SET p.{change}")
        assert all_answers(alice, ids["Ann"]) == [["projection.foreign"]] * 3

    @pytest.mark.parametrize("change", ["mention_count = 1.0 / 0.0", "mention_count = 'many'", "scope = 7"])
    def test_entities_that_were_not_projected(self, alice: Actor, ids: dict[str, UUID], change: str) -> None:
        asked(f"MATCH (e:Entity) SET e.{change}")
        assert all_answers(alice, ids["Ann"])[1:] == [["projection.foreign"]] * 2


class TestWays:
    def test_no_transaction_is_open_while_neo4j_is_asked(
        self,
        alice: Actor,
        ids: dict[str, UUID],
        make_agent: Callable[..., tuple[Actor, str]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        read, asked_within = Neo4jClient.reading, []

        def watched(client: Neo4jClient, work: Any) -> Any:
            asked_within.append(connection.in_atomic_block)
            return read(client, work)

        monkeypatch.setattr(Neo4jClient, "reading", watched)
        client = client_of(make_agent(alice, "assistant")[1])
        assert client.get(f"/api/v1/graph/entities/{ids['Ann']}/neighbours").status_code == 200
        assert client.get("/api/v1/graph/entities?name=Ann").status_code == 200
        assert client.post("/api/v1/graph/query", {"question": "Who is Ann?"}, format="json").status_code == 200
        assert all_answers(alice, ids["Ann"]) == [[], [], []]
        assert asked_within == [False] * 6

    def test_answers_say_why_not_the_chosen_store_has_answered(
        self, alice: Actor, ids: dict[str, UUID], make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        client = client_of(make_agent(alice, "assistant")[1])

        def said() -> list[Any]:
            return [
                client.get(f"/api/v1/graph/entities/{ids['Ann']}/neighbours").json()["degraded"],
                client.get("/api/v1/graph/entities?name=Ann").json()["degraded"],
                client.post("/api/v1/graph/query", {"question": "Who is Ann?"}, format="json").json()["degraded"],
            ]

        assert said() == [[], [], []]
        entity(alice, "Dan")
        assert said() == [["projection.behind"]] * 3

    def test_without_the_choice_neo4j_is_not_asked(
        self, alice: Actor, ids: dict[str, UUID], settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.GRAPH_READS = "postgres"
        monkeypatch.setattr(Neo4jClient, "reading", lambda *_: pytest.fail("Neo4j was asked"))
        with CaptureQueriesContext(connection) as plain:
            assert all_answers(alice, ids["Ann"]) == [[], [], []]
        assert not [one for one in plain.captured_queries if "graphprojection" in one["sql"]]

    def test_steps_cost_no_statements_in_postgresql(self, alice: Actor, ids: dict[str, UUID]) -> None:
        def statements(hops: int) -> int:
            with CaptureQueriesContext(connection) as captured:
                get_neighbours(actor=alice, entity_id=ids["Ann"], hops=hops)
            return len(captured.captured_queries)

        assert statements(1) == statements(2) == statements(3)

    def test_nothing_is_kept_of_a_client_that_is_closed(self, alice: Actor, ids: dict[str, UUID]) -> None:
        neo4j_client().close()
        assert all_answers(alice, ids["Ann"]) == [[], [], []]
