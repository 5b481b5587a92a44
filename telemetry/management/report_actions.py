"""The action of `manage.py telemetry` that shows the coverage report."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import Final

from django.conf import settings

from memory.management.answers import answer, counted
from memory.services.actors import Actor
from telemetry.management.actions import ActionSpec, Options, Write
from telemetry.management.arguments import agent_id, up_to
from telemetry.models import Stream
from telemetry.services.coverage.parts import Cluster, CoverageReport
from telemetry.services.coverage.reporting import (
    DEFAULT_DAYS,
    DEFAULT_TOP_N,
    MOST_TOP_N,
    ReportRequest,
    coverage_report,
)
from telemetry.tables import table


def show_report(actor: Actor, options: Options, write: Write) -> None:
    """Show the coverage report, or its clusters as CSV."""
    request = ReportRequest(
        days=options["days"],
        top_n=options["top_n"],
        agent=agent_id(actor, options["agent"]),
        stream=options["stream"],
    )
    report = coverage_report(actor=actor, request=request)
    if options["csv"]:
        columns = [field.name for field in fields(Cluster)]
        write(table(columns, ([getattr(one, name) for name in columns] for one in report.clusters)).rstrip("\r\n"))
        return
    value = asdict(report)
    del value["hint"]
    value["decision_hint"] = report.decision_hint
    answer(write, value, as_json=options["json"], lines=list(_lines(report)))


def _lines(report: CoverageReport) -> Iterator[str]:
    since, until = report.window
    if not report.enabled:
        yield "TELEMETRY IS SWITCHED OFF (TELEMETRY_ENABLED): no turn events are kept. What is shown came before."
    if report.test_mode:
        yield "TEST MODE IS ON: events go to the test stream now."
    turns = counted(report.total_turns, "turn")
    yield f"{turns} of the {report.stream} stream, {since:%Y-%m-%d} to {until:%Y-%m-%d} UTC"
    yield f"nothing fitted: {report.fallback_rate:.2%}; failed or ran out of time: {report.failure_rate:.2%}"
    yield report.decision_hint
    if report.degraded:
        yield f"Requests without a vector are grouped by their spokes: {report.degraded}."
    elif report.pending:
        waiting = counted(report.pending_requests, "request is", "requests are")
        yield f"{waiting} still to be compared and grouped by spokes until then. Ask again in a while."
    if report.next_spoke is not None:
        gain = report.next_spoke
        covers = counted(gain.covers, "fallback")
        yield f"One more spoke, for “{gain.label}”, would cover {covers} and leave {gain.fallback_rate_after:.2%}."
    if report.clusters:
        yield f"{'turns':>7} {'fallback':>9} {'failed':>9}  requests"
    for one in report.clusters:
        yield f"{one.count:>7,} {one.fallback_rate:>9.2%} {one.failure_rate:>9.2%}  {one.label}"
    hidden = report.cluster_count - len(report.clusters)
    if hidden:
        yield f"and {counted(hidden, 'more cluster')}; --top-n shows more"


def _take_window(parser: ArgumentParser) -> None:
    most_days = up_to(settings.TELEMETRY_RETENTION_DAYS)
    days, clusters = "how many days it looks back (%(default)s)", f"most clusters, 1 to {MOST_TOP_N} (%(default)s)"
    parser.add_argument("--days", type=most_days, default=DEFAULT_DAYS, metavar="N", help=days)
    parser.add_argument("--top-n", type=up_to(MOST_TOP_N), default=DEFAULT_TOP_N, metavar="N", help=clusters)
    parser.add_argument("--agent", metavar="AGENT", help="the turns of one agent only, by its name or id")
    parser.add_argument("--stream", choices=Stream.values, help="left out: the one that events go to now")


ACTIONS: Final[Mapping[str, ActionSpec]] = {
    "report": ActionSpec("show the coverage report", show_report, _take_window, csv="the clusters as CSV"),
}
