"""`manage.py demo`: make an owner with half a year of conversations to look around with."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from memory.errors import Conflict
from memory.management.answers import answer, counted, errors_for_operators
from memory.services.demo.replay import Loaded, load_demo
from memory.services.logins import login_name

PASSWORD_BYTES: Final = 12
TENTHS: Final = 10


class Command(BaseCommand):
    """Load the demonstration."""

    help = "Make an owner with half a year of conversations, consolidated, so that every page has something to show."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--username", default="demo", help="of the login that is made; `demo` when left out")
        parser.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Replay the conversations and say how to log in."""
        password, name = secrets.token_urlsafe(PASSWORD_BYTES), login_name(options["username"])
        with errors_for_operators():
            made = self._load(name, password)
        lines = [
            f"{made.turns} turns and {counted(made.statements, 'statement')} were stored.",
            f"They were consolidated in {counted(made.runs, 'run')}, and {counted(made.questions, 'question')} asked.",
            f"The agents have {counted(made.files, 'file')}, with what they said before.",
            *made.parts,
            f"Log in as {name}. Password, shown once: {password}",
            f"To erase it again: `python3 manage.py purge run --owner {name}`.",
        ]
        value = {**asdict(made), "username": name, "password": password}
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)

    def _load(self, username: str, password: str) -> Loaded:
        try:
            return load_demo(username=username, password=password, progress=self._progress)
        except Conflict as error:
            if error.machine_code != "account.taken":
                raise
            raise CommandError(
                f"{error.message} Give another one with `--username`; or, if `{username}` is an earlier demonstration, "
                f"erase that first: `python3 manage.py purge run --owner {username}`. ({error.machine_code})"
            ) from error

    def _progress(self, done: int, of: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done} of {of} conversations", ending="\n" if done == of else "")
            self.stderr.flush()
        elif done * TENTHS // of > (done - 1) * TENTHS // of:
            # A file or a log keeps every line, so there are few.
            self.stderr.write(f"{done} of {of} conversations")
