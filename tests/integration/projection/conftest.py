"""An owner whose graph is projected to the tests' own Neo4j, and short ways to look at what stands there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import override_settings

from memory.models import GraphChange, GraphProjection, owner_scope
from memory.providers.composition import neo4j_client
from memory.services.actors import Actor
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from memory.services.graph.writing import Reference
from memory.services.projection.projecting import project
from memory.services.projection.turn import Turn
from tests.bolt.server import USER, BoltServer
from tests.integration.graph.conftest import entity, memory, relate


@pytest.fixture
def projected(bolt: BoltServer) -> Iterator[BoltServer]:
    """Have graphs projected to an empty Neo4j, names in clear."""
    with override_settings(
        NEO4J_URI=bolt.uri,
        NEO4J_USER=USER,
        NEO4J_PASSWORD=bolt.password,
        NEO4J_DATABASE="",
        NEO4J_TEXT="names",
        NEO4J_TIMEOUT=20,
        NEO4J_READ_TIMEOUT=20,
    ):
        neo4j_client().write([("MATCH (n) DETACH DELETE n", {})])
        yield bolt
        neo4j_client().close()


def catch_up(actor: Actor, **options: Any) -> int:
    """Project all that waits of an owner; gives how many rows that were."""
    turn = Turn()
    assert project(owner_id=actor.owner_id, turn=turn, **options)
    return turn.done


def asked(statement: str, **parameters: Any) -> list[dict[str, Any]]:
    """Give what a statement answers."""
    return neo4j_client().rows(statement, parameters)


def told(*arguments: str) -> dict[str, Any]:
    """Give what `manage.py graph` answers as JSON."""
    out = StringIO()
    call_command("graph", *arguments, "--json", stdout=out)
    value: dict[str, Any] = json.loads(out.getvalue())
    return value


def nodes(actor: Actor, label: str) -> list[dict[str, Any]]:
    """Give the properties of an owner's nodes with a label, in the order of their ids."""
    found = asked(
        f"MATCH (n:{label} {{user_id: $owner}}) RETURN properties(n) AS n ORDER BY n.id", owner=str(actor.owner_id)
    )
    return [row["n"] for row in found]


def edges(actor: Actor) -> set[tuple[str, str, str]]:
    """Give an owner's relations as they would be said: source, type and target."""
    found = asked(
        "MATCH (s:Entity {user_id: $owner})-[r:RELATES_TO]->(t:Entity)"
        " RETURN s.display_name AS s, r.type AS r, t.display_name AS t",
        owner=str(actor.owner_id),
    )
    return {(row["s"], row["r"], row["t"]) for row in found}


def waiting(actor: Actor) -> list[tuple[int, Any]]:
    """List the changes that wait, as part and id."""
    with owner_scope(actor.owner_id):
        return list(GraphChange.objects.order_by("seq").values_list("part", "row_id"))


def standing(actor: Actor) -> GraphProjection:
    """Give the row of an owner's projection."""
    return GraphProjection.objects.get(owner_id=actor.owner_id)


def small_graph(actor: Actor) -> dict[str, Any]:
    """Make a graph with every part once or twice; gives ids by what they are."""
    spoken = memory(actor, "Anna Weber works on Aurora and likes jasmine tea.")
    anna = entity(actor, "Anna Weber", aliases=["Annie"], properties={"town": "Graz"}, memory_id=spoken)
    aurora = entity(actor, "Aurora", "project")
    works = relate(actor, anna, "works on", aurora, valid_from="2026-01-01", memory_id=spoken).relation.pk
    (event, _), _ = merge_temporal_event(
        actor=actor,
        text="Anna gave the first talk about Aurora.",
        occurred_at="2026-03-02",
        participants=[Reference(entity_id=anna), Reference(entity_id=aurora)],
    )
    cause, _ = add_causal_link(
        actor=actor,
        cause="The talk went well.",
        effect="Aurora got its money.",
        cause_entity=Reference(entity_id=anna),
        effect_entity=Reference(entity_id=aurora),
    )
    return {"memory": spoken, "anna": anna, "aurora": aurora, "works": works, "event": event.pk, "cause": cause.pk}
