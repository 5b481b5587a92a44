"""Telling whether whoever began before a moment has ended: what such a transaction still writes is not to be seen."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from django.db import connection

ENDED: Final = """
    SELECT clock_timestamp() >= %(moment)s AND NOT EXISTS (
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < %(moment)s
          AND backend_type = 'client backend'
    )
"""


def database_clock() -> datetime:
    """Give the database's own time, with which the beginnings of its transactions are compared."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
        return moment


def have_ended(*, before: datetime) -> bool:
    """Tell whether a moment of the database's clock has come, and all others that began before it have ended."""
    with connection.cursor() as cursor:
        cursor.execute(ENDED, {"moment": before})
        return bool(cursor.fetchone()[0])
