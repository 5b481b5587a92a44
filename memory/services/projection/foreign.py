"""Counting in Neo4j what no projector can have written of an owner, which a comparison of ids does not come upon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

from memory.graph.projection import cypher
from memory.graph.projection.shape import ENTITY_NAME, NODES
from memory.providers.composition import neo4j_client

# So few that a slow server looks at what hangs on them within NEO4J_TIMEOUT.
PAGE: Final = 5_000


def count_foreign(owner_id: UUID) -> dict[str, int]:
    """Count nodes and relationships of an owner that somebody else has made or changed, by label or type.

    These are nodes and relations whose id is missing or none, names that do not stand at their own entity alone, and
    relationships of the owner's entities that name no owner or lead elsewhere; of two entities, once for each. Each
    node is looked at once, and each relationship of an entity from both of its ends, page by page.

    Raises:
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    found = Counter({label: _count(cypher.COUNT_UNIDENTIFIED.format(label=label), owner_id) for label in NODES})
    found[ENTITY_NAME] = _count(cypher.COUNT_MISPLACED_NAMES, owner_id)
    found.update(_strays(owner_id))
    return dict(+found)


def _count(statement: str, owner_id: UUID) -> int:
    return int(_rows(statement, owner_id)[0]["count"])


def _strays(owner_id: UUID) -> Iterator[str]:
    """Give the type of each relationship that no projector can have written, along the ids of entities."""
    after = ""
    while True:
        page = _rows(cypher.STRAYS, owner_id, after=after, most=PAGE)[0]
        if page["last"] is None:
            return
        yield from page["strays"]
        after = page["last"]


def _rows(statement: str, owner_id: UUID, **more: Any) -> list[dict[str, Any]]:
    return neo4j_client().rows(statement, {"owner": str(owner_id), "form": cypher.ID_FORM, **more})
