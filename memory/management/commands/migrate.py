"""`migrate`, on the connection of the role that owns the tables."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate

from config.routers import SCHEMA
from memory.management.own_server import UnfitServer, refuse_unfit_server


class Command(migrate.Command):
    """Django's command with another default for `--database`, which looks at the server first."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Take Django's arguments and default to the schema connection."""
        super().add_arguments(parser)
        parser.set_defaults(database=SCHEMA)

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse a server that is not fit, then apply migrations."""
        try:
            refuse_unfit_server(migrating=not options["plan"] and not options["check_unapplied"])
        except UnfitServer as error:
            raise CommandError(error.message) from error
        super().handle(*args, **options)
