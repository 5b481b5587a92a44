"""The projection job: an owner's graph is built in Neo4j once, and follows what changes from then on.

PostgreSQL is read in short transactions, Neo4j is written outside of them, and what was written is noted last. So it
can be killed anywhere: what was not noted is written again, from the rows as they stand then.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, connection

from memory.errors import LociError, ProjectionBusy, ProjectionElsewhere, ProjectionOff, ProjectionUnavailable
from memory.models import GraphPart, GraphProjection, ProjectionState, owner_scope
from memory.providers.composition import neo4j_client
from memory.providers.neo4j_client import GuardRefused
from memory.services.clock import now
from memory.services.projection import lease as leases
from memory.services.projection.building import build
from memory.services.projection.lease import Lease
from memory.services.projection.place import present_place, refuse_elsewhere
from memory.services.projection.rows import Loaded, load_rows, wording
from memory.services.projection.statements import statements_for
from memory.services.projection.turn import Turn

logger = logging.getLogger(__name__)

# Then other owners and other work have their turn.
TURN_SECONDS: Final = 20.0
BATCH: Final = 2_000
# With more, building from nothing is quicker than following, and noting still more helps nobody.
MOST_WAITING: Final = 100_000
FIRST_PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(minutes=5)
BUSY_PAUSE: Final = timedelta(seconds=15)

WAITING: Final = """
    SELECT seq, part, row_id FROM memory_graphchange WHERE owner_id = %(owner)s ORDER BY seq LIMIT %(most)s
"""
DONE: Final = "DELETE FROM memory_graphchange WHERE owner_id = %(owner)s AND seq = ANY(%(seqs)s::bigint[])"
STILL: Final = """
    SELECT count(*), min(noted_at) FROM
        (SELECT noted_at FROM memory_graphchange WHERE owner_id = %(owner)s ORDER BY seq LIMIT %(most)s) c
"""


def project_owner(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Project what has changed in an owner's graph, or build all of it; a job of the workers.

    Args:
        owner_id: whose graph.
        at: the moment that counts as now.

    Returns:
        How many rows were written or deleted in Neo4j, and when to go on; None when nothing is left.

    Raises:
        OwnerPurging: the owner is being erased.
        KeysUnavailable: the owner's keys cannot be used.
    """
    if not settings.NEO4J_URI:
        leases.rest(owner_id)
        return 0, None
    with owner_scope(owner_id):
        leases.ensure(owner_id, text=settings.NEO4J_TEXT)
    retry_at = GraphProjection.objects.values_list("retry_at", flat=True).get(owner_id=owner_id)
    if retry_at is not None and retry_at > at:
        return 0, retry_at
    turn = Turn(until=time.monotonic() + TURN_SECONDS)
    try:
        finished = project(owner_id=owner_id, turn=turn)
    except ProjectionBusy:
        return turn.done, at + BUSY_PAUSE
    except OperationalError as error:
        # Such as a deadlock: of this owner alone, so that the others go on.
        logger.info("the projection of owner %s waits: %s", owner_id, type(error).__name__)
        return turn.done, at + BUSY_PAUSE
    except (ProjectionUnavailable, ProjectionElsewhere) as error:
        logger.warning("the projection of owner %s waits: %s", owner_id, error.machine_code)
        return turn.done, _note_failure(owner_id, error, at)
    return turn.done, None if finished else at


def project(*, owner_id: UUID, turn: Turn, anew: bool = False) -> bool:
    """Work on an owner's projection until nothing waits or the turn is over.

    Args:
        owner_id: whose.
        turn: counts, tells of progress and ends the work.
        anew: build from nothing, whatever is there.

    Returns:
        Whether nothing waits any more.

    Raises:
        ProjectionOff: NEO4J_URI is not set, or names another Neo4j than the one in which the projection stands.
        ProjectionBusy: another worker is at it, or has taken it over, or somebody changes the graph for long.
        ProjectionUnavailable: Neo4j did not answer usably; what was done stays done.
        OwnerPurging: the owner is being erased.
        KeysUnavailable: the owner's keys cannot be used.
    """
    if not settings.NEO4J_URI:
        raise ProjectionOff
    with owner_scope(owner_id):
        leases.ensure(owner_id, text=settings.NEO4J_TEXT)
    lease = leases.take(owner_id)
    try:
        try:
            return _advance(lease, turn, anew=anew)
        except GuardRefused:
            # One of the two databases was replaced, or Neo4j was emptied.
            lease.extend()
            logger.warning("Neo4j does not hold the projection of owner %s that was made; it is built anew", owner_id)
            return _advance(lease, turn, anew=True)
    except GuardRefused as error:
        raise ProjectionUnavailable(code="projection.replaced") from error
    finally:
        lease.let_go()


