"""Which connection does what: migrations run as the owner of the tables, everything else as the application role."""

from __future__ import annotations

from typing import Any

SCHEMA = "schema"


class SchemaRouter:
    """Send every migration to the `schema` connection and nothing else there."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        """Allow migrations on the connection of the owning role only."""
        return db == SCHEMA

    def allow_relation(self, obj1: Any, obj2: Any, **hints: Any) -> bool:
        """Allow relations: both connections are the same database."""
        return True
