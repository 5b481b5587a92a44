"""Which statements bring loaded rows to Neo4j, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memory.graph.projection import cypher
from memory.models import GraphPart
from memory.services.projection.rows import Loaded

WRITES: Final[Mapping[GraphPart, Sequence[str]]] = {
    GraphPart.ENTITY: cypher.WRITE_ENTITIES,
    GraphPart.EVENT: cypher.WRITE_EVENTS,
    GraphPart.CAUSE: cypher.WRITE_CAUSES,
    GraphPart.RELATION: cypher.WRITE_RELATIONS,
}
# Relationships before what they hang on.
DELETES: Final[Mapping[GraphPart, Sequence[str]]] = {
    GraphPart.RELATION: cypher.DELETE_RELATIONS,
    GraphPart.EVENT: cypher.DELETE_EVENTS,
    GraphPart.CAUSE: cypher.DELETE_CAUSES,
    GraphPart.ENTITY: cypher.DELETE_ENTITIES,
}


def statements_for(loaded: Mapping[GraphPart, Loaded], *, fresh: bool = False) -> list[tuple[str, dict[str, Any]]]:
    """Give the statements that bring rows to Neo4j and take away those that are gone, in their order.

    Args:
        loaded: rows by their part.
        fresh: whether nothing of them was there before, so that nothing hangs on them that has to go.
    """
    made: list[tuple[str, dict[str, Any]]] = []
    for part, statements in WRITES.items():
        if part in loaded and loaded[part].rows:
            made.append((statements[0], {"rows": loaded[part].rows}))
            hanging = [{name: row[name] for name in row if name != "properties"} for row in loaded[part].rows]
            chosen = [one for one in statements[1:] if not fresh or one not in cypher.TIDYING]
            made += [(statement, {"rows": hanging}) for statement in chosen]
    for part, statements in DELETES.items():
        if part in loaded and loaded[part].gone:
            made += [(statement, {"ids": loaded[part].gone}) for statement in statements]
    return made
