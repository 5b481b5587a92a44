"""What the health of the installation says of the projection to Neo4j."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from memory.errors import LociError
from memory.models import GraphProjection, ProjectionState
from memory.providers.composition import neo4j_client
from memory.services.amounts import owners
from memory.services.findings import Finding
from memory.services.projection.schema import lacking
from memory.services.projection.standing import Standing, standing

NAME: Final = "neo4j"
LATE_SECONDS: Final = 300.0
SCHEMA_REMEDY: Final = "python3 manage.py graph verify"
PROJECT_REMEDY: Final = "python3 manage.py graph project"
REMEDY: Final = "python3 manage.py graph status"


def remedy_of(code: str) -> str:
    """Say what to do about an error of the projection."""
    match code:
        case "projection.unavailable":
            return "See whether Neo4j runs, and whether NEO4J_URI and NEO4J_DATABASE name it."
        case "projection.slow":
            return (
                "Look at the load of the Neo4j server, or raise NEO4J_READ_TIMEOUT for what is read and NEO4J_TIMEOUT "
                "for what is written."
            )
        case "projection.refused":
            return "Check NEO4J_USER and NEO4J_PASSWORD."
        case "projection.failed":
            return "See Neo4j's own log; NEO4J_USER has to be allowed to read, to write and to make indexes."
    return REMEDY


def projection_finding() -> Finding:
    """Tell whether projections follow and reads are answered, with one statement; Neo4j itself is not asked."""
    return _finding(standing())


def _finding(told: Standing) -> Finding:
    if told.elsewhere:
        return _elsewhere(told)
    if not settings.NEO4J_URI:
        return Finding(NAME, "ok", "The graph is not projected to Neo4j.", there=False)
    found = _troubled(told) or _well(told)
    if not told.former:
        return found
    detail, remedy = f"{found.detail} {_former(told)}", found.remedy or PROJECT_REMEDY
    return Finding(NAME, "degraded", detail, remedy)


def _elsewhere(told: Standing) -> Finding:
    detail = (
        f"Graphs of {owners(told.elsewhere)} stand in a Neo4j that the settings do not name any more. They are not "
        "projected, and purges of them are not done."
    )
    return Finding(NAME, "degraded", detail, REMEDY, there=bool(settings.NEO4J_URI))


def _troubled(told: Standing) -> Finding | None:
    """Tell what keeps projections from following, or Neo4j from answering."""
    unanswered = neo4j_client().failure() if settings.GRAPH_READS == "neo4j" else None
    if told.failing:
        detail = f"Projections of {owners(told.failing)} wait for Neo4j ({told.error_code}); {_waiting(told)}."
        remedy = remedy_of(told.error_code or "")
        return Finding(NAME, "degraded", f"{detail} Recall and the graph go on from PostgreSQL.", remedy)
    if unanswered is not None:
        code = unanswered.machine_code
        detail = f"Neo4j did not answer when it was asked last ({code}). The graph is read from PostgreSQL."
        return Finding(NAME, "degraded", detail, remedy_of(code))
    if told.lag_seconds > LATE_SECONDS:
        detail = f"Neo4j is {told.lag_seconds / 60:.0f} minutes behind; {_waiting(told)}."
        return Finding(NAME, "degraded", detail, REMEDY)
    return None


def _well(told: Standing) -> Finding:
    made = f"Graphs of {told.following} of {owners(told.owners)} stand in Neo4j"
    return Finding(NAME, "ok", f"{made}; {_waiting(told)}.")


def _former(told: Standing) -> str:
    return f"NEO4J_TEXT was changed; what it let out before still stands in Neo4j, of {owners(told.former)}."


def probed_finding() -> Finding:
    """Tell the same after asking Neo4j for its constraints and indexes, within the seconds of a read.

    Another Neo4j than the one in which graphs stand is not asked: what it lacks is of no interest.
    """
    told = standing()
    found = _finding(told)
    if told.elsewhere or not settings.NEO4J_URI:
        return found
    probed = _probed()
    if probed is None:
        return found
    detail = probed.detail if found.status == "ok" else f"{probed.detail} {found.detail}"
    return Finding(NAME, "degraded", detail, probed.remedy)


def _probed() -> Finding | None:
    """Tell what is wrong with Neo4j itself."""
    try:
        lacks = ", ".join(lacking(neo4j_client().read))
    except LociError as error:
        return Finding(NAME, "degraded", error.message, remedy_of(error.machine_code))
    # They are made with the first projection.
    if not lacks or not GraphProjection.objects.filter(state=ProjectionState.FOLLOWING).exists():
        return None
    return Finding(NAME, "degraded", f"Neo4j lacks constraints or indexes of the projection: {lacks}.", SCHEMA_REMEDY)


def _waiting(told: Standing) -> str:
    waiting = "1 change waits" if told.waiting == 1 else f"{told.waiting} changes wait"
    return f"at least {waiting}" if told.behind_since else waiting
