"""`bench`: measures recall quality and latency and prints the figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from bench import ingest, latency, locomo, quality
from bench.database import bench_database
from memory.errors import LociError
from memory.recall.profiles import SHIPPED


class Command(BaseCommand):
    """Measure; the last line printed is one JSON object."""

    help = "Measure recall quality and latency in a database of its own. The last line printed is one JSON object."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the measurements and their options."""
        kinds = parser.add_subparsers(dest="kind", required=True)
        found = kinds.add_parser("recall-quality", help="share of evidence found over LoCoMo conversations")
        found.add_argument("--data", type=Path, required=True, help="the data file")
        found.add_argument("--profile", default="default", choices=sorted(SHIPPED))
        found.add_argument("--arm", choices=("lexical", "dense"), help="ask one arm alone")
        timed = kinds.add_parser("latency", help="time of the recall service over generated memories")
        timed.add_argument("--owners", type=int, default=1, help="owners that are measured")
        timed.add_argument("--memories", type=int, default=10_000, help="memories of each measured owner")
        timed.add_argument("--other-rows", type=int, default=0, help="memories of other owners in the same partition")
        timed.add_argument("--queries", type=int, default=100, help="questions for each measured owner")
        written = kinds.add_parser("ingest", help="turns stored per second against the embedder's own rate")
        written.add_argument("--turns", type=int, default=2_000)
        for one in (found, timed, written):
            one.add_argument("--json", action="store_true", help="print nothing but the JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one measurement."""
        kinds: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "recall-quality": self._quality,
            "latency": self._latency,
            "ingest": self._ingest,
        }
        self._quiet = options["json"]
        try:
            with bench_database():
                figures = kinds[options["kind"]](options)
        except (LociError, ValueError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(figures))

    def _tell(self, line: str) -> None:
        if not self._quiet:
            self.stdout.write(line)
            self.stdout.flush()

    def _quality(self, options: dict[str, Any]) -> dict[str, Any]:
        conversations = locomo.load(options["data"])
        return quality.measure(conversations, profile=options["profile"], arm=options["arm"], tell=self._tell)

    def _latency(self, options: dict[str, Any]) -> dict[str, Any]:
        return latency.measure(
            owners=options["owners"],
            memories=options["memories"],
            other_rows=options["other_rows"],
            queries=options["queries"],
            tell=self._tell,
        )

    def _ingest(self, options: dict[str, Any]) -> dict[str, Any]:
        return ingest.measure(turns=options["turns"], tell=self._tell)
