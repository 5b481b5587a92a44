"""Whether the database answers, is the right one, is walled between owners, and has all migrations."""

from __future__ import annotations

from typing import Final

from django.db import connection

from memory.services.findings import Finding
from memory.services.schema import schema_state

OLDEST_SERVER: Final = 150000
OLDEST_VECTOR: Final = (0, 8)
PLAN_CACHE_MODE: Final = "force_custom_plan"

ROLE_SQL: Final = """
    SELECT current_setting('server_version_num')::int,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
           r.rolsuper, r.rolbypassrls, current_setting('plan_cache_mode'),
           EXISTS (SELECT FROM pg_class c WHERE c.oid = to_regclass('memory_memory') AND c.relowner = r.oid)
    FROM pg_roles r WHERE r.rolname = current_user
"""


def server_and_role() -> list[Finding]:
    """Look at the server, the application's role and how it plans, with one query.

    Raises:
        django.db.DatabaseError, django.db.InterfaceError: the database does not answer.
    """
    with connection.cursor() as cursor:
        cursor.execute(ROLE_SQL)
        version, vector, superuser, bypasses, plan_cache_mode, owns = cursor.fetchone()
    return [_server(version, vector), _role(superuser or bypasses, owns), _planner(plan_cache_mode)]


def _server(version: int, vector: str | None) -> Finding:
    if version < OLDEST_SERVER:
        return Finding(
            "database", "failing", f"PostgreSQL {version // 10_000} is too old.", "Use PostgreSQL 15 or newer."
        )
    if vector is None or tuple(int(part) for part in vector.split(".")[:2]) < OLDEST_VECTOR:
        found = f"pgvector {vector} is too old" if vector else "The extension vector is missing"
        return Finding(
            "database", "failing", f"{found}; 0.8 or newer is needed.", "python3 manage.py db provision --url …"
        )
    detail = f"PostgreSQL {version // 10_000}.{version % 10_000} with pgvector {vector} answers."
    return Finding("database", "ok", detail)


def _role(above_the_wall: bool, owns: bool) -> Finding:
    if above_the_wall or owns:
        which = "ignores row-level security" if above_the_wall else "owns the tables"
        return Finding(
            "role",
            "failing",
            f"The application's database role {which}, so the wall between owners is not there.",
            "Use the role loci_app in DATABASE_URL; `python3 manage.py db provision --url …` makes it.",
        )
    return Finding("role", "ok", "The application's database role is held by row-level security.")


def _planner(mode: str) -> Finding:
    if mode != PLAN_CACHE_MODE:
        return Finding(
            "planner",
            "degraded",
            f"plan_cache_mode is {mode}: searches can take thirty times as long.",
            "python3 manage.py db provision --url …",
        )
    return Finding("planner", "ok", f"plan_cache_mode is {mode}.")


def schema_finding() -> Finding:
    """Compare the migrations with those that this version comes with."""
    state = schema_state()
    if state.unknown:
        # Not failing: while an upgrade is under way, what still runs must get its requests.
        return Finding(
            "schema",
            "degraded",
            f"The database was changed by a newer version of Loci ({state.unknown[-1]}).",
            "Restart with that version; processes of the release before it may run until then.",
        )
    if state.pending:
        count = len(state.pending)
        return Finding("schema", "failing", f"{count} migrations are not applied.", "python3 manage.py migrate")
    return Finding("schema", "ok", "All migrations are applied.")
