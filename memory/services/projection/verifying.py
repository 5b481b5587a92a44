"""Verifying an owner's projection: what a comparison finds is noted as changed, so that the projector puts it right."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import connection

from memory.errors import ProjectionUnavailable
from memory.models import GraphProjection, ProjectionState, current_owner, owner_scope
from memory.services.projection.comparing import SAMPLE, Comparison, compare
from memory.services.projection.place import refuse_elsewhere
from memory.services.projection.projecting import project
from memory.services.projection.schema import Schema, count_repeated
from memory.services.projection.turn import Turn

MOST_ROUNDS: Final = 3
NOTE: Final = """
    INSERT INTO memory_graphchange (owner_id, part, row_id)
    SELECT %(owner)s, %(part)s, id FROM unnest(%(ids)s::uuid[]) AS d (id)
"""


@dataclass(slots=True)
class Verified:
    """A verification: what was found at first, and what was left after the repair."""

    found: Comparison
    left: Comparison
    repaired: bool = False


def verify(
    *,
    owner_id: UUID,
    repair: bool = True,
    sample: int = SAMPLE,
    turn: Turn | None = None,
    schema: Schema | None = None,
) -> Verified:
    """Compare an owner's projection with the rows, after what waits was projected, and put right what differs.

    Constraints and indexes that Neo4j lacks are made again, too. Where it refuses one, what this owner has twice counts
    as foreign, and the projection is built anew.

    Args:
        owner_id: whose.
        repair: whether to put right what differs.
        sample: rows of each part that are compared whole; what hangs on rows is compared by counts beside.
        turn: counts what is written, and tells of progress.
        schema: makes the constraints and indexes, once for all owners that are given it.

    Raises:
        ProjectionOff: NEO4J_URI is not set, or names another Neo4j than the one in which the projection stands.
        ProjectionBusy: a worker is at it.
        ProjectionUnavailable: Neo4j did not answer usably, or there is no projection that could be compared.
        KeysUnavailable: the owner's keys cannot be used.
    """
    work = turn or Turn()
    repeated: dict[str, int] = {}
    if repair:
        for made in GraphProjection.objects.filter(owner_id=owner_id):
            refuse_elsewhere(made)
        if not (schema or Schema()).made():
            repeated = count_repeated(owner_id)
        project(owner_id=owner_id, turn=work)
    else:
        _refuse_unmade(owner_id)
    found = compare(owner_id=owner_id, sample=sample)
    found.foreign = dict(Counter(found.foreign) + Counter(repeated))
    left, repaired = found, False
    for attempt in range(MOST_ROUNDS):
        if not repair or not left.mismatches:
            break
        # What hangs on rows cannot be told by its count alone, and what writing does not mend has to go first.
        if left.hanging or left.foreign or attempt:
            project(owner_id=owner_id, turn=work, anew=True)
        else:
            _note(owner_id, left)
            project(owner_id=owner_id, turn=work)
        repaired = True
        left = compare(owner_id=owner_id, sample=sample)
    return Verified(found, left, repaired)


def _refuse_unmade(owner_id: UUID) -> None:
    made = GraphProjection.objects.filter(owner_id=owner_id, state=ProjectionState.FOLLOWING).first()
    if made is None:
        raise ProjectionUnavailable(
            "There is no projection of this owner that could be compared. Make it: `manage.py graph project`.",
            code="projection.unmade",
        )
    refuse_elsewhere(made)


def _note(owner_id: UUID, compared: Comparison) -> None:
    """Note as changed what differs."""
    with owner_scope(owner_id), connection.cursor() as cursor:
        for found in (compared.missing, compared.extra, compared.different):
            for part, ids in found.items():
                cursor.execute(NOTE, {"owner": current_owner(), "part": int(part), "ids": ids})
