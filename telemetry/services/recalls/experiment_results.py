"""What has come out of an experiment so far: both arms in figures, and what the variant does otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.models import owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from telemetry.models import RecallExperiment
from telemetry.quality.intervals import LEAST_AGENTS, Clustered, Statistic, clustered, difference, mean_of, quantile_of
from telemetry.services.recalls import recording
from telemetry.services.recalls.experiments import CONTROL, VARIANT, get_experiment
from telemetry.services.recalls.reading import Seen, observations
from telemetry.services.recalls.summary import Summary, summary

METHOD: Final = "bootstrap over agents, 1,000 draws, 95 % percentiles"
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
    """What is compared: which recalls have a value of it, and which statistic of the values."""

    value: Callable[[Seen], float | None]
    statistic: Statistic


def _helpful(one: Seen) -> float | None:
    return None if one.said.helpful is None else float(one.said.helpful)


MEASURES: Final[Mapping[str, _Measure]] = {
    "found": _Measure(lambda one: float(one.found), mean_of),
    "helpful": _Measure(_helpful, mean_of),
    "ndcg": _Measure(lambda one: one.ndcg, mean_of),
    "p50_ms": _Measure(lambda one: one.seconds * 1000, quantile_of(0.5)),
    "p95_ms": _Measure(lambda one: one.seconds * 1000, quantile_of(0.95)),
}


def experiment_results(*, actor: Actor, experiment_id: UUID) -> ExperimentResults:
    """Give an experiment's results, from the recalls of the last 30 days that it chose the profile of.

    Raises:
        PermissionRefused: the actor may not read telemetry.
        NotFound: no such experiment.
    """
    found = get_experiment(actor=actor, experiment_id=experiment_id)
    recording.flush()
    until = now()
    with owner_scope(actor.owner_id):
        recalls = observations(found.started_at, until, experiment_id=found.pk)
    arms = {name: [one for one in recalls if one.arm == name] for name in (CONTROL, VARIANT)}
    return ExperimentResults(
        experiment=found,
        until=until,
        control=_arm(found.control, arms[CONTROL]),
        variant=_arm(found.variant, arms[VARIANT]),
        differences={name: _difference(measure, arms) for name, measure in MEASURES.items()},
    )


def _arm(profile: str, recalls: Sequence[Seen]) -> Arm:
    return Arm(profile, len({one.agent_id for one in recalls}), summary(recalls))


def _difference(measure: _Measure, arms: Mapping[str, Sequence[Seen]]) -> Difference:
    control, variant = _values(measure, arms[CONTROL]), _values(measure, arms[VARIANT])
    if not control.number or not variant.number:
        return Difference(None, None, None, TOO_FEW)
    value = _whole(measure, variant) - _whole(measure, control)
    interval = difference(control, variant, measure.statistic)
    if interval is None:
        return Difference(value, None, None, TOO_FEW)
    verdict = HIGHER if interval.low > 0 else LOWER if interval.high < 0 else UNCLEAR
    return Difference(value, interval.low, interval.high, verdict)


def _values(measure: _Measure, recalls: Sequence[Seen]) -> Clustered:
    pairs = [(value, one.agent_id) for one in recalls if one.looked and (value := measure.value(one)) is not None]
    return clustered([value for value, _ in pairs], [agent for _, agent in pairs])


def _whole(measure: _Measure, arm: Clustered) -> float:
    return measure.statistic(arm.values, arm.values * 0 + 1)
