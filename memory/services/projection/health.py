"""What the health of the installation says of the projection to Neo4j."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from memory.errors import LociError
from memory.graph.projection import cypher, shape
from memory.models import GraphProjection, ProjectionState
from memory.providers.composition import neo4j_client
from memory.services.findings import Finding
from memory.services.projection.standing import Standing, standing

NAME: Final = "neo4j"
LATE_SECONDS: Final = 300.0
SCHEMA_REMEDY: Final = "python3 manage.py graph verify"
REMEDY: Final = "python3 manage.py graph status"


def projection_finding() -> Finding:
    """Tell whether projections follow, with one statement; Neo4j itself is not asked."""
    if not settings.NEO4J_URI:
        return Finding(NAME, "ok", "The graph is not projected to Neo4j.", there=False)
    told = standing()
    if told.failing:
        detail = f"Projections of {_owners(told.failing)} wait for Neo4j ({told.error_code}); {_waiting(told)}."
        return Finding(NAME, "degraded", f"{detail} Recall and the graph go on from PostgreSQL.", REMEDY)
    if told.lag_seconds > LATE_SECONDS:
        return Finding(
            NAME, "degraded", f"Neo4j is {told.lag_seconds / 60:.0f} minutes behind; {_waiting(told)}.", REMEDY
        )
    made = f"Graphs of {told.following} of {_owners(told.owners)} stand in Neo4j"
    return Finding(NAME, "ok", f"{made}; {_waiting(told)}.")


def probed_finding() -> Finding:
    """Tell the same after asking Neo4j for its constraints and indexes, within the seconds of a read."""
    found = projection_finding()
    if not settings.NEO4J_URI:
        return found
    try:
        lacking = ", ".join(_lacking())
    except LociError as error:
        return Finding(NAME, "degraded", error.message, "Check NEO4J_URI, NEO4J_USER and NEO4J_PASSWORD.")
    # They are made with the first projection.
    if lacking and GraphProjection.objects.filter(state=ProjectionState.FOLLOWING).exists():
        return Finding(
            NAME, "degraded", f"Neo4j lacks constraints or indexes of the projection: {lacking}.", SCHEMA_REMEDY
        )
    return found


def _lacking() -> list[str]:
    """List the constraints and indexes that Neo4j lacks, whatever they are called there."""
    there = {(row["name"], tuple(row["properties"]), row["once"]) for row in neo4j_client().read(cypher.INDEXES, {})}
    wanted = [(name, properties, True) for name, properties in shape.ONCE]
    wanted += [(name, properties, False) for name, properties, _ in shape.INDEXED]
    return [f"{one[0]}({', '.join(one[1])})" for one in wanted if one not in there]


def _owners(number: int) -> str:
    return "1 owner" if number == 1 else f"{number} owners"


def _waiting(told: Standing) -> str:
    return "1 change waits" if told.waiting == 1 else f"{told.waiting} changes wait"
