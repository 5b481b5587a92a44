"""Connections outside the pool, for what must not stand in its line or needs the server itself; and poolers between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections

OWNING: Final = "schema"
"""Alias of the connection of the role that owns the tables."""
# Options of Django's connections that the driver itself does not know.
_DJANGO_ONLY: Final = frozenset({"pool", "isolation_level", "server_side_binding", "assume_role"})


def is_pooled(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Tell whether a pooler stands between this process and the server; it names another process than the one at work.

    What is set for a session behind one stays with the server's connection, which others use next.
    """
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return bool(cursor.fetchone()[0] != connection.connection.info.backend_pid)


def driver_parameters(database: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Give what the driver needs for a connection of its own; without an option that says so it prepares no statement.

    Args:
        database: one as in Django's `DATABASES`; the application's own when left out.
    """
    found = database or connections[DEFAULT_DB_ALIAS].settings_dict
    options = {name: value for name, value in found.get("OPTIONS", {}).items() if name not in _DJANGO_ONLY}
    named = {
        "dbname": found["NAME"],
        "user": found["USER"],
        "password": found["PASSWORD"],
        "host": found["HOST"],
        "port": found["PORT"],
    }
    # Poolers between refuse prepared statements.
    return {"prepare_threshold": None, **options, **{name: value for name, value in named.items() if value}}


@contextmanager
def owning_cursor(*, statement_timeout: str) -> Iterator[Any]:
    """Give a cursor of the role that owns the tables, for statements that allow no transaction; it is closed after it.

    Args:
        statement_timeout: the longest that one may take, as PostgreSQL writes it. Behind a pooler the role's own holds,
            since what is set for a session would be somebody else's next.
    """
    chosen = connections[OWNING]
    try:
        with chosen.cursor() as cursor:
            if not is_pooled(OWNING):
                cursor.execute("SELECT set_config('statement_timeout', %s, false)", [statement_timeout])
            yield cursor
    finally:
        chosen.close()
