"""Counting in Neo4j what no projector can have written of an owner, which a comparison of ids does not come upon."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from memory.graph.projection import cypher
from memory.graph.projection.shape import ENTITY_NAME, NODES
from memory.providers.composition import neo4j_client


def count_foreign(owner_id: UUID) -> dict[str, int]:
    """Count nodes and relationships of an owner that somebody else has made or changed, by label or type.

    These are nodes and relations whose id is missing or none, names that do not stand at their own entity alone, and
    relationships of the owner's entities that name no owner or lead elsewhere. Each node is looked at once, and
    each relationship of an entity from both of its ends.

    Raises:
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    found = {label: _count(cypher.COUNT_UNIDENTIFIED.format(label=label), owner_id) for label in NODES}
    found[ENTITY_NAME] = _count(cypher.COUNT_MISPLACED_NAMES, owner_id)
    found |= {row["name"]: int(row["count"]) for row in _rows(cypher.COUNT_STRAYS, owner_id)}
    return {name: count for name, count in found.items() if count}


def _count(statement: str, owner_id: UUID) -> int:
    return int(_rows(statement, owner_id)[0]["count"])


def _rows(statement: str, owner_id: UUID) -> list[dict[str, Any]]:
    return neo4j_client().rows(statement, {"owner": str(owner_id), "form": cypher.ID_FORM})
