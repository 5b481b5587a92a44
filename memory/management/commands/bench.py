"""`bench`: measures recall quality and latency, fits what the measurements decide, and prints the figures."""

from __future__ import annotations

import importlib
import json
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.test.utils import override_settings

from bench import (
    admin,
    communities,
    compare,
    consolidation,
    fit,
    frequency,
    graph,
    graph_view,
    ingest,
    injection,
    latency,
    locomo,
    neo4j_projection,
    personas,
    pii,
    purge,
    quality,
    relevance,
    report,
    resolution,
    sources,
    telemetry,
)
from bench.database import bench_database
from bench.projection import fit_projection
from memory.errors import InvalidInput, LociError
from memory.recall.profiles import SHIPPED

PAGE = "docs/quality.md"


class Command(BaseCommand):
    """Measure; the last line printed is one JSON object."""

    help = "Measure recall quality and latency in a database of its own. The last line printed is one JSON object."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the measurements and their options."""
        kinds = parser.add_subparsers(dest="kind", required=True)
        found = kinds.add_parser("recall-quality", help="share of evidence found")
        found.add_argument("--profile", default="default", choices=sorted(SHIPPED))
        found.add_argument("--arm", choices=quality.ARMS, help="ask one arm alone")
        found.add_argument("--without", default="", metavar="PARTS", help=f"comma list of {', '.join(quality.PARTS)}")
        found.add_argument("--compare", action="store_true", help="every profile, and the default without each part")
        found.add_argument("--write", action="store_true", help=f"put the comparison into {PAGE}")
        fitted = kinds.add_parser("fit", help="fit the weights of the evidence signals")
        calibrated = kinds.add_parser("fit-relevance", help="fit the constants of the relevance")
        for one in (found, fitted, calibrated):
            _add_sources(one)
        projected = kinds.add_parser("fit-projection", help="fit the projection of token vectors on the personas")
        projected.add_argument("--dry-run", action="store_true", help="write nothing")
        timed = kinds.add_parser("latency", help="time of the recall service over generated memories")
        timed.add_argument("--owners", type=int, default=1, help="owners that are measured")
        timed.add_argument("--memories", type=int, default=10_000, help="memories of each measured owner")
        timed.add_argument("--other-rows", type=int, default=0, help="memories of other owners in the same partition")
        timed.add_argument("--queries", type=int, default=100, help="questions for each owner, 2,000 for all together")
        drawn = kinds.add_parser("consolidation", help="turns consolidated per second by rules, and idle cycles")
        drawn.add_argument("--data", type=Path, help="a file in LoCoMo's form; Loci's personas when left out")
        drawn.add_argument("--turns", type=int, default=800)
        drawn.add_argument("--cycles", type=int, default=50, help="idle cycles over what was drawn")
        drawn.add_argument("--extractor", choices=("rules", "spacy"), default="rules", help="what draws from the turns")
        divided = kinds.add_parser("communities", help="time of dividing a graph into communities")
        divided.add_argument("--nodes", type=int, default=50_000)
        divided.add_argument("--edges", type=int, default=200_000)
        divided.add_argument(
            "--alone", action="store_true", help="without the comparison, which takes a minute and networkx"
        )
        stepped = kinds.add_parser("graph", help="time of steps and walks over a graph")
        stepped.add_argument("--entities", type=int, default=50_000)
        stepped.add_argument("--relations", type=int, default=200_000)
        stepped.add_argument("--memories", type=int, default=20_000)
        stepped.add_argument("--queries", type=int, default=60)
        pictured = kinds.add_parser("graph-view", help="size and time of the picture of a dense graph")
        pictured.add_argument("--memories", type=int, default=3_300)
        pictured.add_argument("--links", type=int, default=160_000)
        pictured.add_argument("--depth", type=int, default=2)
        mirrored = kinds.add_parser("projection", help="time of projecting a graph to the Neo4j of NEO4J_URI")
        mirrored.add_argument("--entities", type=int, default=50_000, help="each is two nodes, with its name")
        mirrored.add_argument("--relations", type=int, default=100_000)
        mirrored.add_argument("--changes", type=int, default=100, help="followed one by one")
        judged = kinds.add_parser("resolution", help="names that the rules make one entity, right and wrong")
        judged.add_argument("--write", action="store_true", help=f"put the tables into {PAGE}")
        recognised = kinds.add_parser("pii", help="personal data that the rules find, beside Presidio")
        recognised.add_argument(
            "--presidio", metavar="PYTHON", help="an interpreter that has presidio-analyzer; this one when it has it"
        )
        attacked = kinds.add_parser("injection", help="injected phrases found, and harmless texts taken for one")
        for one in (recognised, attacked):
            one.add_argument("--half", default="test", choices=pii.HALVES, help="test is what no rule was tuned on")
            one.add_argument("--misses", action="store_true", help="show what of the tuned half was read wrongly")
        guessed = kinds.add_parser("frequency", help="keyed words that a thief of the database guesses")
        guessed.add_argument("--data", type=Path, help="a file in LoCoMo's form; Loci's personas when left out")
        guessed.add_argument("--known", type=int, default=20, help="of the commonest words that an insider knows")
        written = kinds.add_parser("ingest", help="turns stored per second against the embedder's own rate")
        written.add_argument("--turns", type=int, default=2_000)
        purged = kinds.add_parser("purge", help="time of purging a whole owner, and what is left")
        purged.add_argument("--memories", type=int, default=10_000, help="of the owner who is purged")
        purged.add_argument("--others", type=int, default=0, help="memories of other owners")
        looked = kinds.add_parser("admin", help="time and statements of the admin's pages")
        looked.add_argument("--memories", type=int, default=100_000, help="of the owner whose rows are shown")
        told = kinds.add_parser("telemetry", help="cost of recording turns, what stops and kills lose, and the report")
        told.add_argument("--events", type=int, default=50_000, help="recorded without a pause")
        told.add_argument("--killed-at", type=int, default=20_000, help="events after which a process is killed")
        told.add_argument("--report-events", type=int, default=100_000, help="of the report; 0 leaves it out")
        for one in (
            found,
            fitted,
            calibrated,
            projected,
            timed,
            drawn,
            written,
            guessed,
            divided,
            stepped,
            pictured,
            mirrored,
            judged,
            recognised,
            attacked,
            purged,
            looked,
            told,
        ):
            one.add_argument("--json", action="store_true", help="print nothing but the JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one measurement."""
        kinds: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "recall-quality": self._compare if options.get("compare") else self._quality,
            "fit": self._fit,
            "fit-relevance": self._fit_relevance,
            "fit-projection": self._fit_projection,
            "latency": self._latency,
            "consolidation": self._consolidation,
            "resolution": self._resolution,
            "ingest": self._ingest,
            "pii": self._pii,
            "injection": self._injection,
            "frequency": self._frequency,
            "communities": self._communities,
            "graph": self._graph,
            "graph-view": self._graph_view,
            "projection": self._projection,
            "purge": self._purge,
            "admin": self._admin,
            "telemetry": self._telemetry,
        }
        self._quiet = options["json"]
        try:
            figures = kinds[options["kind"]](options)
        except ModuleNotFoundError as error:
            raise CommandError(
                f"{error.name} is not installed. Install the packages of requirements/develop.txt."
            ) from error
        except (LociError, ValueError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(figures))

    def _tell(self, *lines: str) -> None:
        if not self._quiet:
            self.stdout.write("\n".join(lines))
            self.stdout.flush()

    def _quality(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["write"]:
            raise InvalidInput("--write puts a comparison into the page: give --compare too.", code="bench.options")
        asked = sources.chosen(options["data"], own=options["own"], mixed=options["mixed"], stretch=options["stretch"])
        # Also before anything is stored, so that a wrong word costs no minutes.
        without = tuple(filter(None, map(str.strip, options["without"].split(","))))
        quality.adapted(options["profile"], arm=options["arm"], without=without)
        with bench_database():
            figures = quality.measure(
                asked, profile=options["profile"], arm=options["arm"], without=without, tell=self._tell
            )
        for name in ("by_category", "by_store", "by_source"):
            self._tell(*report.aligned(figures[name], first=name.removeprefix("by_")), "")
        self._tell(*report.aligned({"all": figures}), report.intervals(figures))
        return figures

    def _compare(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["arm"] or options["without"] or options["profile"] != compare.DEFAULT:
            raise InvalidInput("--compare tries every profile, arm and part by itself.", code="bench.options")
        asked = sources.chosen(
            options["data"], own=options["own"], mixed=options["mixed"], stretch=options["stretch"], both=True
        )
        page = Path(settings.BASE_DIR) / PAGE
        if options["write"]:
            report.check_marks(page)
        with bench_database():
            tables = compare.measure(asked, tell=self._tell)
        for name, table in tables.items():
            self._tell("", *report.aligned(table["rows"], first=name))
        if options["write"]:
            report.write_between(page, report.comparison(tables))
            self._tell(f"{PAGE} has the comparison")
        return {"sources": tables}

    def _fit(self, options: dict[str, Any]) -> dict[str, Any]:
        asked = sources.chosen(options["data"], own=options["own"], mixed=options["mixed"], stretch=options["stretch"])
        with bench_database():
            groups = [quality.ingest_all(source.stores, tell=self._tell) for source in asked]
            figures = fit.measure(groups, tell=self._tell)
        self._tell(*report.weights(figures), "", *report.fits(figures))
        return figures

    def _fit_relevance(self, options: dict[str, Any]) -> dict[str, Any]:
        asked = sources.chosen(options["data"], own=options["own"], mixed=options["mixed"], stretch=options["stretch"])
        with bench_database():
            groups = [quality.ingest_all(source.stores, tell=self._tell) for source in asked]
            return relevance.fit_relevance(groups, tell=self._tell)

    def _fit_projection(self, options: dict[str, Any]) -> dict[str, Any]:
        fitted = fit_projection(target=None) if options["dry_run"] else fit_projection()
        return {
            "texts": fitted.texts,
            "tokens": fitted.tokens,
            "width": fitted.projection.shape[1],
            "kept": round(fitted.kept, 4),
            "written": not options["dry_run"],
        }

    def _latency(self, options: dict[str, Any]) -> dict[str, Any]:
        with bench_database():
            return latency.measure(
                owners=options["owners"],
                memories=options["memories"],
                other_rows=options["other_rows"],
                queries=options["queries"],
                tell=self._tell,
            )

    def _consolidation(self, options: dict[str, Any]) -> dict[str, Any]:
        stores = personas.load() if options["data"] is None else locomo.load(options["data"])
        # Embedding is not what is measured: vectors are queued, and words alone answer the questions.
        with override_settings(EMBEDDING_PROVIDER="none"), bench_database():
            return consolidation.measure(
                stores,
                turns=options["turns"],
                cycles=options["cycles"],
                tell=self._tell,
                extractor=options["extractor"],
            )

    def _resolution(self, options: dict[str, Any]) -> dict[str, Any]:
        page = Path(settings.BASE_DIR) / PAGE
        marks = {"begin": resolution.BEGIN, "end": resolution.END}
        if options["write"]:
            report.check_marks(page, **marks)
        figures = resolution.measure()
        self._tell(*resolution.curve_table(figures), "", *resolution.area_table(figures))
        if options["write"]:
            report.write_between(page, resolution.page_text(figures), **marks)
            self._tell(f"{PAGE} has the tables")
        return figures

    def _ingest(self, options: dict[str, Any]) -> dict[str, Any]:
        with bench_database():
            return ingest.measure(turns=options["turns"], tell=self._tell)

    def _pii(self, options: dict[str, Any]) -> dict[str, Any]:
        return pii.measure(
            half=options["half"], presidio=options["presidio"], misses=options["misses"], tell=self._tell
        )

    def _injection(self, options: dict[str, Any]) -> dict[str, Any]:
        return injection.measure(half=options["half"], misses=options["misses"], tell=self._tell)

    def _frequency(self, options: dict[str, Any]) -> dict[str, Any]:
        stores = personas.load() if options["data"] is None else locomo.load(options["data"])
        return frequency.measure(stores, known=options["known"], tell=self._tell)

    def _communities(self, options: dict[str, Any]) -> dict[str, Any]:
        if not options["alone"]:
            # Before anything is stored, so that a missing package costs no minutes.
            importlib.import_module("networkx")
        with bench_database():
            return communities.measure(
                nodes=options["nodes"], edges=options["edges"], compared=not options["alone"], tell=self._tell
            )

    def _graph(self, options: dict[str, Any]) -> dict[str, Any]:
        with bench_database():
            return graph.measure(
                entities=options["entities"],
                relations=options["relations"],
                memories=options["memories"],
                queries=options["queries"],
                tell=self._tell,
            )

    def _graph_view(self, options: dict[str, Any]) -> dict[str, Any]:
        with bench_database():
            return graph_view.measure(
                memories=options["memories"], links=options["links"], depth=options["depth"], tell=self._tell
            )

    def _projection(self, options: dict[str, Any]) -> dict[str, Any]:
        sizes = {name: options[name] for name in ("entities", "relations", "changes")}
        neo4j_projection.check(**sizes)
        with bench_database():
            return neo4j_projection.measure(**sizes, tell=self._tell)

    def _purge(self, options: dict[str, Any]) -> dict[str, Any]:
        with bench_database():
            return purge.measure(memories=options["memories"], others=options["others"], tell=self._tell)

    def _admin(self, options: dict[str, Any]) -> dict[str, Any]:
        with bench_database():
            return admin.measure(memories=options["memories"], tell=self._tell)

    def _telemetry(self, options: dict[str, Any]) -> dict[str, Any]:
        with bench_database():
            return telemetry.measure(
                events=options["events"],
                killed_at=options["killed_at"],
                report_events=options["report_events"],
                tell=self._tell,
            )


def _add_sources(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, action="append", default=[], help="a file in LoCoMo's form; may be given several times"
    )
    parser.add_argument("--own", action="store_true", help="Loci's personas, their turns")
    parser.add_argument("--stretch", action="store_true", help="with the personas' hardest questions")
    parser.add_argument("--mixed", action="store_true", help="with the personas' statements; --compare tries both")
