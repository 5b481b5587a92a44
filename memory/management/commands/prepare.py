"""`manage.py prepare`: what `up` does before it serves, alone, for those who start the processes themselves."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from memory.errors import LociError
from memory.management import preparation
from memory.management.first_steps import make_ready, secrets_of
from memory.models import Owner
from memory.services.accounts import create_first_owner
from memory.services.jobs import ensure_schedules
from runtime.errors import RuntimeFault


class Command(BaseCommand):
    """Make a database and a vault ready for `start web` and `start worker`, then end."""

    help = "Do what `up` does before it serves, then end: keys, migrations, erasing again after a restore, the model."
    # Checks may ask the database, whose tables may not be there yet.
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare who is made."""
        parser.add_argument(
            "--first-owner", action="store_true", help="make the first owner and show login, password and key, once"
        )
        parser.add_argument("--json", action="store_true", help="as one JSON object, without the lines on the way")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare; exit code 0 when processes may be started, 1 when they may not."""
        if settings.EMBEDDED_DATABASE:
            raise CommandError(
                "DATABASE_URL is not set, and with the embedded database `python3 manage.py up` prepares by itself."
            )
        try:
            self._prepare(options)
        except (RuntimeFault, LociError) as error:
            raise CommandError(error.message) from error
        except DatabaseError as error:
            raise CommandError(preparation.database_message(error)) from error

    def _prepare(self, options: dict[str, Any]) -> None:
        # Before the database, since a wrong key needs no database to be noticed.
        preparation.check_known_vault()
        make_ready((lambda line: None) if options["json"] else self._say)
        ensure_schedules()
        first = create_first_owner() if options["first_owner"] else None
        if options["json"]:
            made = first and {"login": first.username, "password": first.password, "agent_key": first.key.secret}
            self._say(json.dumps({"ready": True, "owners": Owner.objects.count(), "first_owner": made}))
        elif first is not None:
            self._say("\n".join(["This is shown once:", "", *secrets_of(first), ""]))
        elif options["first_owner"]:
            self._say("There is an owner already. Another one: `python3 manage.py owner create LOGIN`.")
        elif not Owner.objects.exists():
            self._say("All is ready. There is no owner yet: `python3 manage.py prepare --first-owner` makes one.")
        else:
            self._say("All is ready.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
