"""`manage.py outbound`: what left this machine for providers on an owner's behalf."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from memory.management.answers import answer, errors_for_operators
from memory.management.owners import acting_for
from memory.services.outbound import KEPT, Sent, list_outbound

LISTED: Final = 20
# A row is not genuine.
ATTENTION: Final = 3


class Command(BaseCommand):
    """List what left for providers."""

    help = "List the newest requests to embedders, language models and rerankers on an owner's behalf."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--owner", metavar="LOGIN", help="the owner's login, where there are several owners")
        parser.add_argument("--limit", type=int, default=LISTED, metavar="N", help=f"1 to {KEPT}; {LISTED}")
        parser.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """List them, newest first; ends with 3 where a row was forged."""
        if not 1 <= options["limit"] <= KEPT:
            raise CommandError(f"--limit takes 1 to {KEPT}.")
        with errors_for_operators():
            rows = list_outbound(actor=acting_for(options["owner"]), after=None, size=options["limit"])
        answer(
            self.stdout.write,
            {"requests": [asdict(row) for row in rows]},
            as_json=options["json"],
            lines=[_line(row) for row in rows] or ["Nothing left for a provider."],
        )
        if not all(row.genuine for row in rows):
            raise SystemExit(ATTENTION)


def _line(row: Sent) -> str:
    forged = "" if row.genuine else "  FORGED"
    what = f"{row.kind}/{row.component}" if row.component else row.kind
    return f"{row.at:%Y-%m-%d %H:%M:%S}  {row.outcome:<12} {row.size:>9} {row.sha256[:16]}  {row.host}  {what}{forged}"
