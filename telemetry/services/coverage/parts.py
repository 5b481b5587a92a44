"""What a coverage report consists of, put together from its numbers and texts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from telemetry.coverage.hint import Figures, Said, hint
from telemetry.coverage.next_spoke import next_spoke
from telemetry.coverage.pareto import Slice, pareto
from telemetry.coverage.trend import Day, trend
from telemetry.coverage.turns import Turns, most_frequent, rate, spokes_of
from telemetry.services.coverage.analysis import Analysis
from telemetry.services.coverage.cache import Made
from telemetry.services.coverage.rows import Window
from telemetry.services.coverage.samples import Texts, texts_of

OTHERS: Final = "All others"
FURTHER: Final = "… further spokes"
"""Stands for the spokes beyond the first 100. No spoke has this name: one form knows no such sign."""
BYTES_OF_CLUSTER: Final = 4_096


@dataclass(frozen=True, slots=True)
class Cluster:
    """Requests that belong together.

    Attributes:
        key: names it in links, as long as it holds the same requests.
        label: what people read.
        count: its turns; of these `fallback_count` where nothing fitted and `failure_count` that failed or ran out of
            time, and `missed_count` that did so although a real spoke had taken them.
        matched_spokes: which spokes took them, the most frequent first.
        sample_request: one of the longest requests, masked; blank where none opens.
        sample_requests: the newest different requests, masked, at most five.
        by_vector: whether its requests are alike; else they only share the spoke.
    """

    key: str
    label: str
    count: int
    fallback_count: int
    failure_count: int
    missed_count: int
    fallback_rate: float
    failure_rate: float
    matched_spokes: tuple[str, ...]
    sample_request: str
    sample_requests: tuple[str, ...]
    by_vector: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the Pareto chart; `key` is blank where it stands for all clusters that have none of their own.

    Attributes:
        count: turns.
        fallback_count: those where nothing fitted; the height.
        share, cumulative: of all fallbacks, this bar's and with those before it, 0 to 1.
    """

    key: str
    label: str
    count: int
    share: float
    cumulative: float
    fallback_count: int


@dataclass(frozen=True, slots=True)
class SpokeCoverage:
    """What one spoke took."""

    count: int
    failure_count: int
    failure_rate: float
    share: float
    is_fallback: bool


@dataclass(frozen=True, slots=True)
class NextSpoke:
    """The cluster that one more spoke would cover best: how many fallbacks, and the fallback rate that is left."""

    key: str
    label: str
    covers: int
    fallback_rate_after: float


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """The report.

    Attributes:
        total_turns: turns of the window.
        fallback_rate, failure_rate: shares of them, four decimal places.
        clusters: by fallback rate, then by turns.
        cluster_count: how many there are in all, `fallback_clusters` of them with a fallback.
        top_failures: clusters with turns that failed although a real spoke had taken them, most such turns first.
        coverage_by_spoke: by name, the most turns first; what lies beyond the first 100 together under `FURTHER`.
        hint: what the numbers say about the next step.
        window_days, window: how many days, and from when to when.
        stream: `live` or `test`; `test_mode` says whether events go to the latter now.
        pending: whether vectors are still to be made, of `pending_requests` different requests.
        degraded: the code of why vectors cannot be made now; blank where they can.
        enabled: whether turn events are kept; else the report is of those that came before.
        as_of: when it was made; `outdated` where turns came or went since.
        pareto, trend, next_spoke: bars by fallbacks, days, and the gain of one more spoke.
        version: of the events; it rises whenever another report would come out.
    """

    total_turns: int
    fallback_rate: float
    failure_rate: float
    clusters: tuple[Cluster, ...]
    cluster_count: int
    fallback_clusters: int
    top_failures: tuple[Cluster, ...]
    coverage_by_spoke: dict[str, SpokeCoverage]
    hint: tuple[Said, ...]
    window_days: int
    window: tuple[datetime, datetime]
    stream: str
    test_mode: bool
    pending: bool
    pending_requests: int
    degraded: str
    enabled: bool
    as_of: datetime
    outdated: bool
    pareto: tuple[Bar, ...]
    trend: tuple[Day, ...]
    next_spoke: NextSpoke | None
    version: int

    @property
    def size(self) -> int:
        """Give about how many bytes its texts and numbers take."""
        return BYTES_OF_CLUSTER * (1 + len(self.clusters) + len(self.top_failures) + len(self.coverage_by_spoke))

    @property
    def decision_hint(self) -> str:
        """Give the hint in English, as programs get it."""
        return " ".join(map(str, self.hint))

    @property
    def since(self) -> datetime:
        """Give the beginning of the window."""
        return self.window[0]

    @property
    def until(self) -> datetime:
        """Give the end of the window."""
        return self.window[1]


