"""`manage.py memory`: forget on purpose and bring back, and take everything out and in again as a file."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from django.core.management.base import BaseCommand

from memory.errors import InvalidInput
from memory.management.answers import answer, errors_for_operators
from memory.management.archive_actions import ARCHIVE_ACTIONS, add_archive_actions
from memory.management.owners import acting_for
from memory.services.actors import Actor
from memory.services.bringing_back import restore_whole_run
from memory.services.forgetting import MOST_DAYS, Purged, PurgeRequest, purge

FLOOR: Final = 0.2


class Command(BaseCommand):
    """Forget on purpose, and take everything along, for one owner."""

    help = "Forget on purpose and bring back; write everything to a file and take such a file over."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        purging = actions.add_parser("purge", help="archive memories, or erase them, and print how many")
        purging.add_argument("--expired", action="store_true", help="what has expired; also when nothing is named")
        purging.add_argument(
            "--decay-days",
            type=_number_to(MOST_DAYS),
            metavar="N",
            help="episodes stored more than N days ago whose salience is at most the floor",
        )
        purging.add_argument(
            "--salience-floor", type=_number_to(1), metavar="F", help=f"for --decay-days, 0 to 1; {FLOOR} when left out"
        )
        purging.add_argument(
            "--forget-provenance", metavar="SOURCE", help="what came from a source or from below it: user:al"
        )
        purging.add_argument("--erase", action="store_true", help="erase for good instead of archiving")
        purging.add_argument("--dry-run", action="store_true", help="count and change nothing")
        restoring = actions.add_parser("restore", help="bring back what a purge or a run of consolidation has archived")
        restoring.add_argument("id", type=_id, metavar="ID", help="the id that the purge has printed, or the run's")
        for action in (purging, restoring, *add_archive_actions(actions)):
            action.add_argument("--owner", metavar="LOGIN", help="the owner's login, where there are several owners")
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions: dict[str, Callable[[Actor, dict[str, Any]], None]] = {"purge": self._purge, "restore": self._restore}
        with errors_for_operators():
            owner = acting_for(options["owner"])
            if options["action"] in ARCHIVE_ACTIONS:
                ARCHIVE_ACTIONS[options["action"]](owner, options, self.stdout.write)
            else:
                actions[options["action"]](owner, options)

    def _purge(self, actor: Actor, options: dict[str, Any]) -> None:
        if options["salience_floor"] is not None and options["decay_days"] is None:
            raise InvalidInput("--salience-floor belongs to --decay-days. Nothing was forgotten.", code="purge.floor")
        named = options["decay_days"] is not None or options["forget_provenance"] is not None
        request = PurgeRequest(
            expired=options["expired"] or not named,
            decay_days=options["decay_days"],
            salience_floor=FLOOR if options["salience_floor"] is None else options["salience_floor"],
            provenance=options["forget_provenance"],
            erase=options["erase"],
            dry_run=options["dry_run"],
        )
        found = purge(actor=actor, request=request)
        answer(self.stdout.write, asdict(found), as_json=options["json"], lines=_described(found))

    def _restore(self, actor: Actor, options: dict[str, Any]) -> None:
        total = restore_whole_run(actor=actor, run_id=options["id"])
        lines = [f"{total.restored} memories and {total.relations} relations are back."]
        if total.refused:
            lines.append(f"{len(total.refused)} stay in the archive: others say the same by now.")
        answer(self.stdout.write, asdict(total), as_json=options["json"], lines=lines)


def _described(found: Purged) -> list[str]:
    total = found.expired + found.decayed + found.provenance + found.drawn
    done = "erased" if found.erased else "archived"
    verb = f"would be {done}" if found.dry_run else f"were {done}"
    counts = f"{found.expired} expired, {found.decayed} faded, {found.provenance} by source"
    lines = [f"{total} memories {verb}: {counts}, {found.drawn} drawn from those alone."]
    if found.sources:
        lost = "would be" if found.dry_run else "were"
        lines.append(f"{found.sources} sources {lost} taken off memories for which others speak too.")
    if total and not found.dry_run and not found.erased:
        lines.append(f"Bring them back: manage.py memory restore {found.id}")
    return lines


def _number_to(most: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise ArgumentTypeError("this takes a number") from None
        if not 0 <= value <= most:
            raise ArgumentTypeError(f"this lies between 0 and {most}")
        return value

    return number


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError("this takes an id") from None
