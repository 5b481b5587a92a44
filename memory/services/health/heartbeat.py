"""Whether a worker shows that it lives, asked so cheaply that every page may know."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import connection

from memory.services.clock import now
from memory.services.health.work import SILENCE
from memory.services.jobs import SIGNS_OF_LIFE

WORKERS: Final = "workers"
"""The sort of what is told when the last worker falls silent or one is back."""

# A new installation's worker has the same time to report as one that has reported before.
HEARTBEAT_SQL: Final = """
    SELECT greatest((SELECT max(stopped) FROM django_q_task WHERE success AND func = ANY(%s)),
                    (SELECT min(created_at) FROM memory_owner))
"""


LAST_SIGN_SQL: Final = "SELECT max(stopped) FROM django_q_task WHERE success AND func = ANY(%s)"


def worker_reported_lately() -> bool:
    """Tell whether a worker has reported within the last three minutes; one statement."""
    with connection.cursor() as cursor:
        cursor.execute(LAST_SIGN_SQL, [list(SIGNS_OF_LIFE)])
        last: datetime | None = cursor.fetchone()[0]
    return last is not None and now() - last <= SILENCE


def worker_is_silent() -> bool:
    """Tell whether no worker has reported for three minutes; one statement.

    Without any owner there is nothing to do, and nobody to tell.
    """
    with connection.cursor() as cursor:
        cursor.execute(HEARTBEAT_SQL, [list(SIGNS_OF_LIFE)])
        last: datetime | None = cursor.fetchone()[0]
    return last is not None and now() - last > SILENCE
