"""Asking the replica whether it can be read from, for whoever looks after the installation."""

from __future__ import annotations

from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections

from memory.ports.reading import REPLICA
from memory.services.findings import Finding
from memory.services.replica import ANOTHER, POSITION_SQL, UNHELD, URL, configured
from memory.services.server_sql import IDENTITY, IS_HELD

NAME: Final = "replica"
REPLAY_SQL: Final = f"""
    SELECT pg_is_in_recovery(), pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()),
           extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), pg_is_wal_replay_paused(),
           {IS_HELD}
"""


def probed_replica() -> list[Finding]:
    """Ask the replica and the database, and compare; empty without a replica. A few statements on each.

    Raises:
        django.db.DatabaseError, django.db.InterfaceError: the database itself does not answer.
    """
    if not configured():
        return []
    here, database = _one(DEFAULT_DB_ALIAS, POSITION_SQL)
    try:
        if _one(REPLICA, f"SELECT {IDENTITY}")[0] != database:
            return [Finding(NAME, "failing", ANOTHER, URL)]
        return [_judged(*_one_unless_primary(here))]
    except (DatabaseError, InterfaceError) as error:
        cause = type(error.__cause__ or error).__name__
        detail = f"The replica does not answer ({cause}): recall searches in the database itself."
        return [Finding(NAME, "degraded", detail, "Check the server of DATABASE_REPLICA_URL.")]


def _judged(recovering: bool, behind: Any, seconds: Any, paused: bool, held: bool) -> Finding:
    if not recovering:
        return Finding(NAME, "failing", "The server of DATABASE_REPLICA_URL is no replica.", URL)
    if not held:
        return Finding(NAME, "failing", UNHELD, URL)
    if paused:
        return Finding(NAME, "degraded", "The replica's replay is paused.", "SELECT pg_wal_replay_resume()")
    lag = max(0, int(behind or 0))
    if lag:
        since = f", its last transaction {float(seconds):.0f} s old" if seconds is not None else ""
        return Finding(NAME, "ok", f"The replica answers and is {lag} bytes of the log behind{since}.")
    return Finding(NAME, "ok", "The replica answers and has replayed all of the log.")


def _one_unless_primary(here: str) -> Any:
    if not _one(REPLICA, "SELECT pg_is_in_recovery()")[0]:
        return False, 0, 0, False, True
    return _one(REPLICA, REPLAY_SQL, [here])


def _one(alias: str, statement: str, values: list[Any] | None = None) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()
