"""`migrate`, on the connection of the role that owns the tables, one process at a time."""

from __future__ import annotations

from typing import Any

import psycopg
from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate

from config.routers import SCHEMA
from memory.management.migrating import migration_lock
from memory.management.own_server import UnfitServer, refuse_unfit_server


class Command(migrate.Command):
    """Django's command with another default for `--database`, which looks at the server first, under a lock."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Take Django's arguments and default to the schema connection."""
        super().add_arguments(parser)
        parser.set_defaults(database=SCHEMA)

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate on a fit server when no other process does; what another one has applied is not applied again."""
        planning = options["plan"] or options["check_unapplied"]
        try:
            refuse_unfit_server(migrating=not planning)
        except UnfitServer as error:
            raise CommandError(error.message) from error
        if planning:
            super().handle(*args, **options)
            return
        try:
            with migration_lock(options["database"], self._say):
                super().handle(*args, **options)
        except psycopg.OperationalError as error:
            raise CommandError(
                f"The database cannot be reached, or was lost ({type(error).__name__}). Migrations that were complete "
                "stay; run the command again."
            ) from error

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
