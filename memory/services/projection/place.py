"""Where a projection stands: a code of the server and database that NEO4J_URI and NEO4J_DATABASE name.

The way there (encrypted or not, routed or not) and the login are no part of it.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings

from memory.crypto.signing import signer
from memory.errors import ProjectionElsewhere
from memory.graph.projection import cypher
from memory.models import GraphProjection, ProjectionState
from memory.providers.composition import neo4j_client

PURPOSE: Final = "neo4j place"
CODE_BYTES: Final = 16
BOLT_PORT: Final = 7687
# The row of a projection of which nothing can stand in any Neo4j; STANDS says in SQL that it is not one.
NOTHING_STANDS: Final = {"place": "", "projected_at": None, "state": ProjectionState.RESTING}
STANDS: Final = "(place <> '' OR projected_at IS NOT NULL OR state <> 'resting')"
FORMER: Final = (
    "The graph of this owner was projected to another Neo4j or database than NEO4J_URI and NEO4J_DATABASE name now. "
    "If it is the same under another name, run `manage.py graph moved`. Otherwise set the former address again and run "
    "`manage.py graph forget --all`, or run `manage.py graph forget --all --lost` if that Neo4j is gone."
)
OTHER: Final = (
    "What NEO4J_URI and NEO4J_DATABASE name does not hold this owner's graph as it was projected last, so it is not "
    "the same Neo4j. Set the former address again and run `manage.py graph forget --all`, or run `manage.py graph "
    "forget --all --lost` if that Neo4j is gone."
)


def present_place() -> str:
    """Give the code of the place that is set up now, 32 characters; NEO4J_URI is set.

    Raises:
        KeysUnavailable: there is no signing key.
    """
    address = urlsplit(settings.NEO4J_URI)
    named = f"{address.hostname or ''}:{address.port or BOLT_PORT}/{settings.NEO4J_DATABASE}"
    return signer().mac(named.lower().encode(), purpose=PURPOSE)[:CODE_BYTES].hex()


def may_stand(projection: GraphProjection) -> bool:
    """Tell whether something of a projection may stand in some Neo4j.

    The place is noted before the first write. The release before has noted none.
    """
    return any(getattr(projection, name) != value for name, value in NOTHING_STANDS.items())


def is_elsewhere(projection: GraphProjection) -> bool:
    """Tell whether something may stand where the settings do not lead, or not any more.

    Of a projection that the release before has made no place is known; it is taken for the present one.
    """
    if not may_stand(projection):
        return False
    return not settings.NEO4J_URI or projection.place not in ("", present_place())


def refuse_elsewhere(projection: GraphProjection) -> None:
    """Raise ProjectionElsewhere where a projection stands in another Neo4j than the one that is set up now."""
    if settings.NEO4J_URI and is_elsewhere(projection):
        raise ProjectionElsewhere(FORMER)


def note_moved(*, owner_id: UUID) -> bool:
    """Note that a projection stands where the settings lead now, since that is the same Neo4j under another name.

    The mark there has to be the one that was put last, so that no other Neo4j is taken for it. A copy passes for it.

    Returns:
        Whether the place had been another one.

    Raises:
        ProjectionElsewhere: Neo4j does not hold this projection.
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    projection = GraphProjection.objects.filter(owner_id=owner_id).first()
    if projection is None or not is_elsewhere(projection):
        return False
    marks = neo4j_client().rows(cypher.MARKS, {"owners": [str(owner_id)]})
    if [mark["generation"] for mark in marks] != [str(projection.generation)]:
        raise ProjectionElsewhere(OTHER)
    same = GraphProjection.objects.filter(owner_id=owner_id, generation=projection.generation)
    return bool(same.update(place=present_place(), error_code="", failures=0, retry_at=None))
