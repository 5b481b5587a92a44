"""What the coverage pages show: numbers in words, bars with their addresses, requests of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.palace.dates import moment
from memory.palace.privacy_view import NO_NAME
from memory.services.legible import UNREADABLE
from telemetry.palace import chart
from telemetry.palace.coverage_state import CoverageState
from telemetry.services.coverage.parts import Bar, Cluster, CoverageReport, SpokeCoverage
from telemetry.services.turns.events import ShownEvent

NOTHING: Final = "–"
OUTCOMES: Final = {"completed": "completed", "failed": "failed", "timeout": "timed out"}


@dataclass(frozen=True, slots=True)
class BarView:
    """A group of fallbacks as the table under the chart shows it; without an address where it is all the rest."""

    label: str
    address: str
    fallbacks: str
    share: str
    cumulative: str
    turns: str
    failed: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group of alike requests in a table."""

    label: str
    address: str
    spokes: str
    turns: str
    fallback: str
    failed: str


def report_view(report: CoverageReport, state: CoverageState, requests_page: str) -> dict[str, Any]:
    """Describe a report for its page.

    Args:
        report: the report.
        state: what the address asks for.
        requests_page: the name of the page of a group's requests.
    """
    clusters = {one.key: one for one in report.clusters}

    def address(key: str) -> str:
        return state.address(requests_page, key=key) if key else ""

    placed = chart.pareto(
        [
            chart.Share(bar.label, f"{bar.fallback_count:,} · {percent(bar.share)}", bar.share, bar.cumulative)
            for bar in report.pareto
        ]
    )
    bars = [_bar(bar, clusters.get(bar.key), address(bar.key)) for bar in report.pareto]
    return {
        "report": report,
        "figures": _figures(report),
        "next_spoke": _next_spoke(report),
        "window_words": f"{_day(report.window[0])} to {_day(report.window[1])} (UTC).",
        "chart": placed,
        "bars": list(zip(bars, placed.rows, strict=True)),
        "told": _told(report.pareto),
        "groups": [_group(one, address(one.key)) for one in report.clusters],
        "more_groups": report.cluster_count - len(report.clusters),
        "failures": [
            {"group": _group(one, address(one.key)), "missed": f"{one.missed_count:,}"} for one in report.top_failures
        ],
        "spokes": [_spoke(name, one) for name, one in report.coverage_by_spoke.items()],
        **_trend(report),
    }


def requests_view(rows: Sequence[ShownEvent], *, agents: Mapping[UUID, str], current: datetime) -> list[dict[str, Any]]:
    """Describe the requests of a group for their table.

    Args:
        rows: the requests, masked.
        agents: names of the owner's agents.
        current: the present moment.
    """
    return [
        {
            "request": UNREADABLE if row.request is None else row.request,
            "spoke": row.matched_spoke if row.matched_spoke is not None else UNREADABLE,
            "fallback": row.fallback,
            "agent": agents.get(row.agent_id, NO_NAME) if row.agent_id else "you",
            "outcome": OUTCOMES[row.outcome],
            "took": _duration(row.duration_ms),
            "when": moment(row.occurred_at, current),
        }
        for row in rows
    ]


def percent(part: float) -> str:
    """Write a part of one as percent, with a decimal where it is small."""
    return f"{100 * part:.1f} %" if 0 < part < 0.1 else f"{100 * part:.0f} %"


def _figures(report: CoverageReport) -> list[tuple[str, str]]:
    return [
        ("turns", f"{report.total_turns:,}"),
        ("no spoke fitted", percent(report.fallback_rate)),
        ("failed or timed out", percent(report.failure_rate)),
    ]


def _next_spoke(report: CoverageReport) -> str:
    gain = report.next_spoke
    if gain is None:
        return ""
    times = "1 fallback" if gain.covers == 1 else f"{gain.covers:,} fallbacks"
    left = percent(gain.fallback_rate_after)
    return f"One more spoke, for requests like “{gain.label}”, would cover {times} and leave a fallback rate of {left}."


def _bar(bar: Bar, cluster: Cluster | None, address: str) -> BarView:
    return BarView(
        label=bar.label,
        address=address,
        fallbacks=f"{bar.fallback_count:,}",
        share=percent(bar.share),
        cumulative=percent(bar.cumulative),
        turns=f"{bar.count:,}",
        failed="" if cluster is None else f"{cluster.failure_count:,}",
    )


def _group(cluster: Cluster, address: str) -> GroupView:
    return GroupView(
        label=cluster.label,
        address=address,
        spokes=", ".join(cluster.matched_spokes),
        turns=f"{cluster.count:,}",
        fallback=f"{cluster.fallback_count:,} ({percent(cluster.fallback_rate)})",
        failed=f"{cluster.failure_count:,} ({percent(cluster.failure_rate)})",
    )


def _spoke(name: str, spoke: SpokeCoverage) -> dict[str, Any]:
    return {
        "name": name,
        "is_fallback": spoke.is_fallback,
        "turns": f"{spoke.count:,}",
        "share": percent(spoke.share),
        "failed": f"{spoke.failure_count:,} ({percent(spoke.failure_rate)})",
    }


def _told(bars: Sequence[Bar]) -> str:
    """Say in one sentence what the chart shows."""
    if not bars:
        return ""
    few = next((at for at, bar in enumerate(bars, 1) if bar.cumulative >= chart.VITAL), len(bars))
    groups = "The largest group makes" if few == 1 else f"The {few} largest groups make"
    part = percent(bars[few - 1].cumulative)
    return f"{groups} up {part} of all turns that no spoke fitted. The same as a table follows."


def _trend(report: CoverageReport) -> dict[str, Any]:
    days = [(f"{one.day:%d %b}", one.fallback_rate if one.turns else None) for one in report.trend]
    rates = [rate for _, rate in days if rate is not None]
    told = (
        f"From {percent(rates[0])} on the first day with turns to {percent(rates[-1])} on the last; "
        f"{percent(max(rates))} at most. "
        "The same as a table follows."
        if rates
        else ""
    )
    rows = [
        {
            "day": f"{one.day:%d %B %Y}",
            "turns": f"{one.turns:,}",
            "fallbacks": f"{one.fallbacks:,}",
            "rate": percent(one.fallback_rate) if one.turns else "no turns",
        }
        for one in report.trend
    ]
    return {"trend": chart.trend(days), "trend_told": told, "days": rows}


def _duration(milliseconds: int) -> str:
    if not milliseconds:
        # It was not told.
        return NOTHING
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:,.1f} min"


def _day(at: datetime) -> str:
    return f"{at:%d %B %Y}"
