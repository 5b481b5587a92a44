"""The turns directly before and after given turns: the implied `followed_by` edges of a conversation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from memory.models import Status
from memory.ports.reading import reading as connection
from memory.recall.id_arrays import id_array
from memory.recall.query import Query

# The nearest live turn counts, not the next position: positions may have gaps, and erased turns leave some. It is
# looked up before it is filtered, so that a filter never makes neighbours of turns that were not. Turns that the caller
# may not see do not count, so that nothing tells that one stands between.
NEAREST: Final = """
    SELECT turn.id, before.id, after.id
    FROM memory_memory turn
    LEFT JOIN LATERAL (
        SELECT m.id FROM (
            SELECT * FROM memory_memory b
            WHERE b.owner_id = turn.owner_id AND b.session_id = turn.session_id AND b.position < turn.position
              AND b.status = %(live)s {visible_before}
            ORDER BY b.position DESC LIMIT 1
        ) m WHERE true {where}
    ) before ON true
    LEFT JOIN LATERAL (
        SELECT m.id FROM (
            SELECT * FROM memory_memory a
            WHERE a.owner_id = turn.owner_id AND a.session_id = turn.session_id AND a.position > turn.position
              AND a.status = %(live)s {visible_after}
            ORDER BY a.position LIMIT 1
        ) m WHERE true {where}
    ) after ON true
    WHERE turn.owner_id = %(owner)s AND turn.id = ANY(%(ids)s::uuid[]) AND turn.session_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The turns next to one turn in its conversation; None where there is none that the query may find."""

    before: UUID | None
    after: UUID | None


def neighbours_of(query: Query, memory_ids: Collection[UUID]) -> dict[UUID, Neighbours]:
    """Find the direct neighbours of turns, among what the query's scopes and filters let it see.

    Memories without a conversation are left out of the answer. Two index look-ups for each turn.
    """
    if not memory_ids:
        return {}
    conditions, parameters = query.filters.conditions()
    visible = "" if query.scopes is None else "AND {}.scope = ANY(%(scopes)s::uuid[])"
    if query.scopes is not None:
        parameters["scopes"] = list(query.scopes)
    with connection.cursor() as cursor:
        cursor.execute(
            NEAREST.format(
                where="".join(f" AND {condition}" for condition in conditions),
                visible_before=visible.format("b"),
                visible_after=visible.format("a"),
            ),
            {**parameters, "owner": query.owner_id, "ids": id_array(memory_ids), "live": Status.LIVE},
        )
        return {turn: Neighbours(before, after) for turn, before, after in cursor.fetchall()}
