"""Asking the replica whether it can be read from, for whoever looks after the installation."""

from __future__ import annotations

from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections

from memory.ports.reading import REPLICA
from memory.services.findings import Finding
from memory.services.replica import POSITION_SQL, configured

NAME: Final = "replica"
SERVER_SQL: Final = "SELECT (SELECT system_identifier FROM pg_control_system()), current_database()"
REPLAY_SQL: Final = """
    SELECT pg_is_in_recovery(), pg_wal_lsn_diff(%s::pg_lsn, pg_last_wal_replay_lsn()),
           extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), pg_is_wal_replay_paused(),
           rolsuper OR rolbypassrls
    FROM pg_roles WHERE rolname = current_user
"""
URL: Final = "Name a streaming replica of the server of DATABASE_URL in DATABASE_REPLICA_URL, as loci_app."


def probed_replica() -> list[Finding]:
    """Ask the replica and the database, and compare; empty without a replica. A few statements on each.

    Raises:
        django.db.DatabaseError, django.db.InterfaceError: the database itself does not answer.
    """
    if not configured():
        return []
    server = _one(DEFAULT_DB_ALIAS, SERVER_SQL)
    here = _one(DEFAULT_DB_ALIAS, POSITION_SQL)[0]
    try:
        there = _one(REPLICA, SERVER_SQL)
        if there != server:
            return [Finding(NAME, "failing", "DATABASE_REPLICA_URL leads to another server or database.", URL)]
        return [_judged(*_one_unless_primary(here))]
    except (DatabaseError, InterfaceError) as error:
        cause = type(error.__cause__ or error).__name__
        detail = f"The replica does not answer ({cause}): recall searches in the database itself."
        return [Finding(NAME, "degraded", detail, "Check the server of DATABASE_REPLICA_URL.")]


def _judged(recovering: bool, behind: Any, seconds: Any, paused: bool, above_the_wall: bool) -> Finding:
    if not recovering:
        return Finding(NAME, "failing", "The server of DATABASE_REPLICA_URL is no replica.", URL)
    if above_the_wall:
        return Finding(NAME, "failing", "The role of DATABASE_REPLICA_URL ignores row-level security.", URL)
    if paused:
        return Finding(NAME, "degraded", "The replica's replay is paused.", "SELECT pg_wal_replay_resume()")
    lag = max(0, int(behind or 0))
    if lag:
        since = f", its last transaction {float(seconds):.0f} s old" if seconds is not None else ""
        return Finding(NAME, "ok", f"The replica answers and is {lag} bytes of the log behind{since}.")
    return Finding(NAME, "ok", "The replica answers and has replayed all of the log.")


def _one_unless_primary(here: str) -> Any:
    if not _one(REPLICA, "SELECT pg_is_in_recovery()")[0]:
        return False, 0, 0, False, False
    return _one(REPLICA, REPLAY_SQL, [here])


def _one(alias: str, statement: str, values: list[Any] | None = None) -> Any:
    with connections[alias].cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()
