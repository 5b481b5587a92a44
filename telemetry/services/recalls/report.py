"""The report about recalls in use: what they found, how long they took and where, and whether that is changing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

from memory.errors import InvalidInput
from memory.models import owner_scope
from memory.recall.profiles import shipped
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from telemetry.bounds import LATENCY_SECONDS, SCORE_BOUNDS, STAGE_SECONDS
from telemetry.quality.drift import Drift, drift
from telemetry.quality.histograms import counts
from telemetry.services.asked import require_agents, require_days
from telemetry.services.recalls import recording
from telemetry.services.recalls.reading import Seen, observations
from telemetry.services.recalls.summary import Summary, milliseconds, summary

DAYS: Final = 7
MOST_DAYS: Final = 30
SLOW: Final = 10
MOST_SLOW: Final = 100
MOST_AGENTS: Final = 100

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRequest:
    """Which recalls a report is about: those of so many days up to now, of one agent, of one profile."""

    days: int = DAYS
    agent: UUID | None = None
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many values lie above the bound before and up to this one; None is no bound."""

    up_to: float | None
    count: int


@dataclass(frozen=True, slots=True)
class StageUse:
    """What one stage took of its own, in recalls that had it; buckets in seconds."""

    stage: str
    recalls: int
    p50_ms: float
    p95_ms: float
    total_ms: float
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class SlowRecall:
    """A recall that took long, without its question; stages in milliseconds, the longest first."""

    recall_id: UUID
    at: datetime
    agent: UUID | None
    profile: str
    milliseconds: float
    stages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RecallReport:
    """How recalls went within a window, compared with the window of the same length before it."""

    days: int
    since: datetime
    until: datetime
    summary: Summary
    before: Summary
    gates: Mapping[str, int]
    degraded: Mapping[str, int]
    latency: tuple[Bucket, ...]
    stages: tuple[StageUse, ...]
    scores: tuple[Bucket, ...]
    drift: Drift
    profiles: Mapping[str, Summary]
    agents: Mapping[UUID | None, Summary]
    slow: tuple[SlowRecall, ...]


def recall_report(*, actor: Actor, request: QualityRequest) -> RecallReport:
    """Report how recalls went.

    Args:
        actor: who asks; reports are about the whole owner.
        request: which recalls.

    Raises:
        PermissionRefused: the actor may not read telemetry.
        InvalidInput: days out of bounds.
        NotFound: no such agent or profile.
    """
    until, limits = _checked(actor, request)
    since = until - timedelta(days=request.days)
    with owner_scope(actor.owner_id):
        recalls = observations(since, until, **limits)
        earlier = observations(since - timedelta(days=request.days), since, **limits)
    looked = [one for one in recalls if one.looked]
    return RecallReport(
        days=request.days,
        since=since,
        until=until,
        summary=summary(recalls),
        before=summary(earlier),
        gates=dict(Counter(one.gate for one in recalls).most_common()),
        degraded=dict(Counter(code for one in recalls for code in one.degraded).most_common()),
        latency=_buckets([one.seconds for one in looked], LATENCY_SECONDS),
        stages=_stages(looked),
        scores=_buckets(_tops(looked), (*SCORE_BOUNDS, 1.0))[:-1],
        drift=drift(_tops(looked), _tops([one for one in earlier if one.looked])),
        profiles=_by(recalls, lambda one: one.profile),
        agents=dict(list(_by(recalls, lambda one: one.agent_id).items())[:MOST_AGENTS]),
        slow=_slowest(looked, SLOW),
    )


def slow_recalls(*, actor: Actor, request: QualityRequest, top: int = SLOW) -> tuple[SlowRecall, ...]:
    """List the recalls that took longest, the slowest first; raises as `recall_report` does.

    Args:
        actor: who asks.
        request: among which recalls.
        top: how many, 1 to 100.
    """
    if isinstance(top, bool) or not 1 <= top <= MOST_SLOW:
        raise InvalidInput(f"top is a number from 1 to {MOST_SLOW}.", code="top.out_of_range", field="top")
    until, limits = _checked(actor, request)
    with owner_scope(actor.owner_id):
        recalls = observations(until - timedelta(days=request.days), until, **limits)
    return _slowest([one for one in recalls if one.looked], top)


def _checked(actor: Actor, request: QualityRequest) -> tuple[datetime, dict[str, Any]]:
    """Check a request; give the present moment, and what the rows are limited to."""
    actor.require(Permission.TELEMETRY_READ)
    require_days(request.days, most=MOST_DAYS)
    recording.flush()
    limits: dict[str, Any] = {}
    if request.profile is not None:
        limits["profile"] = shipped(request.profile).name
    if request.agent is not None:
        with owner_scope(actor.owner_id):
            require_agents((request.agent,))
        limits["agent_id"] = request.agent
    return now(), limits


def _tops(recalls: Sequence[Seen]) -> list[float]:
    return [one.top for one in recalls]


def _buckets(values: Sequence[float], bounds: Sequence[float]) -> tuple[Bucket, ...]:
    return tuple(Bucket(bound, count) for bound, count in zip((*bounds, None), counts(values, bounds), strict=True))


def _stages(recalls: Sequence[Seen]) -> tuple[StageUse, ...]:
    """Describe every stage, the one that took most of all first."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for one in recalls:
        for stage, took in one.microseconds.items():
            seconds[stage].append(took / 1_000_000)
    uses = [
        StageUse(
            stage=stage,
            recalls=len(took),
            p50_ms=milliseconds(took, 0.5) or 0.0,
            p95_ms=milliseconds(took, 0.95) or 0.0,
            total_ms=round(sum(took) * 1000, 3),
            buckets=_buckets(took, STAGE_SECONDS),
        )
        for stage, took in seconds.items()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.total_ms, use.stage)))


def _by(recalls: Sequence[Seen], key: Callable[[Seen], K]) -> dict[K, Summary]:
    """Sum up recalls in groups, the largest first."""
    groups: dict[K, list[Seen]] = defaultdict(list)
    for one in recalls:
        groups[key(one)].append(one)
    return {name: summary(group) for name, group in sorted(groups.items(), key=lambda item: -len(item[1]))}


def _slowest(recalls: Sequence[Seen], top: int) -> tuple[SlowRecall, ...]:
    slowest = sorted(recalls, key=lambda one: (-one.seconds, one.recall_id))[:top]
    return tuple(
        SlowRecall(
            recall_id=one.recall_id,
            at=one.at,
            agent=one.agent_id,
            profile=one.profile,
            milliseconds=round(one.seconds * 1000, 3),
            stages={
                stage: round(took / 1000, 3)
                for stage, took in sorted(one.microseconds.items(), key=lambda item: (-item[1], item[0]))
            },
        )
        for one in slowest
    )
