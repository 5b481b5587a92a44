"""How far the vectors of a space are: counted for an owner, and summed over all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.models import DueWork, EmbeddingSpace, Memory, MemoryVector, SpaceFill, owner_scope
from memory.services.clock import now

COUNT: Final = f"""
    SELECT count(*), count(v.memory_id) FROM {Memory._meta.db_table} m
    LEFT JOIN {MemoryVector._meta.db_table} v
      ON v.owner_id = m.owner_id AND v.memory_id = m.id AND v.space_id = %(space)s
    WHERE m.owner_id = %(owner)s AND m.status = 'live'
"""
# A turn that was overtaken by another one must not say more than is so, hence the numbers are those of one count.
NOTE: Final = f"""
    INSERT INTO {SpaceFill._meta.db_table} (owner_id, space_id, done, total, closed, whole_at, updated_at)
    SELECT %(owner)s, s.id, %(done)s, %(total)s, %(closed)s, CASE WHEN %(whole)s THEN %(now)s::timestamptz END, %(now)s
    FROM memory_embeddingspace s WHERE s.id = %(space)s AND s.state IN ('filling', 'standby')
    ON CONFLICT (owner_id, space_id) DO UPDATE
    SET done = excluded.done, total = excluded.total, closed = excluded.closed, updated_at = excluded.updated_at,
        whole_at = CASE WHEN %(whole)s THEN coalesce({SpaceFill._meta.db_table}.whole_at, excluded.whole_at) END
"""
TOTAL: Final = f"""
    SELECT coalesce(sum(f.done), 0), coalesce(sum(f.total), 0), coalesce(sum(f.closed), 0), count(*),
           count(f.whole_at), (SELECT count(*) FROM {DueWork._meta.db_table} WHERE job = %(job)s)
    FROM {SpaceFill._meta.db_table} f WHERE f.space_id = %(space)s
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a space is over all owners, by what their last turns have counted.

    Attributes:
        done: memories with a vector in it.
        total: live memories.
        closed: memories whose text does not open, or is refused by the embedder, which get none.
        owners: owners who were counted.
        owners_whole: of these, those who lack nothing.
        owners_waiting: owners whose turn is still to come.
    """

    done: int
    total: int
    closed: int
    owners: int
    owners_whole: int
    owners_waiting: int

    @property
    def percent(self) -> int | None:
        """Give the whole percents done; 100 only where nothing is missing, None before anything was counted."""
        if self.owners_waiting and not self.owners:
            return None
        return percent(self.done + self.closed, self.total)

    def described(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {**asdict(self), "percent": self.percent}


def percent(done: int, total: int) -> int:
    """Give the whole percents of a number of memories; 100 only where nothing is missing."""
    return 100 if done >= total else 100 * done // total


def progress_of(space: EmbeddingSpace) -> Progress:
    """Sum up how far a space is, in one statement."""
    with connection.cursor() as cursor:
        cursor.execute(TOTAL, {"space": space.pk, "job": DueWork.SPACES})
        return Progress(*(int(value) for value in cursor.fetchone()))


def own_progress(owner_id: UUID) -> tuple[int, int] | None:
    """Tell how many of an owner's memories have a vector in the space that is being filled, and of how many.

    None where none is being filled, or the owner's turn is still to come. One statement.
    """
    filling = SpaceFill.objects.filter(owner_id=owner_id, space__state="filling")
    return filling.values_list("done", "total").first()


def counted(owner_id: UUID, space_id: int) -> tuple[int, int]:
    """Count the current owner's live memories with a vector in a space, and all of them."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"owner": owner_id, "space": space_id})
        total, done = cursor.fetchone()
    return int(done), int(total)


def note_progress(owner_id: UUID, space_id: int, *, closed: int, whole: bool) -> int:
    """Count how far an owner is in the space beside the one in use, and keep that; gives how many are missing.

    Args:
        owner_id: whose.
        space_id: the space; nothing is kept of one that is not beside the one in use any more.
        closed: how many texts do not open or are refused by the embedder.
        whole: whether everything was looked at.
    """
    with owner_scope(owner_id):
        done, total = counted(owner_id, space_id)
        missing = max(0, total - done - closed)
        with connection.cursor() as cursor:
            cursor.execute(
                NOTE,
                {
                    "owner": owner_id,
                    "space": space_id,
                    "done": done,
                    "total": total,
                    "closed": closed,
                    "whole": whole and not missing,
                    "now": now(),
                },
            )
    return missing
