"""Constraints and indexes in Neo4j: which are lacking, making them, and what keeps a constraint from being made."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from memory.graph.projection import cypher, shape
from memory.providers.composition import neo4j_client
from memory.providers.neo4j_client import Ask

REPEATED: Final = {
    label: cypher.COUNT_REPEATED.format(
        label=label,
        key=", ".join(f"n.{one}" for one in properties),
        named=" AND ".join(f"n.{one} IS NOT NULL" for one in properties),
    )
    for label, properties in shape.ONCE
}


class Schema:
    """Makes constraints and indexes once at most, however many owners are worked on with it."""

    def __init__(self) -> None:
        """Build it; nothing is asked yet."""
        self._refused: list[str] | None = None

    def made(self) -> bool:
        """Make what Neo4j lacks, at the first call, and tell whether it was willing to.

        Call it where the settings lead to the projection; see `place.refuse_elsewhere`.

        Returns:
            False where what stands there contradicts a constraint, of whatever owner that is.

        Raises:
            ProjectionUnavailable: Neo4j did not answer usably.
        """
        if self._refused is None:
            self._refused = neo4j_client().change_schema(shape.SCHEMA) if lacking(neo4j_client().rows) else []
        return not self._refused


def lacking(ask: Ask) -> list[str]:
    """List the constraints and indexes that Neo4j lacks, whatever they are called there; one statement.

    Args:
        ask: sends it.

    Raises:
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    there = {(row["name"], tuple(row["properties"]), row["once"]) for row in ask(cypher.INDEXES, {})}
    wanted = [(name, properties, True) for name, properties in shape.ONCE]
    wanted += [(name, properties, False) for name, properties, _ in shape.INDEXED]
    return [f"{one[0]}({', '.join(one[1])})" for one in wanted if one not in there]


def count_repeated(owner_id: UUID) -> dict[str, int]:
    """Count by label the nodes of an owner that stand there again, which keeps a constraint from being made.

    Raises:
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    found = {
        label: int(neo4j_client().rows(statement, {"owner": str(owner_id)})[0]["count"])
        for label, statement in REPEATED.items()
    }
    return {label: count for label, count in found.items() if count}
