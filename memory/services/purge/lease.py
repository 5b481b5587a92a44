"""Who works on a purge: one worker at a time, under the purge's own row with a heartbeat.

The number of attempts tells workers apart: whoever takes a purge up raises it, and a worker whose number is no longer
the row's has lost the purge and may write nothing more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.models import Q, QuerySet

from memory.errors import Conflict
from memory.models import Purge, PurgeState
from memory.services.clock import now

# Longer than the longest step.
SILENCE: Final = timedelta(minutes=2)
BEAT_SECONDS: Final = 20.0
FIRST_PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(hours=1)
OPEN: Final = (PurgeState.WAITING, PurgeState.RUNNING)
SUPERSEDED: Final = "purge.superseded"
"""The code of a purge whose owner is purged as a whole."""

TAKE: Final = """
    UPDATE memory_purge SET state = 'running', attempts = attempts + 1, heartbeat_at = %(now)s, not_before = NULL,
        began_at = coalesce(began_at, %(now)s)
    WHERE id = %(purge)s
      AND (state = 'waiting'
           OR state = 'running' AND (heartbeat_at BETWEEN %(heard_after)s AND %(heard_until)s) IS NOT TRUE)
    RETURNING attempts
"""


class LeaseLost(Conflict):
    """Another worker has taken this purge over, which goes on there."""

    code = "purge.taken_over"


@dataclass(slots=True)
class Lease:
    """A purge that this worker has taken up."""

    purge_id: UUID
    attempt: int

    def save(self, **changes: Any) -> None:
        """Change the purge's row and say that its worker lives, in the caller's transaction.

        Raises:
            LeaseLost: another worker has taken it over; the transaction has to be rolled back.
        """
        mine = Purge.objects.filter(pk=self.purge_id, attempts=self.attempt, state=PurgeState.RUNNING)
        if not mine.update(heartbeat_at=now(), **changes):
            raise LeaseLost

    def beat(self) -> None:
        """Say that the worker lives; raises LeaseLost when another one has taken over."""
        self.save()

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Say again and again that the worker lives, while the block does one thing that takes long."""
        ended = threading.Event()

        def beat() -> None:
            try:
                while not ended.wait(BEAT_SECONDS):
                    self.beat()
            except (LeaseLost, DatabaseError):
                # The worker's own next step finds the same and says it.
                return
            finally:
                connection.close()

        beater = threading.Thread(target=beat, name="purge lease", daemon=True)
        beater.start()
        try:
            yield
        finally:
            ended.set()
            beater.join()

    def put_back(
        self,
        *,
        moment: datetime,
        position: Mapping[str, Any],
        error_code: str = "",
        longest_pause: timedelta = LONGEST_PAUSE,
    ) -> None:
        """Leave the purge to whoever comes next, unless another worker has it already.

        Args:
            moment: when.
            position: where to go on.
            error_code: of what has failed; empty when only the time is up.
            longest_pause: at most so long after it has failed.
        """
        mine = Purge.objects.filter(pk=self.purge_id, attempts=self.attempt, state=PurgeState.RUNNING)
        place = dict(position)
        if error_code:
            place["failures"] = int(place.get("failures", 0)) + 1
            until = moment + min(longest_pause, pause_after(place["failures"]))
        else:
            place.pop("failures", None)
            until = None
        mine.update(
            state=PurgeState.WAITING, heartbeat_at=moment, error_code=error_code, position=place, not_before=until
        )


def take(purge_id: UUID, *, moment: datetime) -> Lease | None:
    """Take a purge up that waits, or whose worker is silent; None where that cannot be done."""
    values: dict[str, Any] = {
        "purge": purge_id,
        "now": moment,
        "heard_after": moment - SILENCE,
        # A heartbeat far ahead comes from a clock that was wrong, and would hold the lease until then.
        "heard_until": moment + SILENCE,
    }
    with connection.cursor() as cursor:
        cursor.execute(TAKE, values)
        row = cursor.fetchone()
    return Lease(purge_id, row[0]) if row else None


def due(*, moment: datetime) -> QuerySet[Purge]:
    """Give the purges to be taken up: those that wait and that no pause holds, and those whose worker is silent."""
    waiting = Q(state=PurgeState.WAITING) & (Q(not_before=None) | Q(not_before__lte=moment))
    heard = Q(heartbeat_at__isnull=False, heartbeat_at__range=(moment - SILENCE, moment + SILENCE))
    return Purge.objects.filter(waiting | Q(state=PurgeState.RUNNING) & ~heard)


def pause_after(failures: int) -> timedelta:
    """Give the pause after so many failures in a row: 5 seconds, twice as long each time, an hour at most."""
    doubled: int = 2 ** min(failures - 1, 16)
    return min(LONGEST_PAUSE, FIRST_PAUSE * doubled)