def assembled(
    analysis: Analysis, *, window: Window, days: int, top_n: int, test_mode: bool, made: Made, at: datetime
) -> CoverageReport:
    """Put a report together; one statement, for the texts that it shows.

    Args:
        analysis: the grouped turns.
        window: which turns they are.
        days: how many days the window was asked to have.
        top_n: how many clusters, bars and failures are listed.
        test_mode: whether test mode is on.
        made: what it is made of.
        at: the present moment.
    """
    turns, groups = analysis.turns, analysis.groups
    total, fallbacks = len(turns), int(groups.fallbacks.sum())
    ranked, failing = groups.ranked()[:top_n], _failing(analysis)[:top_n]
    bars = pareto(groups, most=top_n)
    gain = next_spoke(groups, turns=total)
    shown = [*ranked, *failing, *(bar.cluster for bar in bars if bar.cluster is not None)]
    texts = texts_of(analysis, [*shown, gain.cluster] if gain is not None else shown)
    failure_rate, fallback_rate = rate(int(groups.failures.sum()), total), rate(fallbacks, total)
    fallback_clusters = int(np.count_nonzero(groups.fallbacks))
    # Where most fallbacks are together for their spoke alone, their clusters say nothing of what was asked.
    compared = 2 * int(groups.fallbacks[groups.by_vector].sum()) >= fallbacks
    return CoverageReport(
        total_turns=total,
        fallback_rate=fallback_rate,
        failure_rate=failure_rate,
        clusters=_clusters(analysis, ranked, texts),
        cluster_count=len(groups),
        fallback_clusters=fallback_clusters,
        top_failures=_clusters(analysis, failing, texts),
        coverage_by_spoke=_by_spoke(turns),
        hint=hint(Figures(total, fallback_rate, failure_rate, fallback_clusters, compared)),
        window_days=days,
        window=(window.since, window.until),
        stream=window.stream,
        test_mode=test_mode,
        pending=analysis.missing > 0 and not made.degraded,
        pending_requests=analysis.missing,
        degraded=made.degraded,
        enabled=made.enabled,
        as_of=at,
        outdated=False,
        pareto=tuple(_bar(analysis, bar, texts) for bar in bars),
        trend=trend(turns, since=window.since, until=window.until),
        next_spoke=None
        if gain is None
        else NextSpoke(analysis.key(gain.cluster), texts[gain.cluster].label, gain.covers, gain.fallback_rate_after),
        version=made.version,
    )


def _failing(analysis: Analysis) -> list[int]:
    groups = analysis.groups
    order = np.lexsort((groups.newest, -groups.counts, -groups.missed))
    return [int(place) for place in order[groups.missed[order] > 0]]


def _clusters(analysis: Analysis, places: Iterable[int], texts: dict[int, Texts]) -> tuple[Cluster, ...]:
    return tuple(_cluster(analysis, place, texts[place]) for place in places)


def _cluster(analysis: Analysis, place: int, texts: Texts) -> Cluster:
    groups = analysis.groups
    count, fallbacks, failures = int(groups.counts[place]), int(groups.fallbacks[place]), int(groups.failures[place])
    return Cluster(
        key=analysis.key(place),
        label=texts.label,
        count=count,
        fallback_count=fallbacks,
        failure_count=failures,
        missed_count=int(groups.missed[place]),
        fallback_rate=rate(fallbacks, count),
        failure_rate=rate(failures, count),
        matched_spokes=spokes_of(analysis.turns, groups.members(place)),
        sample_request=texts.sample_request,
        sample_requests=texts.sample_requests,
        by_vector=bool(groups.by_vector[place]),
    )


def _bar(analysis: Analysis, bar: Slice, texts: dict[int, Texts]) -> Bar:
    key, label = ("", OTHERS) if bar.cluster is None else (analysis.key(bar.cluster), texts[bar.cluster].label)
    return Bar(key, label, bar.count, bar.share, bar.cumulative, bar.fallback_count)


def _by_spoke(turns: Turns) -> dict[str, SpokeCoverage]:
    size = len(turns.spoke_names)
    counts = np.bincount(turns.spokes, minlength=size)
    failures = np.bincount(turns.spokes[turns.failed], minlength=size)
    named, further = most_frequent(counts)
    # Two names can look the same with personal data covered.
    same: dict[str, list[int]] = {}
    for place in named:
        same.setdefault(turns.spoke_names[place].name, []).append(place)

    def covered(places: list[int]) -> SpokeCoverage:
        count, failed = int(counts[places].sum()), int(failures[places].sum())
        falls_back = any(turns.spoke_names[place].is_fallback for place in places)
        return SpokeCoverage(count, failed, rate(failed, count), rate(count, len(turns)), falls_back)

    shown = {name: covered(places) for name, places in same.items()}
    ordered = dict(sorted(shown.items(), key=lambda entry: (-entry[1].count, entry[0])))
    return {**ordered, FURTHER: covered(further)} if further else ordered
