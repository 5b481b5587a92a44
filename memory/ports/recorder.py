"""What happens here, told to whoever keeps count: recalls, calls of models, jobs, reads of the graph.

`memory` knows nobody who listens; apps that do install themselves in their `AppConfig.ready`. A listener that fails
must not fail what it listens to, so that is caught and logged here, once.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallObserved:
    """One recall that has been answered; never its question or what was found.

    Attributes:
        recall_id: its id.
        owner_id: whose memories were asked.
        agent_id: which agent asked; None for a person.
        sort: `recall`, `context` or another request that recalls.
        profile: the profile that ranked.
        hits: how many were shown.
        wanted: how many were asked for at most.
        considered: how many candidates were ranked.
        relevances: of the hits in their order, 0 to 1.
        threshold: the least relevance that counted, 0 to 1.
        gate: `recall`, or why nothing was looked for.
        fallback: whether the hits come from the scan of texts.
        degraded: codes of what could not be done.
        seconds: from the request to the answer.
        stages: seconds by stage.
        at: when it was asked, aware.
        experiment_id, experiment_arm: where an experiment has chosen the profile, which one and which arm.
        place: where a replica is configured, whether it searched there, or why not.
    """

    recall_id: UUID
    owner_id: UUID
    agent_id: UUID | None
    sort: str
    profile: str
    hits: int
    wanted: int
    considered: int
    relevances: Sequence[float]
    threshold: float
    gate: str
    fallback: bool
    degraded: Sequence[str]
    seconds: float
    stages: Mapping[str, float]
    at: datetime
    experiment_id: UUID | None = None
    experiment_arm: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled:
    """One call of an embedder, a language model or a reranker that has ended; never its content.

    Attributes:
        owner_id: for whom; None for what belongs to nobody, such as a probe.
        agent_id: for which agent; None for a person or a job.
        kind: `embedding`, `llm` or `rerank`.
        component: the part of Loci that asked.
        provider, model: who was asked.
        input_tokens, output_tokens: as the provider counted them, else estimated at four characters a token.
        estimated: whether tokens were estimated.
        local: whether nothing left this machine.
        seconds: how long it took.
        ok: whether it answered.
        at: when it ended, aware.
    """

    owner_id: UUID | None
    agent_id: UUID | None
    kind: str
    component: str
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    seconds: float
    ok: bool
    at: datetime
    estimated: bool = False
    local: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRan:
    """One background job that has ended; `counts` has rows done by kind."""

    name: str
    seconds: float
    ok: bool
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRead:
    """One question about the graph where Neo4j is chosen to answer: which store did, and `ok` or the code why."""

    store: str
    outcome: str


class Recorder(Protocol):
    """Keeps count of what happens; every method returns at once, asks no database and never raises."""

    def recalled(self, observed: RecallObserved) -> None:
        """Note an answered recall."""

    def model_called(self, call: ModelCalled) -> None:
        """Note a call of a model."""

    def job_ran(self, ran: JobRan) -> None:
        """Note a job that has ended."""

    def graph_read(self, read: GraphRead) -> None:
        """Note which store answered a question about the graph."""


_recorders: list[Recorder] = []


def add_recorder(recorder: Recorder) -> None:
    """Have a recorder told of all that happens in this process; for `AppConfig.ready`."""
    if recorder not in _recorders:
        _recorders.append(recorder)


def remove_recorder(recorder: Recorder) -> None:
    """Tell a recorder of nothing more."""
    if recorder in _recorders:
        _recorders.remove(recorder)


def recalled(observed: RecallObserved) -> None:
    """Tell all recorders of an answered recall."""
    _tell("recalled", observed)


def model_called(call: ModelCalled) -> None:
    """Tell all recorders of a call of a model."""
    _tell("model_called", call)


def job_ran(ran: JobRan) -> None:
    """Tell all recorders of a job that has ended."""
    _tell("job_ran", ran)


def graph_read(read: GraphRead) -> None:
    """Tell all recorders which store answered a question about the graph."""
    _tell("graph_read", read)


def _tell(method: str, what: object) -> None:
    for recorder in _recorders:
        try:
            getattr(recorder, method)(what)
        except Exception:
            logger.exception("a recorder failed and is passed over")
