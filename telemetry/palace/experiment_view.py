"""Comparisons of two profiles as people read them: the list of all, both arms in figures, and what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from memory.palace.dates import Moment, moment
from memory.palace.numbers import local
from memory.services.legible import UNREADABLE, legible
from telemetry.models import RecallExperiment
from telemetry.palace.recall_view import NOTHING, SummaryRow, summary_row
from telemetry.services.recalls.experiment_results import (
    HIGHER,
    LOWER,
    TOO_FEW,
    UNCLEAR,
    Arm,
    Difference,
    ExperimentResults,
)

MEASURES: Final = {
    "found": gettext_lazy("recalls that found something"),
    "helpful": gettext_lazy("recalls that helped"),
    "ndcg": gettext_lazy("order of the hits (NDCG)"),
    "p50_ms": gettext_lazy("median time"),
    "p95_ms": gettext_lazy("time of the slowest 5 %"),
}
DIFFERENCES: Final = {
    HIGHER: gettext_lazy("higher"),
    LOWER: gettext_lazy("lower"),
    TOO_FEW: gettext_lazy("too few agents to tell"),
    UNCLEAR: gettext_lazy("no clear difference"),
}


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


def experiment_label(experiment: RecallExperiment) -> str:
    """Give what an experiment is called, as it is shown."""
    return legible(experiment, "label") or _(UNREADABLE)


def experiment_rows(experiments: Sequence[RecallExperiment], shown: UUID, current: datetime) -> list[ExperimentRow]:
    """Make the list of experiments."""
    return [
        ExperimentRow(
            id=one.pk,
            label=experiment_label(one),
            profiles=_("%(control)s with %(variant)s") % {"control": one.control, "variant": one.variant},
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
    named = (
        (pgettext("of a comparison", "control"), results.control),
        (pgettext("of a comparison", "variant"), results.variant),
    )
    return [summary_row(_arm_words(name, arm), arm.summary) for name, arm in named]


def _arm_words(name: str, arm: Arm) -> str:
    said = ngettext("%(name)s: %(profile)s, %(count)d agent", "%(name)s: %(profile)s, %(count)d agents", arm.agents)
    return said % {"name": name, "profile": arm.profile, "count": arm.agents}


def _difference_row(name: str, one: Difference) -> DifferenceRow:
    def written(value: float) -> str:
        if name.endswith("_ms"):
            return local(f"{value:+.3g} ms")
        return (
            local(f"{value:+.2f}")
            if name == "ndcg"
            else _("%(points)s points") % {"points": local(f"{value * 100:+.0f}")}
        )

    interval = NOTHING
    if one.low is not None and one.high is not None:
        interval = _("%(low)s to %(high)s") % {"low": written(one.low), "high": written(one.high)}
    return DifferenceRow(
        measure=str(MEASURES[name]),
        value=NOTHING if one.value is None else written(one.value),
        interval=interval,
        words=str(DIFFERENCES[one.verdict]),
    )
