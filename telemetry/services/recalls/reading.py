"""What was observed of recalls, with what was said of them, read in columns for reports."""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import chain, islice
from typing import Any, Final, Self, TypeVar
from uuid import UUID

import numpy as np
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from numpy.typing import NDArray

from memory.recall.gate import Verdict
from telemetry.models import RecallFeedback, RecallObservation
from telemetry.quality.ndcg import estimate

# The least relevance that counts as found where the recall itself named none.
FOUND_FROM: Final = 0.3
# Rows as objects take some hundred bytes each, their columns a few.
READ_AT_ONCE: Final = 5_000
_COLUMNS: Final = (
    "pk", "agent_id", "profile", "experiment_arm", "relevances", "threshold", "gate", "fallback", "duration_us",
)  # fmt: skip

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
K = TypeVar("K", bound=Hashable)


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


@dataclass(frozen=True, slots=True, eq=False)
class Recalls:
    """Recalls in columns, the oldest first; every column has one value for each.

    Attributes:
        agents: ids, None for a person.
        profiles, arms, gates: names; an arm is empty outside experiments.
        looked: whether anything was looked for; a greeting needs no recall.
        fallback: whether the scan of texts has answered.
        shown: how many hits there were, 20 at most.
        top: the relevance of the best hit; 0 where nothing was shown.
        found: whether a hit was as relevant as was asked for; what the scan of texts finds has no relevance.
        ndcg: the estimate of `telemetry.quality.ndcg`.
        helpful: 1 or 0 as was said, NaN where nothing was.
        seconds: what the recall took.
    """

    agents: NDArray[np.object_]
    profiles: NDArray[np.object_]
    arms: NDArray[np.object_]
    gates: NDArray[np.object_]
    looked: Flags
    fallback: Flags
    shown: NDArray[np.int64]
    top: Floats
    found: Flags
    ndcg: Floats
    helpful: Floats
    seconds: Floats

    def __len__(self) -> int:
        return len(self.seconds)

    def those(self, chosen: Flags) -> Self:
        """Give some of them, in the same order."""
        return type(self)(**{one.name: getattr(self, one.name)[chosen] for one in fields(self)})


def observations(since: datetime, until: datetime, said: Mapping[UUID, Said], **limits: Any) -> Recalls:
    """Read the current owner's recalls after one moment and up to another.

    Args:
        since, until: the moments.
        said: what was said of recalls, as `feedback` gives it.
        limits: what the rows are limited to, as lookups of `RecallObservation`.
    """
    rows = _within(since, until, limits).order_by("created_at", "pk").values_list(*_COLUMNS)
    read = rows.iterator(READ_AT_ONCE)
    parts = [_columns((), said)]
    while part := list(islice(read, READ_AT_ONCE)):
        parts.append(_columns(part, said))
    return Recalls(*(np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Recalls)))


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


def stage_seconds(since: datetime, until: datetime, **limits: Any) -> dict[str, Floats]:
    """Give what each stage took in the recalls that looked for anything and had it; arguments as `observations`."""
    found: dict[str, array[float]] = defaultdict(lambda: array("d"))
    rows = _within(since, until, {**limits, "gate": Verdict.RECALL}).annotate(written=Cast("stages", TextField()))
    for written in rows.values_list("written", flat=True).iterator(READ_AT_ONCE):
        for stage, took in json.loads(written).items():
            found[stage].append(took)
    return {stage: np.frombuffer(took, dtype=np.float64) / 1_000_000 for stage, took in found.items()}


def degraded_codes(since: datetime, until: datetime, **limits: Any) -> dict[str, int]:
    """Count the codes of what could not be done, the most frequent first; arguments as `observations`."""
    rows = _within(since, until, limits).exclude(degraded=[]).values_list("degraded", flat=True)
    return dict(Counter(chain.from_iterable(rows.iterator(READ_AT_ONCE))).most_common())


def slowest(since: datetime, until: datetime, top: int, **limits: Any) -> Sequence[RecallObservation]:
    """Give the recalls that looked for anything and took longest; other arguments as `observations`."""
    rows = _within(since, until, {**limits, "gate": Verdict.RECALL}).order_by("-duration_us", "pk")
    return list(rows[:top])


def numbered(values: Iterable[K]) -> tuple[list[K], NDArray[np.int64]]:
    """Number the different values in the order in which they come, from 0; give them, and the number of each place."""
    numbers: dict[K, int] = {}
    places = np.fromiter((numbers.setdefault(one, len(numbers)) for one in values), dtype=np.int64)
    return list(numbers), places


def _within(since: datetime, until: datetime, limits: Mapping[str, Any]) -> QuerySet[RecallObservation]:
    rows: QuerySet[RecallObservation] = RecallObservation.objects.filter(
        created_at__gt=since, created_at__lte=until, **limits
    )
    return rows


def _columns(rows: Sequence[tuple[Any, ...]], said: Mapping[UUID, Said]) -> Recalls:
    ids, agents, profiles, arms, relevances, thresholds, gates, fallback, took = (
        zip(*rows, strict=True) if rows else ((),) * len(_COLUMNS)
    )
    shown = np.fromiter(map(len, relevances), dtype=np.int64, count=len(rows))
    grid = np.zeros((len(rows), int(shown.max(initial=1))))
    grid[np.arange(grid.shape[1]) < shown[:, np.newaxis]] = np.fromiter(
        chain.from_iterable(relevances), dtype=np.float64
    )
    verdicts, unhelpful, helpful = _said_of(ids, shown, grid.shape, said)
    threshold, by_scan, top = np.array(thresholds, dtype=np.float64), np.array(fallback, dtype=bool), grid.max(axis=1)
    least = np.where(threshold > 0, threshold, FOUND_FROM)
    return Recalls(
        agents=np.array(agents, dtype=object),
        profiles=np.array(profiles, dtype=object),
        arms=np.array(arms, dtype=object),
        gates=np.array(gates, dtype=object),
        looked=np.array([gate == Verdict.RECALL for gate in gates], dtype=bool),
        fallback=by_scan,
        shown=shown,
        top=top,
        found=~by_scan & (shown > 0) & (top >= least),
        ndcg=estimate(grid, verdicts=verdicts, unhelpful=unhelpful),
        helpful=helpful,
        seconds=np.array(took, dtype=np.float64) / 1_000_000,
    )


def _said_of(
    ids: Sequence[UUID], shown: NDArray[np.int64], shape: tuple[int, ...], said: Mapping[UUID, Said]
) -> tuple[Floats, Flags, Floats]:
    """Give what was said of hits and of recalls as a whole, and whether these have helped."""
    verdicts, unhelpful, helpful = np.full(shape, np.nan), np.zeros(len(ids), dtype=bool), np.full(len(ids), np.nan)
    for place, one in enumerate(ids if said else ()):
        words = said.get(one)
        if words is None:
            continue
        unhelpful[place] = words.whole is False
        helpful[place] = np.nan if words.helpful is None else float(words.helpful)
        for rank, verdict in words.hits.items():
            if rank <= shown[place]:
                verdicts[place, rank - 1] = float(verdict)
    return verdicts, unhelpful, helpful
