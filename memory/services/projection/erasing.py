"""Taking an owner out of Neo4j: for a purge, whose part this is, and for an operator who gives the projection up."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet

from memory.errors import LociError, ProjectionOff
from memory.graph.projection import cypher
from memory.graph.projection.shape import LABELS
from memory.models import GraphProjection, owner_scope
from memory.providers.composition import neo4j_client
from memory.services.clock import now
from memory.services.projection import lease as leases
from memory.services.projection.building import EMPTIED_AT_ONCE, emptying
from memory.services.projection.place import NOTHING_STANDS, refuse_elsewhere
from memory.services.projection.projecting import TURN_SECONDS, project
from memory.services.projection.turn import Turn
from memory.services.purge.registry import Subject, Traces

LOST: Final = (
    "The graph of this owner was projected to a Neo4j that NEO4J_URI does not name any more. Set it again, so that "
    "what stands there can be erased, or run `manage.py graph forget --lost --all` if that Neo4j is gone."
)


def forget(*, owner_id: UUID, turn: Turn) -> int:
    """Delete all that Neo4j holds of an owner and note no more changes; gives how many nodes and relations that were.

    While NEO4J_URI stays set, the workers begin anew.

    Raises:
        ProjectionOff: NEO4J_URI is not set, or names another Neo4j than the one in which the projection stands.
        ProjectionBusy: a worker is at it.
        ProjectionUnavailable: Neo4j did not answer usably; it can be repeated.
    """
    client = neo4j_client()
    with owner_scope(owner_id):
        leases.ensure(owner_id, text=settings.NEO4J_TEXT)
    lease = leases.take(owner_id)
    try:
        refuse_elsewhere(GraphProjection.objects.get(owner_id=owner_id))
        leases.rest(owner_id)
        for statement in (cypher.EMPTY_MARK, *emptying()):
            while count := client.rows(statement, {"owner": str(owner_id), "most": EMPTIED_AT_ONCE})[0]["count"]:
                lease.extend()
                turn.count(count, "deleted")
        lease.save(**leases.unmade(), leased_until=None)
        # That a Neo4j was given up before is kept for receipts.
        GraphProjection.objects.filter(owner_id=owner_id, fence=0, given_up_at=None).delete()
    finally:
        lease.let_go()
    return turn.done


def give_up(*, owner_id: UUID) -> None:
    """Note no more changes of an owner's graph, whose Neo4j is gone with all it held; that this was said is kept."""
    begun = _begun(owner_id).exists()
    leases.rest(owner_id, purging=True)
    if begun:
        GraphProjection.objects.filter(owner_id=owner_id).update(**leases.unmade(), given_up_at=now())


def was_given_up(owner_id: UUID) -> bool:
    """Tell whether a Neo4j in which an owner's graph stood was given up, so that nobody has looked there."""
    return GraphProjection.objects.filter(owner_id=owner_id).exclude(given_up_at=None).exists()


def settle(*, owner_id: UUID, beat: Callable[[], None]) -> bool:
    """Have all that has changed projected now, so that what was erased stands in Neo4j no more either.

    Args:
        owner_id: whose graph.
        beat: called from time to time.

    Returns:
        Whether there is a projection.

    Raises:
        ProjectionOff: there is one, and NEO4J_URI does not name its Neo4j any more.
        ProjectionBusy: a worker is at it; it may be tried again in a moment.
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    projection = _begun(owner_id).first()
    if projection is None:
        return False
    _refuse_unreachable(projection)
    while not project(owner_id=owner_id, turn=Turn(until=time.monotonic() + TURN_SECONDS)):
        beat()
    return True


def held(owner_id: UUID) -> int:
    """Count the nodes that Neo4j holds of an owner; raises ProjectionUnavailable when it does not answer."""
    client, owner = neo4j_client(), {"owner": str(owner_id)}
    return sum(int(client.rows(cypher.COUNT_LABEL.format(label=label), owner)[0]["count"]) for label in LABELS)


class Neo4jTarget:
    """What stands in Neo4j of an owner. A purge is not done while it cannot be asked, or the settings lead elsewhere.

    Neo4j's files and backups keep what was deleted for as long as Neo4j does; nothing here reaches those.
    """

    name: Final = "neo4j"
    tables: Sequence[str] = ()
    outside = True

    def count(self, subject: Subject) -> int:
        """Count the nodes; 0 while Neo4j cannot be asked."""
        try:
            return self._count(subject)
        except LociError:
            return 0

    def erase(self, subject: Subject, most: int) -> int:
        """Delete some nodes with their relations: first the mark, without which no worker writes any more.

        Before Neo4j is asked the projection is put to rest, so that what a purge goes on to erase is not noted for it.

        Raises:
            ProjectionBusy: a worker is still writing; it ends by itself, since it finds the owner closed.
            ProjectionOff: something was projected, and NEO4J_URI does not name its Neo4j any more.
            ProjectionUnavailable: Neo4j did not answer usably.
        """
        projection = GraphProjection.objects.filter(owner_id=subject.owner_id)
        # Nobody projects it any more, so nothing is late and nothing fails: the purge says what holds it up.
        projection.update(**leases.AT_REST, **leases.UNTROUBLED)
        if not self._there(subject):
            return 0
        if projection.exists():
            # Whoever had it before has written its last: a lease is longer than any write.
            leases.take(subject.owner_id).let_go()
        client, at_once = neo4j_client(), min(most, EMPTIED_AT_ONCE)
        for statement in (cypher.EMPTY_MARK, *emptying()):
            count = int(client.rows(statement, {"owner": str(subject.owner_id), "most": at_once})[0]["count"])
            if count:
                return count
        return 0

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count the nodes that are left; raises as `erase` does."""
        return self._count(subject)

    def _count(self, subject: Subject) -> int:
        return held(subject.owner_id) if self._there(subject) else 0

    def _there(self, subject: Subject) -> bool:
        """Tell whether Neo4j is to be asked; raises ProjectionOff where it holds something and cannot be."""
        projection = _begun(subject.owner_id).first()
        if projection is not None:
            _refuse_unreachable(projection)
        return bool(settings.NEO4J_URI)


def _begun(owner_id: UUID) -> QuerySet[GraphProjection]:
    """Give the projection if something of it may stand in Neo4j."""
    return GraphProjection.objects.filter(owner_id=owner_id).exclude(**NOTHING_STANDS)


def _refuse_unreachable(projection: GraphProjection) -> None:
    if not settings.NEO4J_URI:
        raise ProjectionOff(LOST)
    refuse_elsewhere(projection)
