"""Letting newer statements take the place of older ones, which stay in the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.models import EdgeKind, Memory, MemoryEdge, MemoryVersion, Status
from memory.services.actors import Actor
from memory.services.retirement import CONTRADICTED
from memory.services.writing import remove_from_indexes


@dataclass(frozen=True, slots=True)
class Successor:
    """What takes the place of a statement: the newer memory, and since when."""

    memory_id: UUID
    since: datetime


def supersede_contradicted(
    *, actor: Actor, rows: Sequence[Memory], successors: Mapping[UUID, Successor], moment: datetime
) -> dict[UUID, UUID]:
    """Take statements out of use: no recall finds them, looking back still shows them and what took their place.

    Call it within the owner's scope, with the rows locked and live.

    Args:
        actor: who decided, for the history.
        rows: the older statements.
        successors: by the id of the older statement.
        moment: the moment that counts as now.

    Returns:
        The links that were made, by the older statement; one that was there already is left out.
    """
    MemoryVersion.objects.bulk_create(
        [
            MemoryVersion(
                memory_id=row.pk,
                number=row.version,
                text=row.text,
                changes={"valid_until": row.valid_until.isoformat() if row.valid_until else None},
                actor=actor.label,
                sealed_for=row.sealing_agent_id,
                scope=row.scope,
                reason=CONTRADICTED,
                created_at=moment,
            )
            for row in rows
        ]
    )
    remove_from_indexes([row.pk for row in rows])
    for row in rows:
        since = successors[row.pk].since
        row.valid_until = since if row.valid_until is None else min(row.valid_until, since)
        row.status, row.archive_reason, row.archived_at = Status.SUPERSEDED, CONTRADICTED, moment
        row.retracted_at, row.updated_at = moment, moment
        row.version += 1
        row.save(
            update_fields=[
                "valid_until", "status", "archive_reason", "archived_at", "retracted_at", "updated_at", "version",
            ]
        )  # fmt: skip
    return _link(rows, successors, moment)


def _link(rows: Sequence[Memory], successors: Mapping[UUID, Successor], moment: datetime) -> dict[UUID, UUID]:
    edges = [
        MemoryEdge(
            source_id=successors[row.pk].memory_id,
            target_id=row.pk,
            kind=EdgeKind.CONTRADICTS,
            weight=1.0,
            relationship_hash=keyring().of(row.owner_id).name("relationship\0"),
            scope=row.scope,
            sealed_for=row.sealing_agent_id,
            created_at=moment,
        )
        for row in sorted(rows, key=lambda row: (successors[row.pk].memory_id, row.pk))
    ]
    MemoryEdge.objects.bulk_create(edges, ignore_conflicts=True)
    made = set(MemoryEdge.objects.filter(pk__in=[edge.pk for edge in edges]).values_list("pk", flat=True))
    return {edge.target_id: edge.pk for edge in edges if edge.pk in made}
