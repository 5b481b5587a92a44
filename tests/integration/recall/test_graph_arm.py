"""The graph arm: what leads where, for whom, at what cost, and what a question for several things gains by it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from memory.graph.adjacency import adjacencies
from memory.models import CommunityState, Memory, Status, owner_scope
from memory.recall import graph_arm
from memory.recall.graph_arm import Answer, concerned, search
from memory.recall.query import Query
from memory.services.actors import Actor
from memory.services.graph.edges import link_memories
from memory.services.graph.relations import supersede_relation
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import recall
from memory.services.retirement import archive_memory
from tests.integration.graph.conftest import entity, memory, relate

SEVERAL = "What are the things that Ann and Ben both like?"
ONE = "Where does Ann live?"


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    adjacencies.forget()
    yield
    adjacencies.forget()


def asked(actor: Actor, text: str, **request: Any) -> Query:
    return prepare_query(actor, text, RecallRequest(query=text, **request), wants_vector=False)


def find(query: Query, way: str = "walk", hits: dict[UUID, float] | None = None, *, rows: int = 10) -> Answer:
    with owner_scope(query.owner_id):
        return search(query, way, hits or {}, limit=20, rows=rows)


@pytest.fixture
def kiln(alice: Actor) -> dict[str, UUID]:
    """Ann fires a kiln that a memory speaks of without naming her, and that a third one is linked to."""
    texts = {
        "ann": "Ann moved to Cork.",
        "kiln": "The kiln reached a thousand degrees.",
        "glaze": "The glaze cracked.",
        "rain": "It rained.",
    }
    made = {name: memory(alice, text) for name, text in texts.items()}
    made["Ann"] = entity(alice, "Ann", memory_id=made["ann"])
    made["Kiln"] = entity(alice, "Kiln", "tool", memory_id=made["kiln"])
    relate(alice, made["Ann"], "fires", made["Kiln"], weight=0.8)
    link_memories(actor=alice, source_id=made["kiln"], target_id=made["glaze"], kind="caused_by", weight=1.0)
    return made


@pytest.mark.django_db
class TestHop:
    def test_one_step_weighed_by_rarity(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        found = find(asked(alice, ONE), "hop", rows=4)
        telling = math.log(5 / 1.5)
        assert found.rows == pytest.approx({kiln["ann"]: telling, kiln["kiln"]: 0.5 * 0.8 * telling})
        assert list(found.rows) == [kiln["ann"], kiln["kiln"]]
        assert found.walk is None

    def test_what_everything_mentions_counts_hardly_anything(self, alice: Actor) -> None:
        for number in range(4):
            entity(alice, "Ann", memory_id=memory(alice, f"Ann said {number}."))
        assert list(find(asked(alice, ONE), "hop", rows=4).rows.values()) == pytest.approx([math.log(5 / 4.5)] * 4)
        assert find(asked(alice, ONE), "hop", rows=3).rows == {}

    def test_a_relation_that_has_ended_leads_nowhere(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        added = relate(alice, kiln["Ann"], "fires", kiln["Kiln"])
        supersede_relation(actor=alice, relation_id=added.relation.pk)
        assert set(find(asked(alice, ONE), "hop", rows=4).rows) == {kiln["ann"]}

    def test_nothing_named_and_no_graph_give_nothing(self, alice: Actor, mallory: Actor, kiln: dict[str, UUID]) -> None:
        assert find(asked(alice, "Where is it?"), "hop").rows == {}
        assert find(asked(mallory, ONE), "hop").rows == {}
        assert find(asked(mallory, SEVERAL)).rows == {}


@pytest.mark.django_db
class TestWalk:
    def test_it_reaches_over_relations_mentions_and_links(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        found = find(asked(alice, SEVERAL))
        assert list(found.rows) == [kiln["ann"], kiln["kiln"], kiln["glaze"]]
        assert found.walk is not None
        assert found.of([kiln["glaze"], kiln["rain"]]) == {kiln["glaze"]: found.rows[kiln["glaze"]]}

    def test_a_question_for_one_thing_is_not_walked_for(self, alice: Actor) -> None:
        assert concerned(asked(alice, SEVERAL), "walk")
        assert not concerned(asked(alice, ONE), "walk")
        assert concerned(asked(alice, ONE), "hop")

    def test_it_begins_at_the_hits_of_other_arms_too(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        found = find(asked(alice, "What are the things that broke?"), hits={kiln["glaze"]: 1.0, kiln["rain"]: 1.0})
        assert next(iter(found.rows)) == kiln["kiln"]

    def test_filters_and_archives_are_heeded(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        find(asked(alice, SEVERAL))
        with owner_scope(alice.owner_id):
            # As it is where a matrix is kept that knows nothing of it.
            Memory.objects.filter(pk=kiln["kiln"]).update(status=Status.ARCHIVED)
        assert list(find(asked(alice, SEVERAL)).rows) == [kiln["ann"], kiln["glaze"]]
        assert list(find(asked(alice, SEVERAL, filter={"not": {"kind": "note"}})).rows) == []

    def test_nothing_leads_over_what_was_archived(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        assert kiln["glaze"] in find(asked(alice, SEVERAL)).rows
        archive_memory(actor=alice, memory_id=kiln["kiln"])
        assert list(find(asked(alice, SEVERAL)).rows) == [kiln["ann"]]

    def test_a_reader_walks_over_what_he_may_read(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]], kiln: dict[str, UUID]
    ) -> None:
        first, _ = make_agent(alice, "first")
        second, _ = make_agent(alice, "second")
        secret = memory(first, "The kiln hides gold.", scope="agent")
        gold = entity(first, "Gold", "topic", memory_id=secret)
        relate(first, kiln["Kiln"], "hides", gold, memory_id=secret)
        assert secret in find(asked(first, SEVERAL)).rows
        assert secret in find(asked(alice, SEVERAL)).rows
        assert secret not in find(asked(second, SEVERAL)).rows
        assert find(asked(second, "Which golds are there?")).rows == find(asked(second, "Which gods are there?")).rows

    def test_a_graph_that_is_too_large_is_stepped_over(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        with owner_scope(alice.owner_id):
            CommunityState.objects.create(
                owner_id=alice.owner_id, graph_version=1, modularity=0.5, communities=2, nodes=5,
                edges=graph_arm.MOST_EDGES + 1, computed_at=datetime(2026, 1, 1, tzinfo=UTC),
            )  # fmt: skip
        assert find(asked(alice, SEVERAL), rows=4).walk is None


@pytest.mark.django_db
class TestCost:
    @pytest.mark.parametrize(
        ("text", "way", "statements"),
        [(SEVERAL, "walk", 3), (SEVERAL, "hop", 4), (ONE, "prax", 3), ("hello", "prax", 1)],
        ids=["walk", "hop", "prax", "prax without a name"],
    )
    def test_statements(self, alice: Actor, kiln: dict[str, UUID], text: str, way: str, statements: int) -> None:
        query = asked(alice, text)
        find(query, way)
        with owner_scope(alice.owner_id), CaptureQueriesContext(connection) as queries:
            search(query, way, {}, limit=20, rows=10)
        assert len(queries.captured_queries) == statements

    def test_they_do_not_grow_with_the_graph(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        for number in range(20):
            relate(alice, kiln["Ann"], "knows", entity(alice, f"Friend {number}"))
        query = asked(alice, ONE)
        with owner_scope(alice.owner_id), CaptureQueriesContext(connection) as queries:
            search(query, "hop", {}, limit=20, rows=10)
        assert len(queries.captured_queries) == 4


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_a_hub_is_read_along_its_index_and_bounded(alice: Actor) -> None:
    ann = entity(alice, "Ann")
    said = memory(alice, "Ann spoke.")
    entity(alice, "Ann", memory_id=said)
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        columns = [
            "id", "owner_id", "visibility", "scope", "tier", "kind", "category", "summary_level", "status", "text",
            "importance", "salience", "confidence", "role", "created_at", "updated_at", "occurred_at", "recorded_at",
            "archive_reason", "pii_kinds", "pii_tier", "injection_kinds", "token_count", "highest_tf", "is_question",
            "has_time", "has_number", "speaker_hashes", "name_hashes", "analyzer_version", "version",
        ]  # fmt: skip
        kept = ", ".join(f"m.{name}" for name in columns[1:])
        cursor.execute(
            f"""WITH made AS (
                INSERT INTO memory_memory ({", ".join(columns)}, content_hash)
                SELECT gen_random_uuid(), {kept}, sha256(n::text::bytea)
                FROM memory_memory m, generate_series(1, 5000) n WHERE m.owner_id = %s AND m.id = %s RETURNING id
            ) INSERT INTO memory_entitymention (owner_id, entity_id, memory_id) SELECT %s, %s, id FROM made""",
            [alice.owner_id, said, alice.owner_id, ann],
        )
    with connections["schema"].cursor() as cursor:
        cursor.execute("ANALYZE memory_memory, memory_entitymention")
    connections["schema"].close()
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {graph_arm.MENTIONING.format(where='')}",
            {
                "owner": alice.owner_id, "entities": [ann], "weights": [1.0], "live": "live",
                "each": graph_arm.MOST_MENTIONS, "most": 20,
            },
        )  # fmt: skip
        found = cursor.fetchone()[0]
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    mentions = [node for node in nodes(plan) if node.get("Relation Name") == "memory_entitymention"]
    assert [node["Node Type"].replace("Only ", "") for node in mentions] == ["Index Scan"]
    assert sum(node["Actual Rows"] for node in mentions) <= graph_arm.MOST_MENTIONS
    assert len(find(asked(alice, ONE), "hop", rows=100_000).rows) == 20


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(found for child in plan.get("Plans", ()) for found in nodes(child))]


@pytest.mark.django_db
class TestRecall:
    def test_a_question_for_several_things_finds_what_the_graph_leads_to(
        self, alice: Actor, kiln: dict[str, UUID]
    ) -> None:
        answer = recall(actor=alice, request=RecallRequest(query="What are Ann's things?", profile="default"))
        by_id = {hit.memory.pk: hit for hit in answer.hits}
        assert answer.degraded == []
        assert by_id[kiln["kiln"]].reasons["arms"]["graph"]["rank"] is not None
        # The first rank adds nothing, and whatever is not reached loses most.
        added = {one: hit.reasons["evidence"].get("graph", {"added": 0.0})["added"] for one, hit in by_id.items()}
        assert 0 >= added[kiln["kiln"]] > added[kiln["rain"]]

    def test_a_question_for_one_thing_is_ordered_without_it(self, alice: Actor, kiln: dict[str, UUID]) -> None:
        answer = recall(actor=alice, request=RecallRequest(query=ONE, profile="default"))
        assert all("graph" not in hit.reasons["evidence"] for hit in answer.hits)

    def test_an_arm_that_fails_is_said_and_left_out(
        self, alice: Actor, kiln: dict[str, UUID], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(graph_arm, "STATE", "SELECT 1 FROM memory_nowhere")
        answer = recall(actor=alice, request=RecallRequest(query=SEVERAL, profile="default"))
        assert answer.degraded == ["arm.failed:graph"]
        assert answer.hits
