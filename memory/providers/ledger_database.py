"""The ledger of purges as a table of the key vault's database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from memory.errors import KeysUnavailable
from memory.ports.ledger import PurgeEntry
from memory.providers.ledger_entries import read, written

CONNECT_SECONDS: Final = 5
PAGE: Final = 500
TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS loci_purges "
    "(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, entry jsonb NOT NULL)"
)


class DatabaseLedger:
    """A ledger in the database that `KEYS_DATABASE_URL` names; a connection is made for each use."""

    def __init__(self, url: str) -> None:
        """Prepare a ledger without connecting; `url` is `postgresql://user:password@host/name`."""
        self._url = url

    def append(self, entry: PurgeEntry) -> None:
        """Add a row, waiting until it is on the disk."""
        with self._connection() as connection, connection.transaction():
            connection.execute("SET LOCAL synchronous_commit TO on")
            connection.execute("INSERT INTO loci_purges (entry) VALUES (%s)", [Jsonb(written(entry))])

    def entries(self) -> Iterator[PurgeEntry]:
        """Give the entries in the order of their numbers, reading some hundred at a time."""
        last = 0
        with self._connection() as connection:
            while True:
                page = connection.execute(
                    "SELECT number, entry FROM loci_purges WHERE number > %s ORDER BY number LIMIT %s", [last, PAGE]
                ).fetchall()
                for last, value in page:
                    yield read(value if isinstance(value, dict) else {}, place=f"Row {last} (loci_purges)")
                if len(page) < PAGE:
                    return

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        try:
            with psycopg.connect(
                self._url, autocommit=True, connect_timeout=CONNECT_SECONDS, prepare_threshold=None
            ) as connection:
                # A statement that makes what is there already waits for nobody, yet two first ones may meet. The lock
                # is the transaction's: a pooler would release one of the session on another connection.
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(hashtext('loci_purges'))")
                    connection.execute(TABLE)
                yield connection
        except psycopg.Error as error:
            raise KeysUnavailable(
                f"The purge ledger's database does not answer usably ({type(error).__name__}). Check KEYS_DATABASE_URL."
            ) from error
