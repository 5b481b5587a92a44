"""The keyword fallback: a bounded substring scan over opened texts, newest first."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from memory.models import Memory, Status
from memory.ports.reading import reading as connection
from memory.recall.query import Query

SCANNED: Final = 2_000
LEAST_CHARACTERS: Final = 2

NEWEST: Final = """
    SELECT m.id FROM memory_memory m WHERE m.owner_id = %(owner)s AND m.status = %(live)s
      AND (m.expires_at IS NULL OR m.expires_at > %(now)s) {where}
    ORDER BY m.created_at DESC, m.id DESC LIMIT %(scanned)s
"""


def scan(query: Query, *, limit: int) -> list[UUID]:
    """Find memories that contain a word of the query as a substring, whatever the case.

    At most the 2,000 newest visible rows are opened (about 20 microseconds each). Rows with more of the words come
    first, newer ones before older.
    """
    needles = {word for word in query.text.casefold().split() if len(word) >= LEAST_CHARACTERS}
    if not needles:
        return []
    conditions, parameters = query.filters.conditions()
    if query.scopes is not None:
        conditions.append("m.scope = ANY(%(scopes)s::uuid[])")
        parameters["scopes"] = list(query.scopes)
    where = "".join(f" AND {condition}" for condition in conditions)
    with connection.cursor() as cursor:
        cursor.execute(
            NEWEST.format(where=where),
            {**parameters, "owner": query.owner_id, "live": Status.LIVE, "now": query.now, "scanned": SCANNED},
        )
        order = [row[0] for row in cursor.fetchall()]
    texts = {
        row.pk: row.text.casefold()
        for row in Memory.objects.filter(pk__in=order).only("id", "owner_id", "visibility", "agent_id", "text")
    }
    counts = {
        memory_id: sum(needle in texts[memory_id] for needle in needles) for memory_id in order if memory_id in texts
    }
    hits = [memory_id for memory_id, count in counts.items() if count]
    hits.sort(key=lambda memory_id: -counts[memory_id])
    return hits[:limit]
