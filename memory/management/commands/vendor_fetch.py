"""`vendor_fetch`: copy the files of a package of the lock anew, by `npm pack`."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.errors import LociError
from memory.management.commands.vendor_check import FOLDER
from memory.services.vendored_files import fetch


class Command(BaseCommand):
    """Fetch one package; needs npm, and writes nothing that the lock does not name."""

    help = "Copy the files of a package of the lock anew, by npm pack. Needs npm; nothing else of Loci does."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the name of the package."""
        parser.add_argument("name", help="of a package in the lock")

    def handle(self, *args: Any, **options: Any) -> None:
        """Fetch it and name the files."""
        try:
            written = fetch(Path(settings.BASE_DIR) / FOLDER, options["name"])
        except LociError as error:
            raise CommandError(error.message) from error
        for name in written:
            self.stdout.write(name)
