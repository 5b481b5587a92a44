"""`manage.py consolidation`: tell how an owner's consolidation stands, run it, switch it on and off."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError

from memory.management.answers import answer, errors_for_operators, written
from memory.management.database import borrowed_database
from memory.management.owners import acting_for
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runs import ask_for_run, consolidation_status, described, group_settings
from memory.services.settings import change_settings
from memory.services.settings_table import OWNER_SETTINGS
from runtime.errors import RuntimeFault
from runtime.paths import data_directory
from runtime.postgres.cluster import Cluster

# Somebody waits at the terminal and can end it; batches bound a run before this does.
LONGEST_SECONDS: Final = 3_600.0
UNREACHABLE: Final = "The database does not answer. Start it: `python3 manage.py db start`, or `up`."


class Command(BaseCommand):
    """Look after an owner's consolidation."""

    help = "Tell how consolidation stands, run it, switch it on or off."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        status = actions.add_parser("status", help="print settings, backlog, next and last run as JSON")
        running = actions.add_parser("run", help="ask for a run; a worker does it")
        running.add_argument("--wait", action="store_true", help="run here and now, without a worker")
        running.add_argument(
            "--groups", metavar="NAMES", help=f"some of the groups, separated by commas: {', '.join(Group)}"
        )
        enabling = actions.add_parser("enable", help="switch it on")
        disabling = actions.add_parser("disable", help="switch it off")
        for action in (status, running, enabling, disabling):
            action.add_argument("--owner", metavar="LOGIN", help="the owner's login, where there are several owners")
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions = {"status": self._status, "run": self._run, "enable": self._switch, "disable": self._switch}
        with errors_for_operators():
            actions[options["action"]](options)

    def _status(self, options: dict[str, Any]) -> None:
        try:
            found = consolidation_status(actor=acting_for(options["owner"]))
        except (OperationalError, InterfaceError) as error:
            # What the owner has chosen stands in the database; these are the values without a choice.
            defaults = group_settings({name: setting.default for name, setting in OWNER_SETTINGS.items()})
            self.stdout.write(json.dumps({"config": defaults, "defaults": True, "reachable": False}, indent=2))
            raise CommandError(UNREACHABLE) from error
        last = found["last_run"]
        value = {
            "config": found["settings"],
            "enabled": found["enabled"],
            "groups": found["groups"],
            "pending": found["pending_rows"],
            "pending_bytes": found["pending_bytes"],
            "next_run_ts": _seconds(found["next_run_at"]),
            "last_run_ts": _seconds(last["started_at"]) if last else None,
            "last_report": last,
            "running": found["running"],
            "asked": found["asked"],
            "errors": found["errors"],
        }
        self.stdout.write(written(value, indent=None if options["json"] else 2))

    def _run(self, options: dict[str, Any]) -> None:
        actor = acting_for(options["owner"])
        groups = None if options["groups"] is None else options["groups"].replace(",", " ").split()
        began = time.monotonic()
        run = ask_for_run(actor=actor, groups=groups, wait=options["wait"], seconds=LONGEST_SECONDS)
        value = described(run, full=True)
        if run.finished_at is None:
            lines = [f"Run {run.pk} is asked for; a worker does it."]
        else:
            code = f" ({run.error_code})" if run.error_code else ""
            lines = [f"Run {run.pk}: {run.state}{code} after {time.monotonic() - began:.1f} s."]
            lines += [_line(report) for report in run.stages]
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)
        if run.state == "failed":
            raise CommandError(f"The run has failed ({run.error_code}). What was done before stays done.")

    def _switch(self, options: dict[str, Any]) -> None:
        on = options["action"] == "enable"
        with _database():
            changed = change_settings(actor=acting_for(options["owner"]), changes={"consolidation": on})
        value = {"enabled": changed["values"]["consolidation"]}
        lines = ["Consolidation is enabled." if on else "Consolidation is disabled; none of its stages runs."]
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)


@contextmanager
def _database() -> Iterator[None]:
    """Have the embedded database running for a choice, and stop it again where nobody else has started it."""
    if not settings.EMBEDDED_DATABASE:
        yield
        return
    try:
        with borrowed_database(Cluster(data_directory())):
            yield
    except RuntimeFault as error:
        raise CommandError(str(error)) from error


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment is not None else None


def _line(report: dict[str, Any]) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in report["counts"].items())
    rest = "; ".join(part for part in (counts, report["skipped_reason"], " ".join(report["notes"])) if part)
    return f"  {report['name']}: {report['state']}{f'  {rest}' if rest else ''}"
