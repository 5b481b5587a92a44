"""Building an owner's projection from nothing, page by page; it goes on where it was interrupted."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.graph.projection import cypher
from memory.graph.projection.shape import LABELS, MARK, SCHEMA
from memory.models import GraphPart, GraphProjection, ProjectionState, owner_scope
from memory.providers.composition import neo4j_client
from memory.services.projection.lease import Lease
from memory.services.projection.rows import Loaded, load_rows, wording
from memory.services.projection.statements import statements_for
from memory.services.projection.turn import Turn

logger = logging.getLogger(__name__)

# So small that a slow server writes one within NEO4J_TIMEOUT.
PAGE: Final = 1_000
# What hangs on a node goes with it.
EMPTIED_AT_ONCE: Final = 2_000
NEVER: Final = UUID(int=0)
# Entities first: relationships then find both of their ends.
TABLES: Final[Mapping[GraphPart, str]] = {
    GraphPart.ENTITY: "memory_entity",
    GraphPart.RELATION: "memory_relation",
    GraphPart.EVENT: "memory_temporalevent",
    GraphPart.CAUSE: "memory_causallink",
}
NEXT: Final = """
    SELECT id FROM {table} WHERE owner_id = %(owner)s AND id > %(after)s ORDER BY id LIMIT %(most)s
"""


def build(lease: Lease, projection: GraphProjection, turn: Turn) -> bool:
    """Empty what Neo4j holds of an owner and write all rows; changes that are noted meanwhile are projected after it.

    Args:
        lease: of the owner.
        projection: the row, as it stands.
        turn: counts, and ends the work.

    Returns:
        Whether it is finished; if not, the row says how far it is.

    Raises:
        LeaseLost: another worker has taken over.
        GuardRefused: Neo4j does not hold this generation any more.
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    position = dict(projection.position)
    if not position:
        _prepare(lease, turn)
        position = {"part": int(GraphPart.ENTITY), "after": str(NEVER)}
        lease.save(position=position)
    pages = _pages(lease.owner_id, position, projection.text)
    page = next(pages, None)
    with ThreadPoolExecutor(1) as beside:
        while page is not None:
            part, last, loaded = page
            seq = lease.seq + 1
            lease.extend()
            written = beside.submit(lease.send, statements_for({part: loaded}, fresh=True), seq=seq)
            # The database is read on while Neo4j writes; what changes there meanwhile was noted.
            page = next(pages, None)
            written.result()
            lease.save(position={"part": int(part), "after": str(last)}, projected_seq=seq)
            turn.count(len(loaded.rows), part.name.lower())
            if turn.over():
                return False
    lease.save(state=ProjectionState.FOLLOWING, position={})
    return True


def _prepare(lease: Lease, turn: Turn) -> None:
    """Make constraints and indexes, put the mark, which ends what others write, and empty the rest."""
    client = neo4j_client()
    contradicted = client.change_schema(SCHEMA)
    lease.extend()
    client.write([(cypher.ONE_MARK, lease.parameters()), lease.mark(cypher.BEGIN, seq=0)])
    emptied = 0
    for statement in emptying():
        while count := lease.write([(statement, {"most": EMPTIED_AT_ONCE})], seq=0)[0]["count"]:
            emptied += count
            if turn.tell is not None:
                turn.tell("emptied", emptied)
    # What stood against a constraint may have been this owner's. Of another one's it does not keep this one from it.
    if contradicted and client.change_schema(SCHEMA):
        logger.warning("Neo4j refuses a constraint of the projection, since values stand there twice")


def emptying() -> list[str]:
    """List the statements that empty a projection but for its mark, when each is repeated until it counts nothing."""
    labels = [label for label in LABELS if label != MARK]
    return [cypher.EMPTY_RELATIONS, *(cypher.EMPTY_LABEL.format(label=label) for label in labels)]


def _pages(owner_id: UUID, position: Mapping[str, Any], text: str) -> Iterator[tuple[GraphPart, UUID, Loaded]]:
    """Read all rows from a position on, each page in a transaction of its own; gives part, last id and rows."""
    parts, reached = list(TABLES), GraphPart(position["part"])
    for part in parts[parts.index(reached) :]:
        after = UUID(position["after"]) if part == reached else NEVER
        while True:
            ids, loaded = _page(owner_id, part, after, text)
            if not ids:
                break
            after = ids[-1]
            yield part, after, loaded


def _page(owner_id: UUID, part: GraphPart, after: UUID, text: str) -> tuple[list[UUID], Loaded]:
    with owner_scope(owner_id):
        with connection.cursor() as cursor:
            cursor.execute(NEXT.format(table=TABLES[part]), {"owner": owner_id, "after": after, "most": PAGE})
            ids = [row[0] for row in cursor.fetchall()]
        return ids, load_rows(part, ids, wording(text)) if ids else Loaded([], [])
