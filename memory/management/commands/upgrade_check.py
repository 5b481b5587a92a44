"""`manage.py upgrade_check`: see that processes of the last release survive the migrations that came after it."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.management.upgrades.checking import UnknownLine, check_migrations
from memory.management.upgrades.line import RELEASED


class Command(BaseCommand):
    """Judge the migrations after the release line."""

    help = "Check that processes of the last release can go on while and after the newer migrations are applied."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the form of the answer."""
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check; needs no database. Exit code 1 when a migration would break what still runs."""
        try:
            verdicts = check_migrations(RELEASED)
        except UnknownLine as error:
            raise CommandError(f"The release line in memory/management/upgrades/line.py is wrong: {error}.") from error
        wrong = [line for one in verdicts for line in one.lines()]
        if options["json"]:
            checked = {one.migration: {"wrong": list(one.lines()), "declared": list(one.accepted)} for one in verdicts}
            self.stdout.write(json.dumps({"released": dict(RELEASED), "migrations": checked}))
        else:
            for line in wrong:
                self.stdout.write(line)
        if wrong:
            raise SystemExit(1)
        if not options["json"]:
            self.stdout.write(f"{len(verdicts)} migrations since the last release; processes of it survive them all.")
