"""Which store answers a question about the graph: Neo4j where it is chosen, caught up and answers, else PostgreSQL.

Neo4j is asked before the transaction, never in it. In the transaction PostgreSQL says whether the projection held
every change of this owner, confirms what was given, and gives the rows; where Neo4j did not serve, it answers itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import connection

from memory.errors import ProjectionUnavailable
from memory.graph.projection.store import Ask, Mark, Neo4jStore
from memory.graph.store import POSTGRES, GraphStore
from memory.graph.traversal import Reached, Step, View
from memory.models import NameKind, current_owner
from memory.ports import recorder
from memory.ports.recorder import GraphRead
from memory.providers.composition import neo4j_client
from memory.services.projection.standing import was_caught_up

logger = logging.getLogger(__name__)

T = TypeVar("T")

BEHIND: Final = "projection.behind"

ENDS: Final = """
    SELECT r.id, r.source_id, r.target_id FROM memory_relation r
    WHERE r.owner_id = %(owner)s AND r.id = ANY(%(ids)s::uuid[]) AND {conditions}
"""
BEARING: Final = """
    SELECT DISTINCT n.entity_id FROM memory_entityname n
    WHERE n.owner_id = %(owner)s AND n.entity_id = ANY(%(ids)s::uuid[])
      AND n.kind = ANY(%(kinds)s::smallint[]) AND n.name = ANY(%(names)s::bigint[])
"""


@dataclass(slots=True)
class Ahead(Generic[T]):
    """What Neo4j was asked ahead of the transaction.

    Attributes:
        found: what it gave; None where it was not asked or did not answer.
        mark: how far its projection was then.
        degraded: why PostgreSQL has to answer although Neo4j was chosen; empty otherwise.
    """

    found: T | None = None
    mark: Mark | None = None
    degraded: list[str] = field(default_factory=list)

    def believed(self) -> T | None:
        """Give what Neo4j found, within the owner's scope; None where PostgreSQL has to answer. One statement."""
        if self.mark is None or self.found is None:
            return None
        if not was_caught_up(self.mark.generation, self.mark.seq):
            self.degraded.append(BEHIND)
            recorder.graph_read(GraphRead(store="postgres", outcome=BEHIND))
            return None
        recorder.graph_read(GraphRead(store="neo4j", outcome="ok"))
        return self.found


def asks_ahead() -> bool:
    """Tell whether Neo4j is chosen to answer."""
    return bool(settings.GRAPH_READS == "neo4j")


def ask_ahead(owner_id: UUID, work: Callable[[GraphStore], T], *, view: View | None = None) -> Ahead[T]:
    """Ask Neo4j outside of any transaction, where it is chosen; costs nothing where it is not.

    Args:
        owner_id: whose graph.
        work: asks the store; it runs in another thread, so it asks no database.
        view: what is to be seen. What was believed at another moment is not projected, so PostgreSQL is asked at once.
    """
    if not asks_ahead() or (view is not None and view.known_at is not None):
        return Ahead()

    def asked(ask: Ask) -> Ahead[T]:
        store = Neo4jStore(ask, owner_id)
        mark = store.mark()
        return Ahead(degraded=[BEHIND]) if mark is None else Ahead(work(store), mark)

    try:
        ahead = neo4j_client().reading(asked)
    except ProjectionUnavailable as error:
        logger.info("the graph of owner %s is read from PostgreSQL: %s", owner_id, error.machine_code)
        ahead = Ahead(degraded=[error.machine_code])
    for code in ahead.degraded:
        recorder.graph_read(GraphRead(store="postgres", outcome=code))
    return ahead


def walked(ahead: Ahead[Reached], seed: UUID, *, hops: int, view: View, limit: int) -> Reached:
    """Give what some steps from an entity reach, within the owner's scope.

    Args:
        ahead: what Neo4j was asked.
        seed: where the walk begins; the caller has seen that it may be read.
        hops, view, limit: as Neo4j was asked them.
    """
    found = ahead.believed()
    if found is None:
        return POSTGRES.neighbours([seed], hops=hops, view=view, limit=limit)
    return _confirmed(found, seed, view)


def stepped(steps: Sequence[Step], *, view: View) -> list[UUID]:
    """Give those relations of some steps of Neo4j that the caller may see, in their order; one statement."""
    ends = _ends([row[0] for row in steps], view)
    return [one for one, via, _, _ in steps if one in ends and via in ends[one]]


def bearing(entity_ids: Sequence[UUID], hashes: Sequence[int]) -> set[UUID]:
    """Give those of some entities of Neo4j that bear one of these whole names or aliases; one statement."""
    kinds = [int(NameKind.CANONICAL), int(NameKind.ALIAS)]
    with connection.cursor() as cursor:
        cursor.execute(
            BEARING, {"owner": current_owner(), "ids": list(entity_ids), "kinds": kinds, "names": list(hashes)}
        )
        return {row[0] for row in cursor.fetchall()}


def _confirmed(found: Reached, seed: UUID, view: View) -> Reached:
    """Keep of a walk what PostgreSQL knows too: relations that are in view, and entities that these lead to."""
    ends = _ends(found.relations, view)
    beside: dict[UUID, set[UUID]] = {}
    for first, second in ends.values():
        beside.setdefault(first, set()).add(second)
        beside.setdefault(second, set()).add(first)
    distances = {seed: 0}
    # In the order of the walk, which is by distance.
    for entity_id, distance in found.distances.items():
        if any(distances.get(other) == distance - 1 for other in beside.get(entity_id, ())):
            distances.setdefault(entity_id, distance)
    relations = [one for one in found.relations if one in ends and all(end in distances for end in ends[one])]
    return Reached(distances, relations)


def _ends(relation_ids: Sequence[UUID], view: View) -> dict[UUID, tuple[UUID, UUID]]:
    if not relation_ids:
        return {}
    conditions, parameters = view.conditions()
    with connection.cursor() as cursor:
        cursor.execute(
            ENDS.format(conditions=conditions),
            {**parameters, "owner": current_owner(), "ids": list(dict.fromkeys(relation_ids))},
        )
        return {row[0]: (row[1], row[2]) for row in cursor.fetchall()}
