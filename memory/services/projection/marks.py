"""Reading the marks of projections, to notice without any change that Neo4j does not hold what was made."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from memory.errors import ProjectionUnavailable
from memory.graph.projection import cypher
from memory.providers.composition import neo4j_client

logger = logging.getLogger(__name__)

PAGE: Final = 10_000
# What is behind is called for anyway, and what a worker holds is looked at by its writes.
AT_EASE: Final = """
    SELECT owner_id::text, generation::text, projected_seq FROM memory_graphprojection
    WHERE owner_id > %(after)s AND state = 'following' AND text = %(text)s AND behind_since IS NULL
      AND (leased_until IS NULL OR leased_until < clock_timestamp())
    ORDER BY owner_id LIMIT %(most)s
"""


def unlike_their_marks() -> Iterator[str]:
    """Give the owners whose mark Neo4j lacks or holds otherwise: one of the two was emptied, replaced or restored.

    Where Neo4j does not answer, that is one owner: the attempt for it notes why, so that health and metrics tell it.
    One statement here and one there for 10,000 owners.
    """
    after = str(UUID(int=0))
    while page := _at_ease(after):
        owners = [owner for owner, _, _ in page]
        try:
            rows = neo4j_client().rows(cypher.MARKS, {"owners": owners})
        except ProjectionUnavailable as error:
            logger.warning("the marks of projections could not be read: %s", error.machine_code)
            yield owners[0]
            return
        # Compared as they are: anybody may write there.
        marks = {row["owner"]: (row["generation"], row["seq"]) for row in rows}
        yield from (owner for owner, generation, seq in page if marks.get(owner) != (generation, seq))
        after = owners[-1]


def _at_ease(after: str) -> list[tuple[str, str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(AT_EASE, {"after": after, "text": settings.NEO4J_TEXT, "most": PAGE})
        found: list[tuple[str, str, int]] = cursor.fetchall()
        return found
