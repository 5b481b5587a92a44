"""Set up roles, database and extension, on the embedded server or on an operator's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from runtime.errors import ProvisionFault
from runtime.postgres.roles import (
    ROLES,
    SUPERUSER,
    checked_name,
    create_database_statement,
    database_statements,
    role_statements,
)

CONNECT_TIMEOUT = 10
OLDEST_VECTOR = (0, 8)
OLDEST_SERVER = 150000
# Any number of our own: two set-ups of one server at once would trip over each other's CREATE ROLE.
PROVISION_LOCK = 0x6C6F6369
MAINTENANCE_DATABASE = "postgres"


def superuser_conninfo(socket_directory: Path, database: str = MAINTENANCE_DATABASE) -> str:
    """Give the connection string of the embedded server's superuser."""
    return make_conninfo(host=str(socket_directory), port="5432", user=SUPERUSER, dbname=database)


def provision(socket_directory: Path, database: str) -> None:
    """Set up a database of the embedded server: roles, extension, privileges. Can be repeated.

    Args:
        socket_directory: the running server's, as `Cluster.socket_directory` gives it.
        database: its name, made when it does not exist.

    Raises:
        ProvisionFault: the server cannot be reached, lacks pgvector 0.8, or the name cannot be used.
    """
    provision_server(superuser_conninfo(socket_directory), database)


def provision_server(superuser: str, database: str, *, passwords: Mapping[str, str] | None = None) -> None:
    """Set up a database on any server; without effect where all of it is in place.

    Args:
        superuser: URL or connection string of a role that may create roles, databases and the extension.
        database: the name of the database to set up, whatever the connection string names.
        passwords: new passwords by role name; sent hashed, so that no log of the server can hold them.

    Raises:
        ProvisionFault: the server cannot be reached, refuses, is too old, or lacks pgvector 0.8.
    """
    checked_name(database)
    try:
        maintenance = _with_database(superuser, None)
        with _connected(maintenance) as connection:
            # Held until this connection closes, that is, over the second one too.
            connection.execute("SELECT pg_advisory_lock(%s)", [PROVISION_LOCK])
            _check_server(connection)
            for statement in role_statements():
                connection.execute(statement)
            _set_passwords(connection, passwords or {})
            _ensure_database(connection, database)
            with _connected(_with_database(superuser, database)) as inside:
                for statement in database_statements(database):
                    inside.execute(statement)
    except psycopg.Error as error:
        raise ProvisionFault(f"The database cannot be set up: {_reason(error)}") from error


def _with_database(conninfo: str, database: str | None) -> str:
    parts = conninfo_to_dict(conninfo)
    return make_conninfo(
        conninfo,
        dbname=database or parts.get("dbname") or MAINTENANCE_DATABASE,
        connect_timeout=parts.get("connect_timeout") or CONNECT_TIMEOUT,
        application_name="loci provision",
    )


@contextmanager
def _connected(conninfo: str) -> Iterator[psycopg.Connection]:
    connection = psycopg.connect(conninfo, autocommit=True)
    try:
        yield connection
    finally:
        connection.close()


def _check_server(connection: psycopg.Connection) -> None:
    if connection.info.server_version < OLDEST_SERVER:
        raise ProvisionFault("The server is older than PostgreSQL 15. Nothing was changed.")
    row = connection.execute("SELECT default_version FROM pg_available_extensions WHERE name = 'vector'").fetchone()
    if row is None:
        raise ProvisionFault("The server has no pgvector. Install pgvector 0.8 or newer on it. Nothing was changed.")
    if _numbers(row[0]) < OLDEST_VECTOR:
        raise ProvisionFault(
            f"The server has pgvector {row[0]}; 0.8 or newer is needed for filtered searches. Nothing was changed."
        )


def _ensure_database(connection: psycopg.Connection, database: str) -> None:
    exists = connection.execute("SELECT FROM pg_database WHERE datname = %s", [database]).fetchone()
    if exists is None:
        # To name another role as owner one must be able to become it; superusers can, hosted administrators may.
        connection.execute(create_database_statement(database))


def _set_passwords(connection: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    known = {role.name for role in ROLES}
    for role, password in passwords.items():
        if role not in known:
            raise ProvisionFault(f"There is no role {role!r} to give a password to.")
        hashed = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(hashed)))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _reason(error: psycopg.Error) -> str:
    # The server's first line says what is wrong; further ones can repeat the statement.
    primary = error.diag.message_primary or str(error).strip().splitlines()[0]
    return primary.rstrip(".") + "."
