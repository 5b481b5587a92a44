"""The lock under which migrations run, so that of several starts at once one migrates and the others wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from django.db import connections

from memory.services.direct_connections import driver_parameters

# Any number of our own, other than that of setting a server up.
MIGRATION_LOCK: Final = 0x6C6F6D69
WAITING: Final = "Another process is changing the database; waiting until it is done."
CONNECT_SECONDS: Final = 10


@contextmanager
def migration_lock(using: str, say: Callable[[str], Any]) -> Iterator[None]:
    """Hold the lock of one database while the block runs; whoever comes second says so and waits as long as it takes.

    The lock belongs to a transaction on a connection of its own, so a pooler between cannot hand it to somebody else,
    the server frees it when this process dies, and building an index concurrently does not wait for it.

    Args:
        using: alias of the connection that migrates.
        say: told that another process holds the lock.

    Raises:
        psycopg.Error: the database cannot be reached, or the connection was lost.
    """
    parameters = {**driver_parameters(connections[using].settings_dict), "connect_timeout": CONNECT_SECONDS}
    with psycopg.connect(**parameters, application_name="loci migrations") as connection:
        # However long the others take, and however long the migrations.
        for setting in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(f"SET LOCAL {setting} = 0".encode())
        if not _taken(connection):
            say(WAITING)
            connection.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})".encode())
        yield


def _taken(connection: psycopg.Connection[Any]) -> bool:
    # Without parameters: with some the server keeps the statement's snapshot until the transaction ends, and whoever
    # builds an index concurrently would wait for that.
    row = connection.execute(f"SELECT pg_try_advisory_xact_lock({MIGRATION_LOCK})".encode()).fetchone()
    return bool(row and row[0])
