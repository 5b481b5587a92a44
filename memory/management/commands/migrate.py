"""`migrate`, on the connection of the role that owns the tables."""

from __future__ import annotations

from django.core.management.base import CommandParser
from django.core.management.commands import migrate

from config.routers import SCHEMA


class Command(migrate.Command):
    """Django's command with another default for `--database`."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Take Django's arguments and default to the schema connection."""
        super().add_arguments(parser)
        parser.set_defaults(database=SCHEMA)
