"""What has come out of an experiment so far: both arms in figures, and what the variant does otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
from django.utils.translation import gettext_noop

from memory.models import owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from telemetry.models import RecallExperiment
from telemetry.quality.intervals import (
    LEAST_AGENTS,
    Clustered,
    Statistic,
    clustered,
    difference,
    mean_of,
    quantile_of,
    whole,
)
from telemetry.services.recalls import recording
from telemetry.services.recalls.cache import reports
from telemetry.services.recalls.experiments import CONTROL, VARIANT, get_experiment
from telemetry.services.recalls.reading import Floats, Recalls, feedback, observations
from telemetry.services.recalls.summary import Summary, summary

METHOD: Final = gettext_noop("bootstrap over agents, 1,000 draws, 95 % percentiles")
TOO_FEW: Final = "too_few"
UNCLEAR: Final = "unclear"
HIGHER: Final = "higher"
LOWER: Final = "lower"


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm: its profile, how many agents it had, and their recalls in figures."""

    profile: str
    agents: int
    summary: Summary


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more the variant has than the control.

    Attributes:
        value: variant less control; None where one of them has nothing.
        low, high: its 95 % interval; None where an arm has fewer than 5 agents.
        verdict: `higher` or `lower` where the interval lies on one side of 0, `unclear` where it holds it, `too_few`
            where there is none.
    """

    value: float | None
    low: float | None
    high: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class ExperimentResults:
    """An experiment with its results up to a moment; `differences` by measure."""

    experiment: RecallExperiment
    until: datetime
    control: Arm
    variant: Arm
    differences: Mapping[str, Difference]
    method: str = METHOD
    least_agents: int = LEAST_AGENTS


@dataclass(frozen=True, slots=True)
class _Measure:
    """What is compared: the values of recalls, NaN where one has none, and which statistic of them."""

    values: Callable[[Recalls], Floats]
    statistic: Statistic


MEASURES: Final[Mapping[str, _Measure]] = {
    "found": _Measure(lambda recalls: recalls.found.astype(np.float64), mean_of),
    "helpful": _Measure(lambda recalls: recalls.helpful, mean_of),
    "ndcg": _Measure(lambda recalls: recalls.ndcg, mean_of),
    "p50_ms": _Measure(lambda recalls: recalls.seconds * 1000, quantile_of(0.5)),
    "p95_ms": _Measure(lambda recalls: recalls.seconds * 1000, quantile_of(0.95)),
}


def experiment_results(*, actor: Actor, experiment_id: UUID) -> ExperimentResults:
    """Give an experiment's results, from the recalls of the last 30 days that it chose the profile of.

    Those of 1,000 recalls or more stay the same for a minute.

    Raises:
        PermissionRefused: the actor may not read telemetry.
        NotFound: no such experiment.
    """
    found = get_experiment(actor=actor, experiment_id=experiment_id)
    kept: ExperimentResults | None = reports.get(actor.owner_id, found.pk)
    if kept is None:
        kept = _results(actor.owner_id, found)
        seen = kept.control.summary.recalls + kept.variant.summary.recalls
        reports.put(actor.owner_id, found.pk, kept, recalls=seen)
    return replace(kept, experiment=found)


def _results(owner_id: UUID, experiment: RecallExperiment) -> ExperimentResults:
    recording.flush()
    until, since = now(), experiment.started_at
    with owner_scope(owner_id):
        recalls = observations(since, until, feedback(since), experiment_id=experiment.pk)
    control, variant = (recalls.those(recalls.arms == name) for name in (CONTROL, VARIANT))
    return ExperimentResults(
        experiment=experiment,
        until=until,
        control=_arm(experiment.control, control),
        variant=_arm(experiment.variant, variant),
        differences={name: _difference(measure, control, variant) for name, measure in MEASURES.items()},
    )


def _arm(profile: str, recalls: Recalls) -> Arm:
    return Arm(profile, len(set(recalls.agents.tolist())), summary(recalls))


def _difference(measure: _Measure, control: Recalls, variant: Recalls) -> Difference:
    ours, theirs = _values(measure, control), _values(measure, variant)
    if not ours.number or not theirs.number:
        return Difference(None, None, None, TOO_FEW)
    value = whole(theirs, measure.statistic) - whole(ours, measure.statistic)
    interval = difference(ours, theirs, measure.statistic)
    if interval is None:
        return Difference(value, None, None, TOO_FEW)
    verdict = HIGHER if interval.low > 0 else LOWER if interval.high < 0 else UNCLEAR
    return Difference(value, interval.low, interval.high, verdict)


def _values(measure: _Measure, recalls: Recalls) -> Clustered:
    values = measure.values(recalls)
    counted = recalls.looked & ~np.isnan(values)
    return clustered(values[counted], recalls.agents[counted].tolist())
