"""Which connection does what: migrations run as the owner of the tables, everything else as the application role."""

from __future__ import annotations

from typing import Any

from django.db import DEFAULT_DB_ALIAS
from django.db.models import Model

from memory.ports.reading import reading_place

SCHEMA = "schema"


class SchemaRouter:
    """Send every migration to the `schema` connection and nothing else there."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        """Allow migrations on the connection of the owning role only."""
        return db == SCHEMA

    def allow_relation(self, obj1: Any, obj2: Any, **hints: Any) -> bool:
        """Allow relations: both connections are the same database."""
        return True


class ReadingRouter:
    """Send what is read within `reading_from` to the place it names, and everything that is written to the database."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        """Give the place of the block; also for a row that came from another one."""
        return reading_place()

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        """Give the database itself, also for a row that a replica gave."""
        return DEFAULT_DB_ALIAS
