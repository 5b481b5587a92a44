"""The roles of a database, and the SQL that makes them and what they may do.

| role        | may                                                                  | used by                      |
|-------------|----------------------------------------------------------------------|------------------------------|
| loci_owner  | owns the database, the schema and the tables                         | migrations                   |
| loci_app    | read and write rows, under row-level security                        | web, workers, commands       |
| loci_backup | read every row of every owner, write nothing                         | backups                      |

A superuser makes them, since `vector` is not a trusted extension and BYPASSRLS is not for an owner to give.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from runtime.errors import ProvisionFault

OWNER = "loci_owner"
APP = "loci_app"
BACKUP = "loci_backup"
SUPERUSER = "postgres"
# Together with the longest suffix that a restore adds, a name has at most 63 bytes.
DATABASE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,47}")

# A restore works in a database of the name with this suffix, which the limit of a name makes room for.
RESTORING = "_restoring"
BEFORE_RESTORE = "_before_restore"

Statement = sql.Composed | sql.SQL


@dataclass(frozen=True, slots=True)
class Role:
    """A login role; everything that is not granted here is refused."""

    name: str
    reads_all: bool = False

    @property
    def attributes(self) -> str:
        """Give the role's attributes as CREATE ROLE takes them."""
        return f"LOGIN NOCREATEDB NOCREATEROLE {'BYPASSRLS' if self.reads_all else 'NOBYPASSRLS'}"


ROLES: Sequence[Role] = (Role(OWNER), Role(APP), Role(BACKUP, reads_all=True))


def checked_name(database: str) -> str:
    """Give a database name back.

    Raises:
        ProvisionFault: not 1 to 48 letters, digits, `_` and `-`, beginning with a letter or `_`.
    """
    if not DATABASE_NAME.fullmatch(database.removesuffix(RESTORING)):
        raise ProvisionFault(
            "A database name has 1 to 48 letters, digits, underscores and hyphens and begins with a letter. "
            "Nothing was changed."
        )
    return database


def role_statements() -> list[Statement]:
    """Give the statements that make the roles or put their attributes right; they can be repeated.

    Attributes are changed only where they differ, because a hosted server's administrator may not even repeat them.
    """
    statements: list[Statement] = [_ensure(role) for role in ROLES]
    # Generic plans were measured at thirty times the time of custom ones on the lexical statement.
    for name in (OWNER, APP):
        for setting, value in (("plan_cache_mode", "force_custom_plan"), ("jit", "off"), ("timezone", "UTC")):
            statements.append(
                sql.SQL("ALTER ROLE {} SET {} = {}").format(
                    sql.Identifier(name), sql.Identifier(setting), sql.Literal(value)
                )
            )
    statements.append(sql.SQL("GRANT pg_read_all_data TO {}").format(sql.Identifier(BACKUP)))
    return statements


def create_database_statement(database: str) -> sql.Composed:
    """Give the statement that makes the database; it fails where there is one."""
    return sql.SQL("CREATE DATABASE {} OWNER {} ENCODING 'UTF8' TEMPLATE template0").format(
        sql.Identifier(checked_name(database)), sql.Identifier(OWNER)
    )


def database_statements(database: str) -> list[Statement]:
    """Give the statements to run inside the database as superuser; they can be repeated."""
    name, owner, app = sql.Identifier(checked_name(database)), sql.Identifier(OWNER), sql.Identifier(APP)
    everyone_of_ours = sql.SQL(", ").join(sql.Identifier(role.name) for role in ROLES)
    defaults = sql.SQL("ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA public ").format(owner)
    return [
        sql.SQL("ALTER DATABASE {} OWNER TO {}").format(name, owner),
        sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name),
        sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(name, everyone_of_ours),
        sql.SQL("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public"),
        # A database of an older server's time keeps the older extension until it is told to update.
        sql.SQL("ALTER EXTENSION vector UPDATE"),
        sql.SQL("ALTER SCHEMA public OWNER TO {}").format(owner),
        sql.SQL("REVOKE ALL ON SCHEMA public FROM PUBLIC"),
        sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(everyone_of_ours),
        defaults + sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {}").format(app),
        defaults + sql.SQL("GRANT USAGE, SELECT ON SEQUENCES TO {}").format(app),
    ]


def script(database: str) -> str:
    """Give all of it as a script for psql, for an operator who wants to read it and run it by hand."""
    checked_name(database)
    lines = ["-- Run with psql as a superuser. It can be repeated.", "\\set ON_ERROR_STOP on"]
    lines += [f"{statement.as_string()};" for statement in role_statements()]
    create = sql.SQL("SELECT {} WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = {})").format(
        sql.Literal(create_database_statement(database).as_string()), sql.Literal(database)
    )
    lines += [f"{create.as_string()} \\gexec", f'\\connect "{database}"']
    lines += [f"{statement.as_string()};" for statement in database_statements(database)]
    lines.append("-- Then give each role a password:")
    lines += [f"\\password {role.name}" for role in ROLES]
    return "\n".join(lines) + "\n"


def _ensure(role: Role) -> sql.Composed:
    # A DO block takes no parameters, so the names stand in it as literals and are quoted again by format's %I.
    body = sql.SQL(
        "BEGIN"
        " IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {name}) THEN"
        " EXECUTE format('CREATE ROLE %I {attributes}', {name});"
        " END IF;"
        " IF EXISTS (SELECT FROM pg_roles WHERE rolname = {name} AND (NOT rolcanlogin OR rolcreatedb OR rolcreaterole"
        " OR rolbypassrls IS DISTINCT FROM {reads_all})) THEN"
        " EXECUTE format('ALTER ROLE %I {attributes}', {name});"
        " END IF;"
        " IF EXISTS (SELECT FROM pg_roles WHERE rolname = {name} AND rolsuper) THEN"
        " EXECUTE format('ALTER ROLE %I NOSUPERUSER', {name});"
        " END IF;"
        " END"
    ).format(
        name=sql.Literal(role.name),
        attributes=sql.SQL(role.attributes),
        reads_all=sql.Literal(role.reads_all),
    )
    return sql.SQL("DO {}").format(sql.Literal(body.as_string()))
