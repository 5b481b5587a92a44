"""`manage.py owner`: list owners and their logins, create one, set a password."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand

from memory.errors import InvalidInput
from memory.management.answers import answer, errors_for_operators
from memory.management.stdin import line_of_stdin
from memory.services.accounts import create_owner
from memory.services.logins import StaffLevel, list_logins, login_name, set_password
from memory.services.reauthentication import LONGEST_PASSWORD

PASSWORD_BYTES: Final = 12


class Command(BaseCommand):
    """Look after owners and their logins."""

    help = "List owners, create one with a login, or set a login's password."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        listing = actions.add_parser("list", help="list all logins")
        creating = actions.add_parser("create", help="create an owner with a login")
        creating.add_argument("--staff", action="store_true", help="marks the login as staff")
        password = actions.add_parser("password", help="give a login another password, which ends its sessions")
        for action in (creating, password):
            action.add_argument("username")
            action.add_argument(
                "--stdin", action="store_true", help="read the password from standard input instead of making one"
            )
        for action in (listing, creating, password):
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions = {"list": self._list, "create": self._create, "password": self._password}
        with errors_for_operators():
            actions[options["action"]](options)

    def _list(self, options: dict[str, Any]) -> None:
        logins = list_logins()
        lines = [
            f"{login.username}  owner {login.owner_id or '-'}"
            f"{'  staff' if login.staff else ''}{'' if login.active else '  switched off'}"
            for login in logins
        ]
        value = {"logins": [asdict(login) for login in logins]}
        answer(self.stdout.write, value, as_json=options["json"], lines=lines or ["There are no logins."])

    def _create(self, options: dict[str, Any]) -> None:
        password, made = _password(from_stdin=options["stdin"])
        name, level = login_name(options["username"]), StaffLevel.ALL if options["staff"] else StaffLevel.NONE
        owner = create_owner(username=name, password=password, level=level)
        value = {"username": name, "owner_id": owner.pk}
        lines = [f"Owner {owner.pk} with login {name} was created."]
        self._answer_with_password(value, lines, password if made else None, options)

    def _password(self, options: dict[str, Any]) -> None:
        password, made = _password(from_stdin=options["stdin"])
        name = login_name(options["username"])
        set_password(username=name, password=password)
        lines = [f"{name} has another password; sessions of this login have ended."]
        self._answer_with_password({"username": name}, lines, password if made else None, options)

    def _answer_with_password(
        self, value: dict[str, Any], lines: list[str], made: str | None, options: dict[str, Any]
    ) -> None:
        if made is not None:
            value["password"] = made
            lines.append(f"Password, shown once: {made}")
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)


def _password(*, from_stdin: bool) -> tuple[str, bool]:
    if from_stdin:
        typed = line_of_stdin()
        if len(typed) > LONGEST_PASSWORD:
            raise InvalidInput(
                f"A password has at most {LONGEST_PASSWORD:,} characters. Nothing was changed.", code="account.invalid"
            )
        return typed, False
    return secrets.token_urlsafe(PASSWORD_BYTES), True
