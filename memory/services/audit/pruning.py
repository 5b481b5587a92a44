"""Pruning: old reads go, seal by seal; acts stay for ever."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import connection

from memory.models import AuditEvent, current_owner
from memory.services.audit.verification import READS_KEPT

# What one run takes from one owner; a seal has at most 10,000 reads.
MOST_SEALS: Final = 20
# A seal's reads go together, since the rest could not be verified. A clock of ours that runs ahead is of no use: the
# database's own decides as well, and its trigger refuses the whole statement for one read that is younger.
PRUNE: Final = """
    WITH bound AS (SELECT least(%(at)s, now()) - make_interval(days => %(kept)s) AS moment),
    old AS (
        SELECT DISTINCT e.sealed_in AS number FROM memory_auditevent e, bound
        WHERE e.owner_id = %(owner)s AND e.created_at < bound.moment AND e.verb = %(read)s AND e.sealed_in IS NOT NULL
    ),
    closed AS (
        SELECT s.number FROM memory_auditseal s JOIN old ON old.number = s.number, bound
        WHERE s.owner_id = %(owner)s AND s.sealed_at < bound.moment
          AND NOT EXISTS (
            SELECT FROM memory_auditevent y WHERE y.owner_id = %(owner)s AND y.created_at >= bound.moment
              AND y.verb = %(read)s AND y.sealed_in = s.number)
        ORDER BY s.number LIMIT %(most)s
    )
    DELETE FROM memory_auditevent e USING closed, bound
    WHERE e.owner_id = %(owner)s AND e.created_at < bound.moment AND e.verb = %(read)s AND e.sealed_in = closed.number
"""


def prune_reads(*, at: datetime) -> int:
    """Delete reads of the current owner that are sealed and older than 90 days; gives how many.

    The chain still verifies, since their seal keeps their digest. Of one owner the reads of at most 20 seals go in one
    run.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            PRUNE,
            {"owner": current_owner(), "at": at, "kept": READS_KEPT.days, "read": AuditEvent.READ, "most": MOST_SEALS},
        )
        return int(cursor.rowcount)
