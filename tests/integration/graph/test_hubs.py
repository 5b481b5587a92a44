"""A hub of 5,000 relations: one step reads the heaviest of them along an index, and gives a bounded answer."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections

from memory.graph.traversal import STEP, View
from memory.models import owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.reading import get_neighbours
from tests.integration.graph.conftest import entity, relate

SPOKES = 5_000
# Copies of one sealed label under other ids: nothing here opens them, but those of the hub's own relation.
FILL = """
    WITH spokes AS (
        INSERT INTO memory_entity (owner_id, id, visibility, scope, type, name, importance, mention_count, stated,
                                   first_seen, last_seen)
        SELECT e.owner_id, gen_random_uuid(), e.visibility, e.scope, e.type, e.name, 0.5, 1, true, now(), now()
        FROM memory_entity e, generate_series(1, %(spokes)s) WHERE e.owner_id = %(owner)s AND e.id = %(hub)s
        RETURNING owner_id, id, scope
    )
    INSERT INTO memory_relation (owner_id, id, visibility, scope, source_id, target_id, label, label_hash, weight,
                                 confidence, valid_from, recorded_at, last_seen)
    SELECT s.owner_id, gen_random_uuid(), 'owner', s.scope, %(hub)s, s.id, 'enc:v1:', 7, random() * 0.8, 1,
           '2020-01-01', '2020-01-01', '2020-01-01' FROM spokes s
"""


pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


@pytest.fixture
def hub(alice: Actor) -> UUID:
    hub = entity(alice, "Hub")
    for number in range(5):
        other = entity(alice, f"Friend {number}")
        relate(alice, hub, "knows", other, weight=0.95)
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        # The composite foreign keys see the new entities at once, since one statement's checks run at its end.
        cursor.execute(FILL, {"owner": alice.owner_id, "hub": hub, "spokes": SPOKES})
        cursor.execute("SELECT count(*) FROM memory_relation WHERE source_id = %s", [hub])
        assert cursor.fetchone() == (SPOKES + 5,)
    # Statistics as autovacuum makes them, by the role that owns the tables.
    with connections["schema"].cursor() as cursor:
        cursor.execute("ANALYZE memory_relation, memory_entity")
    connections["schema"].close()
    return hub


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(found for child in plan.get("Plans", ()) for found in nodes(child))]


def explained(owner: Actor, hub: UUID, view: View) -> list[dict[str, Any]]:
    conditions, parameters = view.conditions()
    with owner_scope(owner.owner_id), connection.cursor() as cursor:
        cursor.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {STEP.format(conditions=conditions)}",
            {**parameters, "owner": owner.owner_id, "frontier": [hub], "each": 5, "most": 20},
        )
        found = cursor.fetchone()[0]
    return nodes((json.loads(found) if isinstance(found, str) else found)[0]["Plan"])


def test_one_step_reads_the_heaviest_along_the_index(alice: Actor, hub: UUID) -> None:
    scans = [
        node
        for node in explained(alice, hub, View(None, valid_at=now()))
        if node.get("Relation Name") == "memory_relation"
    ]
    assert {node["Index Name"] for node in scans} == {"relation_out", "relation_in"}
    assert sum(node["Actual Rows"] for node in scans) <= 10
    assert all(node.get("Rows Removed by Filter", 0) < 10 for node in scans)


def test_an_agents_scopes_are_checked_in_the_index(alice: Actor, hub: UUID) -> None:
    view = View((alice.owner_id,), valid_at=now())
    scans = [node for node in explained(alice, hub, view) if node.get("Relation Name") == "memory_relation"]
    assert {node["Index Name"] for node in scans} == {"relation_out", "relation_in"}
    assert sum(node["Actual Rows"] for node in scans) <= 10


def test_neighbours_of_a_hub_are_the_heaviest_and_bounded(alice: Actor, hub: UUID) -> None:
    found = get_neighbours(actor=alice, entity_id=hub, limit=5)
    assert {row.name for row, _ in found.entities} == {"Hub", *(f"Friend {number}" for number in range(5))}
    assert len(found.relations) == 5
    beyond = get_neighbours(actor=alice, entity_id=hub, hops=3, limit=5)
    assert len(beyond.entities) == 6
