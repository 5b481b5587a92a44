"""Whether the database has the migrations that this version of the program comes with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from django.apps import apps
from django.db import connection

APPS: Final = frozenset({"memory", "telemetry"})


@dataclass(frozen=True, slots=True)
class SchemaState:
    """Migrations that are still to be applied, and applied ones of ours that this program does not know."""

    pending: tuple[str, ...]
    unknown: tuple[str, ...]


def schema_state() -> SchemaState:
    """Compare the migrations on disk with those that the database says were applied.

    Only file names are read, since importing every migration takes longer than all other steps of a warm start. Takes
    one query, two on a database without any tables.

    Raises:
        django.db.DatabaseError: the database cannot be asked.
    """
    known = _migrations_on_disk()
    applied = _applied()
    return SchemaState(
        pending=tuple(sorted(f"{app}.{name}" for app, name in known - applied)),
        unknown=tuple(sorted(f"{app}.{name}" for app, name in applied - known if app in APPS)),
    )


@cache
def _migrations_on_disk() -> frozenset[tuple[str, str]]:
    found = set()
    for app in apps.get_app_configs():
        for path in (Path(app.path) / "migrations").glob("[!_~]*.py"):
            found.add((app.label, path.stem))
    return frozenset(found)


def _applied() -> set[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('django_migrations') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return set()
        cursor.execute("SELECT app, name FROM django_migrations")
        return set(cursor.fetchall())
