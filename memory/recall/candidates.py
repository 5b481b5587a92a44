"""The rows behind candidates: the plain numbers that scoring needs, without opening any text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.models import Kind, Status
from memory.ports.reading import reading as connection
from memory.recall.id_arrays import id_array
from memory.recall.query import Query

SECONDS_A_DAY: Final = 86_400.0

# The uses are looked up for each candidate: joined to its few hundred, their whole table would be read, as it is small
# beside the others.
ROWS: Final = """
    SELECT m.id, m.tier, m.kind, m.importance, m.salience, EXTRACT(EPOCH FROM m.created_at)::float8,
           coalesce(a.access_count, 0), EXTRACT(EPOCH FROM a.last_accessed)::float8,
           m.session_id, m.position, m.token_count, m.is_question, m.has_time, m.has_number,
           m.speaker_hashes && %(names)s::bigint[], CASE WHEN m.visibility = 'agent' THEN m.agent_id END, m.community
    FROM memory_memory m
    LEFT JOIN LATERAL (
        SELECT u.access_count, u.last_accessed FROM memory_memoryaccess u
        WHERE u.owner_id = m.owner_id AND u.memory_id = m.id LIMIT 1
    ) a ON true
    WHERE m.owner_id = %(owner)s AND m.id = ANY(%(ids)s::uuid[]) AND m.status = %(live)s
      AND (m.expires_at IS NULL OR m.expires_at > %(now)s) {scope}
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row's numbers; moments are seconds since 1970, as making datetimes of hundreds costs a millisecond.

    `is_named` tells whether the query names who said it. `sealed_for` is the agent whose own key seals the row, where
    only that agent may read it. `community` is the number of the one that it belongs to.
    """

    memory_id: UUID
    tier: str
    kind: str
    importance: float
    salience: float
    created_at: float
    access_count: int
    last_accessed: float | None
    session_id: UUID | None = None
    position: int | None = None
    token_count: int = 0
    is_question: bool = False
    has_time: bool = False
    has_number: bool = False
    is_named: bool = False
    sealed_for: UUID | None = None
    community: int | None = None

    @property
    def is_turn(self) -> bool:
        """Tell whether the row is a turn of a conversation."""
        return self.kind == Kind.TURN

    def age_days(self, now: datetime, *, clock: str) -> float:
        """Give the days since the row was made, or since it was last recalled; never below zero."""
        start = self.created_at if clock == "created" else max(self.last_accessed or self.created_at, self.created_at)
        return max(0.0, (now.timestamp() - start) / SECONDS_A_DAY)


def load_candidates(query: Query, memory_ids: Iterable[UUID]) -> dict[UUID, Candidate]:
    """Load candidates that are live, unexpired and visible; the others are left out.

    Scope is checked again here although the arms filter by it, because their copies of it could be stale.
    """
    scope = "AND m.scope = ANY(%(scopes)s::uuid[])" if query.scopes is not None else ""
    with connection.cursor() as cursor:
        cursor.execute(
            ROWS.format(scope=scope),
            {
                "owner": query.owner_id,
                "ids": id_array(memory_ids),
                "live": Status.LIVE,
                "now": query.now,
                "names": list(query.names),
                "scopes": list(query.scopes or ()),
            },
        )
        return {row[0]: Candidate(*row) for row in cursor.fetchall()}
