"""A key vault in a PostgreSQL database of its own, for installations of several machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from memory.errors import KeysUnavailable
from memory.providers.vault import WrappedVault

CONNECT_SECONDS = 5
# The nil UUID is nobody's id; its entry is the check value.
CHECK_ID = UUID(int=0)
# A number of this program's own, for the advisory lock of the vault.
LOCK = 4_207_101_846
TABLE = "CREATE TABLE IF NOT EXISTS loci_keys (owner_id uuid PRIMARY KEY, entry jsonb NOT NULL)"


class DatabaseVault(WrappedVault):
    """A key vault in the database that `KEYS_DATABASE_URL` names; never the one that holds the memories.

    A connection is made for each use: processes keep opened keys for a minute, so uses are rare.
    """

    def __init__(self, url: str, master_key: bytes | bytearray) -> None:
        """Prepare a vault without connecting.

        Args:
            url: address of the database, `postgresql://user:password@host/name`.
            master_key: 32 bytes.
        """
        super().__init__(master_key)
        self._url = url

    def owners(self) -> set[UUID]:
        """List the owners who have keys."""
        with self._connection() as connection:
            found = connection.execute("SELECT owner_id FROM loci_keys WHERE owner_id <> %s", [CHECK_ID])
            return {row[0] for row in found}

    def destroy(self, owner_id: UUID) -> None:
        """Destroy an owner's keys: overwrite the entry, remove it, and have the dead rows swept."""
        with self._connection() as connection:
            connection.execute("UPDATE loci_keys SET entry = '{}' WHERE owner_id = %s", [owner_id])
            connection.execute("DELETE FROM loci_keys WHERE owner_id = %s", [owner_id])
            connection.execute("VACUUM loci_keys")

    def used_before(self) -> bool:
        """Tell whether the vault has a check value."""
        return self.find_check() is not None

    def mark(self, owner_id: UUID) -> object:
        """Give always the same: looking costs a connection, so other processes' changes are seen after a minute."""
        return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold an advisory lock of the vault's database, of a transaction, since a pooler loses one of a session."""
        with self._connection() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            yield

    def find_check(self) -> dict[str, Any] | None:
        """Give the check entry."""
        return self.find(CHECK_ID)

    def replace_check(self, entry: Mapping[str, Any]) -> None:
        """Put another check entry in place."""
        self.replace(CHECK_ID, entry)

    def find(self, owner_id: UUID) -> dict[str, Any] | None:
        """Give an owner's entry."""
        with self._connection() as connection:
            row = connection.execute("SELECT entry FROM loci_keys WHERE owner_id = %s", [owner_id]).fetchone()
            return None if row is None else dict(row[0])

    def replace(self, owner_id: UUID, entry: Mapping[str, Any]) -> None:
        """Put another entry in place of an owner's, and have the dead row swept."""
        with self._connection() as connection:
            connection.execute("UPDATE loci_keys SET entry = %s WHERE owner_id = %s", [Jsonb(dict(entry)), owner_id])
            connection.execute("VACUUM loci_keys")

    def _add_check(self, entry: Mapping[str, Any]) -> None:
        self._add(CHECK_ID, entry)

    def _add(self, owner_id: UUID, entry: Mapping[str, Any]) -> bool:
        with self._connection() as connection:
            added = connection.execute(
                "INSERT INTO loci_keys (owner_id, entry) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                [owner_id, Jsonb(dict(entry))],
            )
            return added.rowcount == 1

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        try:
            with psycopg.connect(
                self._url, autocommit=True, connect_timeout=CONNECT_SECONDS, prepare_threshold=None
            ) as connection:
                connection.execute(TABLE)
                yield connection
        except psycopg.Error as error:
            raise KeysUnavailable(
                f"The key vault's database does not answer usably ({type(error).__name__}). Check KEYS_DATABASE_URL."
            ) from error
