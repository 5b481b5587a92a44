"""What was observed of recalls, with what was said of them, read for reports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.recall.gate import Verdict
from telemetry.models import RecallFeedback, RecallObservation
from telemetry.quality.ndcg import estimate

# The least relevance that counts as found where the recall itself named none.
FOUND_FROM: Final = 0.3
_COLUMNS: Final = (
    "pk", "agent_id", "sort", "profile", "experiment_arm", "relevances", "threshold", "gate", "fallback", "degraded",
    "duration_us", "stages", "created_at",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of a recall: as a whole, and of its hits by rank."""

    whole: bool | None = None
    hits: Mapping[int, bool] = field(default_factory=dict)

    @property
    def helpful(self) -> bool | None:
        """Tell whether the recall has helped: as a whole where that was said, else any hit; None where nothing was."""
        if self.whole is not None:
            return self.whole
        return any(self.hits.values()) if self.hits else None


NOTHING_SAID: Final = Said()


@dataclass(frozen=True, slots=True)
class Seen:
    """One recall as reports read it; `microseconds` by stage."""

    recall_id: UUID
    agent_id: UUID | None
    sort: str
    profile: str
    arm: str
    relevances: Sequence[float]
    threshold: float
    gate: str
    fallback: bool
    degraded: Sequence[str]
    seconds: float
    microseconds: Mapping[str, int]
    at: datetime
    said: Said

    @property
    def looked(self) -> bool:
        """Tell whether anything was looked for; a greeting needs no recall."""
        return self.gate == Verdict.RECALL

    @property
    def top(self) -> float:
        """Give the relevance of the best hit; 0 where nothing was shown."""
        return max(self.relevances, default=0.0)

    @property
    def found(self) -> bool:
        """Tell whether a hit was as relevant as was asked for; what the scan of texts finds has no relevance."""
        return not self.fallback and bool(self.relevances) and self.top >= (self.threshold or FOUND_FROM)

    @property
    def ndcg(self) -> float:
        """Estimate the NDCG; see `telemetry.quality.ndcg.estimate`."""
        return estimate(self.relevances, verdicts=self.said.hits, whole=self.said.whole)


def observations(since: datetime, until: datetime, **limits: Any) -> list[Seen]:
    """Read the current owner's recalls after one moment and up to another, the oldest first.

    Args:
        since, until: the moments.
        limits: what the rows are limited to, as lookups of `RecallObservation`.
    """
    rows = RecallObservation.objects.filter(created_at__gt=since, created_at__lte=until, **limits)
    said = feedback(since)
    return [_seen(row, said) for row in rows.order_by("created_at", "pk").values_list(*_COLUMNS)]


def feedback(since: datetime) -> dict[UUID, Said]:
    """Give what was said since a moment, by recall."""
    whole: dict[UUID, bool] = {}
    hits: dict[UUID, dict[int, bool]] = defaultdict(dict)
    rows = RecallFeedback.objects.filter(created_at__gt=since).values_list("recall_id", "memory_id", "rank", "helpful")
    for recall_id, memory_id, rank, helpful in rows:
        if memory_id is None:
            whole[recall_id] = helpful
        elif rank is not None:
            hits[recall_id][rank] = helpful
    return {one: Said(whole.get(one), hits.get(one, {})) for one in {*whole, *hits}}


def _seen(row: tuple[Any, ...], said: Mapping[UUID, Said]) -> Seen:
    (
        recall_id, agent_id, sort, profile, arm, relevances, threshold, gate, fallback, degraded, took, stages, at,
    ) = row  # fmt: skip
    return Seen(
        recall_id=recall_id,
        agent_id=agent_id,
        sort=sort,
        profile=profile,
        arm=arm,
        relevances=relevances,
        threshold=threshold,
        gate=gate,
        fallback=fallback,
        degraded=degraded,
        seconds=took / 1_000_000,
        microseconds=stages,
        at=at,
        said=said.get(recall_id, NOTHING_SAID),
    )
