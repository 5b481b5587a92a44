"""Who works for an owner: one run at a time, under a row with a heartbeat."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from memory.models import ConsolidationLease, ConsolidationRun, RunState, current_owner
from memory.services.consolidation.stages import RunStopped

SILENCE: Final = timedelta(minutes=2)
# A stage cannot tell that it lives while it waits for a model: one answer, one retry, and what lies between.
ANSWERS_WAITED_FOR: Final = 3

TAKE: Final = """
    INSERT INTO memory_consolidationlease (owner_id, run_id, heartbeat_at) VALUES (%(owner)s, %(run)s, %(now)s)
    ON CONFLICT (owner_id) DO UPDATE SET run_id = excluded.run_id, heartbeat_at = excluded.heartbeat_at
    WHERE memory_consolidationlease.heartbeat_at NOT BETWEEN %(heard_after)s AND %(heard_until)s
"""


def longest_silence() -> timedelta:
    """Give how long nothing may be heard of a run before another one takes over."""
    return max(SILENCE, timedelta(seconds=ANSWERS_WAITED_FOR * settings.LLM_TIMEOUT))


def take(run_id: UUID, *, moment: datetime) -> bool:
    """Take the current owner's lease for a run, also from one that is silent; tell whether it was taken.

    Runs of which the rows say that they work are interrupted ones then, since only the lease's holder does.
    """
    silence = longest_silence()
    with connection.cursor() as cursor:
        cursor.execute(
            TAKE,
            {
                "owner": current_owner(),
                "run": run_id,
                "now": moment,
                "heard_after": moment - silence,
                # A heartbeat far ahead comes from a clock that was wrong, and would hold the lease until then.
                "heard_until": moment + silence,
            },
        )
        if not cursor.rowcount:
            return False
    dead = ConsolidationRun.objects.filter(state=RunState.RUNNING).exclude(pk=run_id)
    dead.update(state=RunState.INTERRUPTED, finished_at=moment, error_code="lease.lost", stage="")
    return True


def renew(run_id: UUID, *, moment: datetime) -> None:
    """Say that a run of the current owner is alive; raises RunStopped when another one has taken over."""
    if not ConsolidationLease.objects.filter(run_id=run_id).update(heartbeat_at=moment):
        raise RunStopped("lease.lost")


def release(run_id: UUID) -> None:
    """Give the current owner's lease back, where the run still has it."""
    ConsolidationLease.objects.filter(run_id=run_id).delete()


def held(*, moment: datetime) -> bool:
    """Tell whether a run that is alive has the current owner's lease."""
    silence = longest_silence()
    beats = ConsolidationLease.objects.filter(heartbeat_at__gte=moment - silence, heartbeat_at__lte=moment + silence)
    return bool(beats.exists())
