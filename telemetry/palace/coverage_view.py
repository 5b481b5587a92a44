"""What the coverage pages show: numbers in words, bars with their addresses, requests of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.palace.dates import day_words, moment, short_day
from memory.palace.numbers import local, whole
from memory.palace.privacy_view import NO_NAME
from memory.services.legible import UNREADABLE
from telemetry.coverage.hint import Said
from telemetry.palace import chart
from telemetry.palace.coverage_state import CoverageState
from telemetry.services.coverage.analysis import BY_SPOKE
from telemetry.services.coverage.parts import FURTHER, OTHERS, Bar, Cluster, CoverageReport, SpokeCoverage
from telemetry.services.coverage.samples import OF_SPOKE
from telemetry.services.coverage.samples import UNREADABLE as UNREADABLE_REQUESTS
from telemetry.services.turns.events import ShownEvent

NOTHING: Final = "–"
OUTCOMES: Final = {
    "completed": gettext_lazy("completed"),
    "failed": gettext_lazy("failed"),
    "timeout": gettext_lazy("timed out"),
}
GATHERED: Final = {OTHERS: gettext_lazy("All others"), FURTHER: gettext_lazy("… further spokes")}
"""What the report calls what it gathers beyond its longest lists."""


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

    def address(key: str) -> str:
        return state.address(requests_page, key=key)

    return {
        "report": report,
        "figures": _figures(report),
        "hint": " ".join(_hinted(said) for said in report.hint),
        "next_spoke": _next_spoke(report),
        "window_words": _("%(first)s to %(last)s (UTC).")
        % {"first": _day(report.window[0]), "last": _day(report.window[1])},
        **pareto_view(report, state, requests_page),
        "groups": [_group(one, address(one.key)) for one in report.clusters],
        "more_groups": report.cluster_count - len(report.clusters),
        "failures": [
            {"group": _group(one, address(one.key)), "missed": whole(one.missed_count)} for one in report.top_failures
        ],
        "spokes": [_spoke(name, one) for name, one in report.coverage_by_spoke.items()],
        **_trend(report),
    }


def pareto_view(report: CoverageReport, state: CoverageState, requests_page: str) -> dict[str, Any]:
    """Describe the Pareto chart of a report and the table under it; the arguments are those of `report_view`."""
    clusters = {one.key: one for one in report.clusters}
    placed = chart.pareto(
        [
            chart.Share(_label(bar), f"{whole(bar.fallback_count)} · {percent(bar.share)}", bar.share, bar.cumulative)
            for bar in report.pareto
        ]
    )
    bars = [
        _bar(bar, clusters.get(bar.key), state.address(requests_page, key=bar.key) if bar.key else "")
        for bar in report.pareto
    ]
    return {"chart": placed, "bars": list(zip(bars, placed.rows, strict=True)), "told": _told(report.pareto)}


def requests_view(rows: Sequence[ShownEvent], *, agents: Mapping[UUID, str], current: datetime) -> list[dict[str, Any]]:
    """Describe the requests of a group for their table.

    Args:
        rows: the requests, masked.
        agents: names of the owner's agents.
        current: the present moment.
    """
    return [
        {
            "request": _(UNREADABLE) if row.request is None else row.request,
            "spoke": row.matched_spoke if row.matched_spoke is not None else _(UNREADABLE),
            "fallback": row.fallback,
            "agent": agents.get(row.agent_id, str(NO_NAME)) if row.agent_id else _("you"),
            "outcome": str(OUTCOMES[row.outcome]),
            "took": _duration(row.duration_ms),
            "when": moment(row.occurred_at, current),
        }
        for row in rows
    ]


def percent(part: float) -> str:
    """Write a part of one as percent, with a decimal where it is small."""
    return local(f"{100 * part:.1f} %") if 0 < part < 0.1 else local(f"{100 * part:.0f} %")


def _part(count: int, share: float) -> str:
    return f"{whole(count)} ({percent(share)})"


def _figures(report: CoverageReport) -> list[tuple[str, str]]:
    return [
        (_("turns"), whole(report.total_turns)),
        (_("no spoke fitted"), percent(report.fallback_rate)),
        (_("failed or timed out"), percent(report.failure_rate)),
    ]


def _next_spoke(report: CoverageReport) -> str:
    gain = report.next_spoke
    if gain is None:
        return ""
    said = ngettext(
        "One more spoke, for requests like “%(label)s”, would cover %(count)s fallback and leave a fallback rate of "
        "%(left)s.",
        "One more spoke, for requests like “%(label)s”, would cover %(count)s fallbacks and leave a fallback rate of "
        "%(left)s.",
        gain.covers,
    )
    left = percent(gain.fallback_rate_after)
    return said % {"label": gain.label, "count": whole(gain.covers), "left": left}


def _hinted(said: Said) -> str:
    return _(said.text) % {name: local(one) if isinstance(one, str) else one for name, one in said.values.items()}


def _label(bar: Bar) -> str:
    # Only what is no cluster has no key: a request may read like our own words.
    return _called(bar.key, bar.label) if bar.key else str(GATHERED.get(bar.label, bar.label))


def _called(key: str, label: str) -> str:
    """Say what a cluster is called: its request, or in the language of the page what the report says in its place."""
    if key.startswith(f"{BY_SPOKE}-"):
        return _(OF_SPOKE) % {"spoke": label.removeprefix(OF_SPOKE % {"spoke": ""})}
    return _(label) if label == UNREADABLE_REQUESTS else label


def _bar(bar: Bar, cluster: Cluster | None, address: str) -> BarView:
    return BarView(
        label=_label(bar),
        address=address,
        fallbacks=whole(bar.fallback_count),
        share=percent(bar.share),
        cumulative=percent(bar.cumulative),
        turns=whole(bar.count),
        failed="" if cluster is None else whole(cluster.failure_count),
    )


def _group(cluster: Cluster, address: str) -> GroupView:
    return GroupView(
        label=_called(cluster.key, cluster.label),
        address=address,
        spokes=", ".join(cluster.matched_spokes),
        turns=whole(cluster.count),
        fallback=_part(cluster.fallback_count, cluster.fallback_rate),
        failed=_part(cluster.failure_count, cluster.failure_rate),
    )


def _spoke(name: str, spoke: SpokeCoverage) -> dict[str, Any]:
    return {
        "name": str(GATHERED[FURTHER]) if name == FURTHER else name,
        "is_fallback": spoke.is_fallback,
        "turns": whole(spoke.count),
        "share": percent(spoke.share),
        "failed": _part(spoke.failure_count, spoke.failure_rate),
    }


def _told(bars: Sequence[Bar]) -> str:
    """Say in one sentence what the chart shows."""
    if not bars:
        return ""
    few = next((at for at, bar in enumerate(bars, 1) if bar.cumulative >= chart.VITAL), len(bars))
    said = ngettext(
        "The largest group makes up %(part)s of all turns that no spoke fitted. The same as a table follows.",
        "The %(few)d largest groups make up %(part)s of all turns that no spoke fitted. The same as a table follows.",
        few,
    )
    return said % {"few": few, "part": percent(bars[few - 1].cumulative)}


def _trend(report: CoverageReport) -> dict[str, Any]:
    days = [(short_day(one.day), one.fallback_rate if one.turns else None) for one in report.trend]
    rates = [rate for _, rate in days if rate is not None]
    told = ""
    if rates:
        said = _(
            "From %(first)s on the first day with turns to %(last)s on the last; %(most)s at most. "
            "The same as a table follows."
        )
        told = said % {"first": percent(rates[0]), "last": percent(rates[-1]), "most": percent(max(rates))}
    rows = [
        {
            "day": day_words(one.day),
            "turns": whole(one.turns),
            "fallbacks": whole(one.fallbacks),
            "rate": percent(one.fallback_rate) if one.turns else _("no turns"),
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
    return local(f"{seconds:.1f} s") if seconds < 60 else local(f"{seconds / 60:,.1f} min")


def _day(at: datetime) -> str:
    return day_words(at)
