"""Whether a PostgreSQL server, its database and its two roles are fit for Loci; what health asks at each look is less.

Some of it would end in an error at the first migration or in the middle of a request, some of it never be noticed: a
database in another encoding, or a wall between owners that does not stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections

from memory.models.tenancy import OwnedRow
from memory.services.direct_connections import is_pooled
from memory.services.findings import Finding
from memory.services.health.database import OLDEST_SERVER, server_and_role
from memory.services.server_sql import IDENTITY

SCHEMA: Final = "schema"
PROVISION: Final = "python3 manage.py db provision --url …"
# Of each worker, of what leads and guards them, of migrations, and of an operator's command.
BESIDE_POOL: Final = 5
MOST_NAMED: Final = 5

SERVER_SQL: Final = f"""
    SELECT current_setting('server_version_num')::int,
           pg_encoding_to_char(d.encoding),
           (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone'),
           current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
               - coalesce(current_setting('reserved_connections', true)::int, 0),
           least(nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1)),
           pg_is_in_recovery(),
           has_schema_privilege('public', 'USAGE'), has_schema_privilege('public', 'CREATE'),
           (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('memory_owner')),
           {IDENTITY}
    FROM pg_database d, pg_roles r WHERE d.datname = current_database() AND r.rolname = current_user
"""
OPEN_SQL: Final = """
    SELECT c.relname FROM unnest(%s::text[]) AS owned (name) JOIN pg_class c ON c.oid = to_regclass(owned.name)
    WHERE NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1
"""
CLOSED_SQL: Final = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND NOT has_table_privilege(oid, 'SELECT') ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class Server:
    """What a connection's server says of itself and of what the connection's role may do there.

    `most` is how many connections there may be, `limit` how many of this role or database, None for any number.
    `may_change` is None where there are no tables yet. `identity` is the same for two ways to one database only.
    """

    version: int
    encoding: str
    time_zone: str
    most: int
    limit: int | None
    replica: bool
    may_use: bool
    may_create: bool
    may_change: bool | None
    identity: str


def server_of(alias: str) -> Server:
    """Ask the server of a connection, with one statement; raises DatabaseError where it does not answer."""
    with connections[alias].cursor() as cursor:
        cursor.execute(SERVER_SQL)
        return Server(*cursor.fetchone())


def server_findings() -> list[Finding]:
    """Look at the application's server beyond what health looks at; some ten statements.

    Raises:
        django.db.DatabaseError, django.db.InterfaceError: the server does not answer.
    """
    server = server_of(DEFAULT_DB_ALIAS)
    pooled = is_pooled()
    return [_database(server), _connections(server, pooled=pooled), _walls(), _pooler(pooled)]


def unfit(*, migrating: bool) -> Iterator[Finding]:
    """Give what must not be so before anything is changed, each with what to do.

    Args:
        migrating: whether migrations are to be applied, which needs the role of DATABASE_SCHEMA_URL.

    Raises:
        django.db.DatabaseError, django.db.InterfaceError: a server does not answer.
    """
    yield from (found for found in server_and_role() if found.status == "failing")
    server = server_of(DEFAULT_DB_ALIAS)
    if (found := _database(server)).status == "failing":
        yield found
    if migrating:
        yield from _schema_role(server, server_of(SCHEMA))


def _database(server: Server) -> Finding:
    name = "database settings"
    if server.version < OLDEST_SERVER:
        return Finding(name, "failing", f"PostgreSQL {server.version // 10_000} is too old.", "Use 15 or newer.")
    if server.replica:
        detail = "The server of DATABASE_URL is a replica, which takes no writes."
        return Finding(name, "failing", detail, "Name the primary server there, and this one in DATABASE_REPLICA_URL.")
    if server.encoding != "UTF8":
        detail = f"The database is in {server.encoding}, which cannot hold every text."
        return Finding(name, "failing", detail, "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0")
    if not server.may_use:
        return Finding(name, "failing", "The application's role may not use the schema public.", PROVISION)
    if server.time_zone != "UTC":
        detail = f"Sessions begin in the time zone {server.time_zone}, so that days of reports can be cut elsewhere."
        return Finding(name, "degraded", detail, PROVISION)
    return Finding(name, "ok", "The database is in UTF8 and in UTC.")


def _connections(server: Server, *, pooled: bool) -> Finding:
    name = "connections"
    pool = settings.LOCI_DB_POOL_MAX
    needed = pool + settings.LOCI_WORKERS + BESIDE_POOL
    there = server.most if server.limit is None else min(server.most, server.limit)
    if pooled:
        return Finding(name, "ok", f"Up to {pool} for each web process, through a pooler; the server has {there}.")
    if there < needed:
        detail = f"The server gives {there} connections; a web process and its worker can need {needed}."
        return Finding(name, "degraded", detail, "Raise max_connections, lower LOCI_DB_POOL_MAX, or use a pooler.")
    return Finding(name, "ok", f"The server gives {there} connections; {needed} can be needed here.")


def _walls() -> Finding:
    """Look whether row-level security is forced on every owner's table, and whether all tables can be read."""
    name = "walls"
    owned = [model._meta.db_table for model in apps.get_models() if issubclass(model, OwnedRow)]
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(OPEN_SQL, [owned])
        without = [row[0] for row in cursor.fetchall()]
        cursor.execute(CLOSED_SQL)
        closed = [row[0] for row in cursor.fetchall()]
    if without:
        detail = f"Row-level security is not forced on {_named(without)}."
        return Finding(name, "failing", detail, "ALTER TABLE … ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
    if closed:
        detail = f"The application's role may not read {_named(closed)}."
        return Finding(name, "failing", detail, "Restore with the rights (pg_restore without --no-privileges).")
    return Finding(name, "ok", f"Row-level security is forced on {len(owned)} tables.")


def _pooler(pooled: bool) -> Finding:
    name = "pooler"
    if not pooled:
        return Finding(name, "ok", "There is no pooler before the database.", there=False)
    if settings.LIVE_DATABASE is None:
        detail = "DATABASE_URL leads to a pooler: pages hear of changes only if it passes LISTEN on."
        return Finding(name, "degraded", detail, "Set LIVE_DATABASE_URL to the server itself.")
    return Finding(name, "ok", "DATABASE_URL leads to a pooler, LIVE_DATABASE_URL past it.")


def _schema_role(server: Server, own: Server) -> Iterator[Finding]:
    name = "schema role"
    if own.identity != server.identity:
        yield Finding(
            name,
            "failing",
            "DATABASE_URL and DATABASE_SCHEMA_URL lead to different databases.",
            "Name one database in both, as loci_app and as loci_owner.",
        )
    elif own.may_change is False:
        yield Finding(
            name,
            "failing",
            "The role of DATABASE_SCHEMA_URL does not own the tables, so it cannot change them.",
            "Name loci_owner in DATABASE_SCHEMA_URL.",
        )
    elif not own.may_create:
        yield Finding(
            name,
            "failing",
            "The role of DATABASE_SCHEMA_URL may not create tables.",
            f"Name loci_owner in DATABASE_SCHEMA_URL; `{PROVISION}` makes it.",
        )


def _named(tables: list[str]) -> str:
    more = f" and {len(tables) - MOST_NAMED} more" if len(tables) > MOST_NAMED else ""
    return ", ".join(tables[:MOST_NAMED]) + more
