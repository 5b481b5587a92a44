"""The report about recalls in use: what they found, how long they took and where, and whether that is changing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.errors import InvalidInput
from memory.models import owner_scope
from memory.recall.profiles import shipped
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from telemetry.bounds import LATENCY_SECONDS, SCORE_BOUNDS, STAGE_SECONDS
from telemetry.models import RecallObservation
from telemetry.quality.drift import Drift, drift
from telemetry.quality.histograms import counts
from telemetry.services.asked import require_agents, require_days
from telemetry.services.recalls import recording
from telemetry.services.recalls.cache import reports
from telemetry.services.recalls.reading import (
    Floats,
    Recalls,
    degraded_codes,
    feedback,
    numbered,
    observations,
    slowest,
    stage_seconds,
)
from telemetry.services.recalls.retention import KEPT
from telemetry.services.recalls.summary import Summary, milliseconds, summary

DAYS: Final = 7
MOST_DAYS: Final = 30
SLOW: Final = 10
MOST_SLOW: Final = 100
MOST_AGENTS: Final = 100


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
    """How recalls went within a window, compared with the window of the same length before it.

    Attributes:
        before: of that window; None where it begins before rows are kept from.
    """

    days: int
    since: datetime
    until: datetime
    summary: Summary
    before: Summary | None
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
    """Report how recalls went; one of 1,000 recalls or more stays the same for a minute.

    Args:
        actor: who asks; reports are about the whole owner.
        request: which recalls.

    Raises:
        PermissionRefused: the actor may not read telemetry.
        InvalidInput: days out of bounds.
        NotFound: no such agent or profile.
    """
    limits = _checked(actor, request)
    kept: RecallReport | None = reports.get(actor.owner_id, request)
    if kept is None:
        kept = _report(actor.owner_id, request, limits)
        seen = kept.summary.recalls + (kept.before.recalls if kept.before else 0)
        reports.put(actor.owner_id, request, kept, recalls=seen)
    return kept


def _report(owner_id: UUID, request: QualityRequest, limits: Mapping[str, Any]) -> RecallReport:
    recording.flush()
    until, length = now(), timedelta(days=request.days)
    since = until - length
    is_compared = 2 * length <= KEPT
    begin = since - length if is_compared else since
    with owner_scope(owner_id):
        said = feedback(begin)
        recalls = observations(since, until, said, **limits)
        earlier = observations(begin, since, said, **limits)
        stages = stage_seconds(since, until, **limits)
        degraded = degraded_codes(since, until, **limits)
        slow = slowest(since, until, SLOW, **limits)
    looked = recalls.those(recalls.looked)
    return RecallReport(
        days=request.days,
        since=since,
        until=until,
        summary=summary(recalls),
        before=summary(earlier) if is_compared else None,
        gates=dict(Counter(recalls.gates.tolist()).most_common()),
        degraded=degraded,
        latency=_buckets(looked.seconds, LATENCY_SECONDS),
        stages=_stages(stages),
        scores=_buckets(looked.top, (*SCORE_BOUNDS, 1.0))[:-1],
        drift=drift(looked.top, earlier.top[earlier.looked]),
        profiles=_by(recalls, recalls.profiles),
        agents=dict(list(_by(recalls, recalls.agents).items())[:MOST_AGENTS]),
        slow=tuple(_slow(one) for one in slow),
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
    limits = _checked(actor, request)
    recording.flush()
    until = now()
    with owner_scope(actor.owner_id):
        found = slowest(until - timedelta(days=request.days), until, top, **limits)
    return tuple(_slow(one) for one in found)


def _checked(actor: Actor, request: QualityRequest) -> dict[str, Any]:
    """Check a request; give what the rows are limited to."""
    actor.require(Permission.TELEMETRY_READ)
    require_days(request.days, most=MOST_DAYS)
    limits: dict[str, Any] = {}
    if request.profile is not None:
        limits["profile"] = shipped(request.profile).name
    if request.agent is not None:
        with owner_scope(actor.owner_id):
            require_agents((request.agent,))
        limits["agent_id"] = request.agent
    return limits


def _buckets(values: Floats, bounds: Sequence[float]) -> tuple[Bucket, ...]:
    return tuple(Bucket(bound, count) for bound, count in zip((*bounds, None), counts(values, bounds), strict=True))


def _stages(seconds: Mapping[str, Floats]) -> tuple[StageUse, ...]:
    """Describe every stage, the one that took most of all first."""
    uses = [
        StageUse(
            stage=stage,
            recalls=len(took),
            p50_ms=milliseconds(took, 0.5) or 0.0,
            p95_ms=milliseconds(took, 0.95) or 0.0,
            total_ms=round(float(took.sum()) * 1000, 3),
            buckets=_buckets(took, STAGE_SECONDS),
        )
        for stage, took in seconds.items()
    ]
    return tuple(sorted(uses, key=lambda use: (-use.total_ms, use.stage)))


def _by(recalls: Recalls, column: NDArray[np.object_]) -> dict[Any, Summary]:
    """Sum up recalls by the values of a column, the largest group first."""
    names, places = numbered(column.tolist())
    largest = np.argsort(-np.bincount(places, minlength=len(names)), kind="stable")
    return {names[group]: summary(recalls.those(places == group)) for group in largest.tolist()}


def _slow(row: RecallObservation) -> SlowRecall:
    return SlowRecall(
        recall_id=row.pk,
        at=row.created_at,
        agent=row.agent_id,
        profile=row.profile,
        milliseconds=round(row.duration_us / 1000, 3),
        stages={
            stage: round(took / 1000, 3)
            for stage, took in sorted(row.stages.items(), key=lambda item: (-item[1], item[0]))
        },
    )
