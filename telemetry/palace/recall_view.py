"""The report about recalls as people read it: figures as words, drift as a sentence, the histogram as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.palace.dates import Moment, moment
from memory.services.legible import UNREADABLE, legible
from telemetry.models import RecallExperiment, TunerChange
from telemetry.quality.drift import Drift
from telemetry.services.recalls.experiment_results import HIGHER, LOWER, TOO_FEW, UNCLEAR, Difference, ExperimentResults
from telemetry.services.recalls.report import Bucket, RecallReport, SlowRecall
from telemetry.services.recalls.summary import Rate, Summary

HEIGHT: Final = 120
FOOT: Final = 20
SHOWN_STAGES: Final = 4
NOTHING: Final = "–"
MEASURES: Final = {
    "found": "recalls that found something",
    "helpful": "recalls that helped",
    "ndcg": "order of the hits (NDCG)",
    "p50_ms": "median time",
    "p95_ms": "time of the slowest 5 %",
}
REASONS: Final = {
    "quality.low": "quality was low, so more is let in",
    "quality.high": "quality was high, so less is let in",
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


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """An experiment in the list of all; `shown` is the one whose results stand above."""

    id: UUID
    label: str
    profiles: str
    began: Moment
    ended: Moment | None
    shown: bool


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """What a variant does otherwise, in one measure."""

    measure: str
    value: str
    interval: str
    words: str


def figures(report: RecallReport) -> list[tuple[str, str]]:
    """Give the key figures with their names."""
    found = report.summary
    return [
        ("Recalls", str(found.recalls)),
        ("Found something", percent(found.found.share)),
        ("Showed nothing", percent(found.nothing / found.looked if found.looked else None)),
        ("Helped", percent(found.helpful.share)),
        ("Order (NDCG)", decimal(found.ndcg)),
        ("Median time", milliseconds(found.p50_ms)),
        ("95 % within", milliseconds(found.p95_ms)),
        ("99 % within", milliseconds(found.p99_ms)),
    ]


def helpful_words(rate: Rate) -> str:
    """Say how sure the share of recalls that helped is."""
    if rate.share is None:
        return "Nothing was said yet about whether recalls helped. Say it beside the hits of a search."
    return (
        f"{rate.count} of {rate.of} recalls of which something was said have helped: between {percent(rate.low)} and "
        f"{percent(rate.high)}, with 95 % certainty."
    )


def drift_words(drift: Drift, days: int) -> str:
    """Say whether scores have moved."""
    before = "the day before" if days == 1 else f"the {days} days before"
    if drift.index is None or drift.mean is None or drift.mean_before is None:
        return f"There are too few recalls, here or in {before}, to tell whether scores have moved."
    means = f"The best hit of a recall has a relevance of {decimal(drift.mean)} on average"
    compared = f"it was {decimal(drift.mean_before)} in {before}"
    verdict = {
        "none": "Scores are distributed as they were",
        "small": "Scores have moved a little",
        "large": "Scores have moved much: look for another model, other texts or other questions",
    }[drift.verdict]
    return f"{verdict} (stability index {decimal(drift.index)}). {means}, {compared}."


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
                label="longer" if bucket.up_to is None else f"to {seconds(bucket.up_to)}",
                count=bucket.count,
            )
        )
    return placed


def profile_rows(profiles: Mapping[str, Summary]) -> list[SummaryRow]:
    """Make the table of profiles."""
    return [_summary_row(name, found) for name, found in profiles.items()]


def agent_rows(agents: Mapping[UUID | None, Summary], names: Mapping[UUID, str], no_name: str) -> list[SummaryRow]:
    """Make the table of agents."""
    return [_summary_row(who(agent, names, no_name), found) for agent, found in agents.items()]


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
            why=f"{REASONS[one.reason]} (NDCG {decimal(one.ndcg)} over {one.recalls} context blocks)",
            undone=moment(one.undone_at, current) if one.undone_at else None,
        )
        for one in changes
    ]


def experiment_label(experiment: RecallExperiment) -> str:
    """Give what an experiment is called, as it is shown."""
    return legible(experiment, "label") or UNREADABLE


def experiment_rows(experiments: Sequence[RecallExperiment], shown: UUID, current: datetime) -> list[ExperimentRow]:
    """Make the list of experiments."""
    return [
        ExperimentRow(
            id=one.pk,
            label=experiment_label(one),
            profiles=f"{one.control} with {one.variant}",
            began=moment(one.started_at, current),
            ended=moment(one.ended_at, current) if one.ended_at else None,
            shown=one.pk == shown,
        )
        for one in experiments
    ]


def difference_rows(results: ExperimentResults) -> list[DifferenceRow]:
    """Make the table of what the variant does otherwise."""
    return [_difference_row(name, one) for name, one in results.differences.items()]


def arm_rows(results: ExperimentResults) -> list[SummaryRow]:
    """Make the table of both arms."""
    return [
        _summary_row(f"{name}: {arm.profile}, {arm.agents} {'agent' if arm.agents == 1 else 'agents'}", arm.summary)
        for name, arm in (("control", results.control), ("variant", results.variant))
    ]


def who(agent: UUID | None, names: Mapping[UUID, str], no_name: str) -> str:
    """Name who asked."""
    return "you" if agent is None else names.get(agent, no_name)


def percent(share: float | None) -> str:
    """Write a share."""
    return NOTHING if share is None else f"{round(share * 100)} %"


def decimal(value: float | None) -> str:
    """Write a number with two places."""
    return NOTHING if value is None else f"{value:.2f}"


def milliseconds(value: float | None) -> str:
    """Write a time given in milliseconds."""
    return NOTHING if value is None else seconds(value / 1000)


def seconds(value: float) -> str:
    """Write a time given in seconds."""
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"


def _summary_row(name: str, found: Summary) -> SummaryRow:
    return SummaryRow(
        name=name,
        recalls=found.recalls,
        found=percent(found.found.share),
        helpful=percent(found.helpful.share),
        ndcg=decimal(found.ndcg),
        p50=milliseconds(found.p50_ms),
        p95=milliseconds(found.p95_ms),
    )


def _difference_row(name: str, one: Difference) -> DifferenceRow:
    def written(value: float) -> str:
        if name.endswith("_ms"):
            return f"{value:+.3g} ms"
        return f"{value:+.2f}" if name == "ndcg" else f"{value * 100:+.0f} points"

    known = one.low is not None and one.high is not None
    words = {HIGHER: "higher", LOWER: "lower", TOO_FEW: "too few agents to tell", UNCLEAR: "no clear difference"}
    return DifferenceRow(
        measure=MEASURES[name],
        value=NOTHING if one.value is None else written(one.value),
        interval=f"{written(one.low)} to {written(one.high)}" if known else NOTHING,  # type: ignore[arg-type]
        words=words[one.verdict],
    )