def _advance(lease: Lease, turn: Turn, *, anew: bool) -> bool:
    projection = GraphProjection.objects.get(owner_id=lease.owner_id)
    refuse_elsewhere(projection)
    if anew or projection.state == ProjectionState.RESTING or projection.text != settings.NEO4J_TEXT:
        # Nothing is noted for a server that is not there.
        neo4j_client().rows("RETURN 1 AS one", {})
        leases.begin(lease, text=settings.NEO4J_TEXT)
        projection = GraphProjection.objects.get(owner_id=lease.owner_id)
    if projection.state == ProjectionState.BUILDING and not build(lease, projection, turn):
        return False
    return _follow(lease, projection, turn)


def _follow(lease: Lease, projection: GraphProjection, turn: Turn) -> bool:
    """Project what waits, batch by batch."""
    while True:
        changes, loaded = _waiting(lease.owner_id, projection.text)
        seq = lease.seq
        if changes:
            # Raised even by changes with lower numbers, which were committed later: readers go by it.
            seq = max(seq + 1, *changes)
            lease.write(statements_for(loaded), seq=seq)
        elif not turn.done:
            # A mark that is gone is noticed even where nothing changes.
            lease.write([], seq=seq)
        with owner_scope(lease.owner_id), connection.cursor() as cursor:
            cursor.execute(DONE, {"owner": lease.owner_id, "seqs": changes})
            waiting, since = _still(lease.owner_id, most=MOST_WAITING)
            lease.save(
                place=present_place(),
                projected_seq=seq,
                projected_at=now(),
                waiting=waiting,
                behind_since=since,
                **leases.UNTROUBLED,
            )
        turn.count(sum(len(one.rows) + len(one.gone) for one in loaded.values()))
        if not waiting:
            return True
        if turn.over():
            return False


def _waiting(owner_id: UUID, text: str) -> tuple[list[int], dict[GraphPart, Loaded]]:
    """Load the rows of the next changes as they stand now, in a transaction of its own."""
    with owner_scope(owner_id):
        with connection.cursor() as cursor:
            cursor.execute(WAITING, {"owner": owner_id, "most": BATCH})
            changes = cursor.fetchall()
        ids: dict[GraphPart, dict[UUID, None]] = defaultdict(dict)
        for _, part, row_id in changes:
            ids[GraphPart(part)][row_id] = None
        words = wording(text) if changes else None
        loaded = {part: load_rows(part, list(some), words) for part, some in ids.items() if words is not None}
    return [change[0] for change in changes], loaded


def _still(owner_id: UUID, *, most: int) -> tuple[int, datetime | None]:
    with connection.cursor() as cursor:
        cursor.execute(STILL, {"owner": owner_id, "most": most})
        count, since = cursor.fetchone()
        return int(count), since


def _note_failure(owner_id: UUID, error: LociError, at: datetime) -> datetime:
    """Note why it has failed, and give when to try again; lets go where too much waits."""
    with owner_scope(owner_id):
        waiting, since = _still(owner_id, most=MOST_WAITING)
    row = GraphProjection.objects.get(owner_id=owner_id)
    pause = min(FIRST_PAUSE * 2 ** min(row.failures, 10), LONGEST_PAUSE)
    GraphProjection.objects.filter(owner_id=owner_id).update(
        error_code=error.machine_code[:64],
        failures=row.failures + 1,
        retry_at=at + pause,
        waiting=waiting,
        behind_since=since or row.behind_since,
    )
    if waiting >= MOST_WAITING:
        logger.warning("too many changes of owner %s wait for Neo4j; its projection will be built anew", owner_id)
        leases.rest(owner_id)
    again: datetime = at + pause
    return again
