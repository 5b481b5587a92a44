"""The report about recalls as people read it: figures as words, drift as a sentence, the histogram as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.palace.dates import Moment, moment
from memory.palace.numbers import local
from telemetry.models import TunerChange
from telemetry.quality.drift import Drift
from telemetry.services.recalls.report import Bucket, RecallReport, SlowRecall
from telemetry.services.recalls.summary import Rate, Summary

HEIGHT: Final = 120
FOOT: Final = 20
SHOWN_STAGES: Final = 4
NOTHING: Final = "–"
VERDICTS: Final = {
    "none": gettext_lazy("Scores are distributed as they were"),
    "small": gettext_lazy("Scores have moved a little"),
    "large": gettext_lazy("Scores have moved much: look for another model, other texts or other questions"),
}
REASONS: Final = {
    "quality.low": gettext_lazy("quality was low, so more is let in"),
    "quality.high": gettext_lazy("quality was high, so less is let in"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the histogram: where it stands, how high it is, and what it counts."""

    x: str
    width: str
    y: float
    height: float
    label: str
    count: int


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Recalls in figures, as a row of a table."""

    name: str
    recalls: int
    found: str
    helpful: str
    ndcg: str
    p50: str
    p95: str


@dataclass(frozen=True, slots=True)
class SlowRow:
    """A slow recall: when, by which profile, how long, and what took longest of that."""

    recall_id: UUID
    at: Moment
    who: str
    profile: str
    took: str
    stages: str


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change of the tuner."""

    id: UUID
    at: Moment
    what: str
    why: str
    undone: Moment | None


def figures(report: RecallReport) -> list[tuple[str, str]]:
    """Give the key figures with their names."""
    found = report.summary
    return [
        (_("Recalls"), str(found.recalls)),
        (_("Found something"), percent(found.found.share)),
        (_("Showed nothing"), percent(found.nothing / found.looked if found.looked else None)),
        (_("Helped"), percent(found.helpful.share)),
        (_("Order (NDCG)"), decimal(found.ndcg)),
        (_("Median time"), milliseconds(found.p50_ms)),
        (_("95 % within"), milliseconds(found.p95_ms)),
        (_("99 % within"), milliseconds(found.p99_ms)),
    ]


def helpful_words(rate: Rate) -> str:
    """Say how sure the share of recalls that helped is."""
    if rate.share is None:
        return _("Nothing was said yet about whether recalls helped. Say it beside the hits of a search.")
    said = _(
        "%(count)d of %(of)d recalls of which something was said have helped: between %(low)s and %(high)s, "
        "with 95 %% certainty."
    )
    return said % {"count": rate.count, "of": rate.of, "low": percent(rate.low), "high": percent(rate.high)}


def drift_words(drift: Drift, days: int) -> str:
    """Say whether scores have moved."""
    before = ngettext("the day before", "the %(days)d days before", days) % {"days": days}
    if drift.index is None or drift.mean is None or drift.mean_before is None:
        said = _("There are too few recalls, here or in %(before)s, to tell whether scores have moved.")
        return said % {"before": before}
    said = _(
        "%(verdict)s (stability index %(index)s). The best hit of a recall has a relevance of %(mean)s on average, "
        "it was %(mean_before)s in %(before)s."
    )
    return said % {
        "verdict": VERDICTS[drift.verdict],
        "index": decimal(drift.index),
        "mean": decimal(drift.mean),
        "mean_before": decimal(drift.mean_before),
        "before": before,
    }


def columns(buckets: Sequence[Bucket]) -> list[Column]:
    """Place the columns of the latency histogram."""
    most = max((bucket.count for bucket in buckets), default=0)
    step = 100 / len(buckets)
    room = HEIGHT - FOOT
    placed = []
    for at, bucket in enumerate(buckets):
        height = round(room * bucket.count / most, 1) if most else 0.0
        placed.append(
            Column(
                x=f"{at * step + step * 0.1:.2f}%",
                width=f"{step * 0.8:.2f}%",
                y=round(room - height, 1),
                height=height,
                label=_("longer") if bucket.up_to is None else _("to %(time)s") % {"time": seconds(bucket.up_to)},
                count=bucket.count,
            )
        )
    return placed


def summary_row(name: str, found: Summary) -> SummaryRow:
    """Make a row of figures."""
    return SummaryRow(
        name=name,
        recalls=found.recalls,
        found=percent(found.found.share),
        helpful=percent(found.helpful.share),
        ndcg=decimal(found.ndcg),
        p50=milliseconds(found.p50_ms),
        p95=milliseconds(found.p95_ms),
    )


def profile_rows(profiles: Mapping[str, Summary]) -> list[SummaryRow]:
    """Make the table of profiles."""
    return [summary_row(name, found) for name, found in profiles.items()]


def agent_rows(agents: Mapping[UUID | None, Summary], names: Mapping[UUID, str], no_name: str) -> list[SummaryRow]:
    """Make the table of agents."""
    return [summary_row(who(agent, names, no_name), found) for agent, found in agents.items()]


def slow_rows(slow: Sequence[SlowRecall], names: Mapping[UUID, str], no_name: str, current: datetime) -> list[SlowRow]:
    """Make the table of slow recalls."""
    return [
        SlowRow(
            recall_id=one.recall_id,
            at=moment(one.at, current),
            who=who(one.agent, names, no_name),
            profile=one.profile,
            took=milliseconds(one.milliseconds),
            stages=", ".join(
                f"{stage} {milliseconds(took)}" for stage, took in list(one.stages.items())[:SHOWN_STAGES]
            ),
        )
        for one in slow
    ]


def change_rows(changes: Sequence[TunerChange], current: datetime) -> list[ChangeRow]:
    """Make the list of what the tuner has changed."""
    return [
        ChangeRow(
            id=one.pk,
            at=moment(one.created_at, current),
            what=f"{decimal(one.before)} → {decimal(one.after)}",
            why=_("%(reason)s (NDCG %(ndcg)s over %(count)d context blocks)")
            % {"reason": REASONS[one.reason], "ndcg": decimal(one.ndcg), "count": one.recalls},
            undone=moment(one.undone_at, current) if one.undone_at else None,
        )
        for one in changes
    ]


def who(agent: UUID | None, names: Mapping[UUID, str], no_name: str) -> str:
    """Name who asked."""
    return _("you") if agent is None else names.get(agent, no_name)


def percent(share: float | None) -> str:
    """Write a share."""
    return NOTHING if share is None else f"{round(share * 100)} %"


def decimal(value: float | None) -> str:
    """Write a number with two places."""
    return NOTHING if value is None else local(f"{value:.2f}")


def milliseconds(value: float | None) -> str:
    """Write a time given in milliseconds."""
    return NOTHING if value is None else seconds(value / 1000)


def seconds(value: float) -> str:
    """Write a time given in seconds."""
    return local(f"{value * 1000:.3g} ms") if value < 1 else local(f"{value:.3g} s")
