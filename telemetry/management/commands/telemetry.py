"""`manage.py telemetry`: what agents were asked, how well recall works, and what models cost, for one owner."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from django.core.management.base import BaseCommand

from memory.management.answers import errors_for_operators
from memory.management.owners import acting_for
from telemetry.management import (
    cost_actions,
    event_actions,
    health_actions,
    metrics_actions,
    recall_actions,
    report_actions,
)
from telemetry.management.actions import ActionSpec, InstallationAction

ACTIONS: Final[Mapping[str, ActionSpec | InstallationAction]] = {
    **cost_actions.ACTIONS,
    **event_actions.ACTIONS,
    **health_actions.ACTIONS,
    **metrics_actions.ACTIONS,
    **recall_actions.ACTIONS,
    **report_actions.ACTIONS,
}


class Command(BaseCommand):
    """Look at an owner's telemetry and switch parts of it."""

    help = "Show turn events and reports, switch test mode, and more, for one owner."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, spec in ACTIONS.items():
            action = actions.add_parser(name, help=spec.help)
            spec.add_arguments(action)
            if isinstance(spec, ActionSpec):
                action.add_argument("--owner", metavar="LOGIN", help="the owner's login, where there are several")
            form = action.add_mutually_exclusive_group()
            form.add_argument("--json", action="store_true", help="as one JSON object")
            if isinstance(spec, ActionSpec) and spec.csv is not None:
                form.add_argument("--csv", action="store_true", help=spec.csv)

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        spec = ACTIONS[options["action"]]
        with errors_for_operators():
            if isinstance(spec, InstallationAction):
                spec.run(options, self.stdout.write)
            else:
                spec.run(acting_for(options["owner"]), options, self.stdout.write)
