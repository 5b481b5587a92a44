"""How projections stand: of one owner for readers, of all for operators, and calling for those that have to be made."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db import connection

from memory.models import DueWork, GraphChange, GraphProjection, ProjectionState, current_owner, owner_scope
from memory.services.clock import now
from memory.services.projection.lease import rest
from memory.services.projection.marks import unlike_their_marks
from memory.services.projection.place import STANDS, present_place
from memory.services.projection.projecting import MOST_WAITING

# Changes that wait go in the transaction that raises `projected_seq`: where none waits and the number is that of the
# mark, nothing that was missing when the mark was read has been projected since.
CAUGHT_UP: Final = """
    SELECT p.generation::text = %(generation)s AND p.projected_seq = %(seq)s
       AND NOT EXISTS (SELECT FROM memory_graphchange c WHERE c.owner_id = p.owner_id)
    FROM memory_graphprojection p
    WHERE p.owner_id = %(owner)s AND p.state = 'following' AND p.text = %(text)s
"""
CALL: Final = """
    INSERT INTO memory_duework (owner_id, job, due_at)
    SELECT o.id, %(job)s, %(now)s FROM memory_owner o LEFT JOIN memory_graphprojection p ON p.owner_id = o.id
    WHERE o.purging_at IS NULL
      AND (p.owner_id IS NULL OR p.state <> 'following' OR p.text <> %(text)s OR p.behind_since IS NOT NULL
           OR p.owner_id = ANY(%(unlike)s::uuid[]))
    ON CONFLICT (owner_id, job) DO NOTHING
"""
ALL: Final = f"""
    SELECT (SELECT count(*) FROM memory_owner WHERE purging_at IS NULL),
           count(*) FILTER (WHERE state = 'following' AND text = %(text)s),
           count(*) FILTER (WHERE state = 'building' OR text <> %(text)s),
           count(*) FILTER (WHERE failures > 0),
           count(*) FILTER (WHERE text <> %(text)s AND {STANDS}),
           count(*) FILTER (WHERE {STANDS} AND (%(place)s = '' OR place NOT IN ('', %(place)s))),
           coalesce(sum(greatest(waiting, (behind_since IS NOT NULL)::int)), 0)::bigint,
           min(behind_since),
           max(error_code)
    FROM memory_graphprojection
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the projections of all owners stand.

    Attributes:
        owners: how many there are.
        following: of how many the projection is made and kept up to date.
        building: of how many it is being built.
        failing: of how many the last attempt has failed, `error_code` being one of the reasons.
        former: of how many Neo4j still holds what a former NEO4J_TEXT let out.
        elsewhere: how many stand where the settings do not lead; see `place.is_elsewhere`.
        waiting: changes that wait at least: as counted when each owner was last looked at, 1 where none was counted
            and some have been noted since.
        behind_since: since when the oldest of them waits; None where none does.
    """

    owners: int
    following: int
    building: int
    failing: int
    former: int
    elsewhere: int
    waiting: int
    behind_since: datetime | None
    error_code: str | None

    @property
    def lag_seconds(self) -> float:
        """Give how long the oldest change has been waiting; 0 where none waits."""
        return max(0.0, (now() - self.behind_since).total_seconds()) if self.behind_since else 0.0


def was_caught_up(generation: str, seq: int) -> bool:
    """Tell whether the present owner's projection held every change when its mark in Neo4j was read; one statement.

    Call it within the owner's scope, after Neo4j was read. What is not made yet, was made for another NEO4J_TEXT, or
    stands in a database that was replaced was not caught up.

    Args:
        generation, seq: of the mark, read before what is to be believed.
    """
    values: dict[str, Any] = {"generation": generation, "seq": seq, "text": settings.NEO4J_TEXT}
    with connection.cursor() as cursor:
        cursor.execute(CAUGHT_UP, {"owner": current_owner(), **values})
        row = cursor.fetchone()
    return bool(row and row[0])


def standing(cursor: Any = None) -> Standing:
    """Tell how the projections of all owners stand, with one statement.

    Args:
        cursor: where to ask; the application's own connection when left out.
    """
    if cursor is None:
        with connection.cursor() as own:
            return standing(own)
    place = present_place() if settings.NEO4J_URI else ""
    cursor.execute(ALL, {"text": settings.NEO4J_TEXT, "place": place})
    return Standing(*cursor.fetchone())


def described(projection: GraphProjection) -> dict[str, Any]:
    """Give one owner's projection as commands tell it; one that NEO4J_TEXT has outdated counts as being built."""
    outdated = bool(settings.NEO4J_URI) and projection.text != settings.NEO4J_TEXT
    return {
        "owner": str(projection.owner_id),
        "state": str(ProjectionState.BUILDING if outdated else projection.state),
        "text": projection.text,
        "waiting": _waiting(projection),
        "behind_since": projection.behind_since,
        "projected_at": projection.projected_at,
        "projected_seq": projection.projected_seq,
        "failures": projection.failures,
        "error_code": projection.error_code,
        "retry_at": projection.retry_at,
    }


def _waiting(projection: GraphProjection) -> int:
    """Count the changes that wait now, up to MOST_WAITING; one statement where some do."""
    if projection.behind_since is None:
        return projection.waiting
    with owner_scope(projection.owner_id, purging=True):
        noted = GraphChange.objects.filter(owner_id=projection.owner_id)
        return int(noted.values("seq")[:MOST_WAITING].count())


def call_for_projection() -> int:
    """Call for work where a projection is missing, unfinished or behind, or Neo4j does not hold it as it was made.

    Where the graph is not projected any more, nothing more is noted for it. Neo4j being away stops nothing.

    Returns:
        The number of owners.
    """
    if not settings.NEO4J_URI:
        return _rest_all()
    unlike = list(unlike_their_marks())
    with connection.cursor() as cursor:
        cursor.execute(CALL, {"job": DueWork.PROJECT, "now": now(), "text": settings.NEO4J_TEXT, "unlike": unlike})
        return int(cursor.rowcount)


def _rest_all() -> int:
    noted = GraphProjection.objects.exclude(state=ProjectionState.RESTING).filter(owner__purging_at=None)
    owners = list(noted.values_list("owner_id", flat=True))
    for owner_id in owners:
        rest(owner_id)
    DueWork.objects.filter(job=DueWork.PROJECT, owner_id__in=owners).delete()
    return len(owners)
