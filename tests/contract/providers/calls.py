"""Calls of models as they are told to whoever keeps count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memory.ports.recorder import GraphRead, JobRan, ModelCalled, RecallObserved, add_recorder, remove_recorder


class Calls:
    """Keeps each call that it is told of."""

    def __init__(self) -> None:
        self.told: list[ModelCalled] = []

    def recalled(self, observed: RecallObserved) -> None:
        """Take no note of recalls."""

    def model_called(self, call: ModelCalled) -> None:
        self.told.append(call)

    def job_ran(self, ran: JobRan) -> None:
        """Take no note of jobs."""

    def graph_read(self, read: GraphRead) -> None:
        """Take no note of reads of the graph."""

    @property
    def only(self) -> ModelCalled:
        (call,) = self.told
        return call


@contextmanager
def listening() -> Iterator[Calls]:
    """Keep the calls of models in this block."""
    calls = Calls()
    add_recorder(calls)
    try:
        yield calls
    finally:
        remove_recorder(calls)
