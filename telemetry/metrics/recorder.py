"""What the memory tells of itself, counted."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from memory.ports.recorder import GraphRead, JobRan, ModelCalled, RecallObserved
from telemetry.metrics import definitions as metrics
from telemetry.metrics import shared
from telemetry.metrics.counting import change, increase, observe, set_to

RECALL: Final = "recall"
HOUR: Final = 3600.0


class MetricsRecorder:
    """Counts recalls, calls of models, reads of the graph and jobs; of owners, agents and ids it keeps nothing."""

    def __init__(self) -> None:
        """Begin; files of ended processes are first put together with the first job."""
        self._put_together_at = 0.0

    def recalled(self, observed: RecallObserved) -> None:
        """Count a recall by its profile and outcome, with its stages."""
        profile = observed.profile
        outcome = "not_needed" if observed.gate != RECALL else "hit" if observed.hits else "no_hit"
        increase(metrics.RECALLS, profile, outcome)
        observe(metrics.RECALL_SECONDS, observed.seconds, profile)
        if outcome != "not_needed":
            observe(metrics.RECALL_HITS, observed.hits, profile)
        for stage, seconds in observed.stages.items():
            observe(metrics.RECALL_STAGES, seconds, stage)
        if observed.fallback:
            increase(metrics.RECALL_FALLBACKS)
        if observed.place:
            increase(metrics.RECALL_PLACES, observed.place)
        for code in observed.degraded:
            increase(metrics.RECALL_DEGRADED, code)

    def model_called(self, call: ModelCalled) -> None:
        """Count a call of a model and its tokens."""
        increase(metrics.MODEL_CALLS, call.kind, call.component, call.model, "ok" if call.ok else "failed")
        observe(metrics.MODEL_SECONDS, call.seconds, call.kind, call.model)
        for direction, tokens in (("input", call.input_tokens), ("output", call.output_tokens)):
            if tokens > 0:
                increase(metrics.MODEL_TOKENS, call.kind, call.component, call.model, direction, by=tokens)

    def graph_read(self, read: GraphRead) -> None:
        """Count a question about the graph by the store that answered, and why."""
        increase(metrics.GRAPH_READS, read.store, read.outcome)

    def job_ran(self, ran: JobRan) -> None:
        """Count a job and the rows it has done; from time to time, put files of ended workers together."""
        increase(metrics.JOB_RUNS, ran.name, "ok" if ran.ok else "failed")
        observe(metrics.JOB_SECONDS_TAKEN, ran.seconds, ran.name)
        if ran.ok:
            set_to(metrics.JOB_LAST_SUCCESS, time.time(), ran.name)
        for kind, count in ran.counts.items():
            if count > 0:
                increase(metrics.JOB_ROWS, ran.name, kind, by=count)
        # Where nobody scrapes, files of workers that were replaced would pile up.
        if time.monotonic() >= self._put_together_at:
            self._put_together_at = time.monotonic() + HOUR
            shared.put_together()


def count_stored(counts: Mapping[str, int]) -> None:
    """Count memories that were written."""
    for kind, count in counts.items():
        increase(metrics.MEMORIES_STORED, kind, by=count)


def count_sockets(by: int) -> None:
    """Count live pages that come (1) and go (-1)."""
    change(metrics.LIVE_SOCKETS, by)
