"""What the stages of a recall take: each stage's own time, without that of the stages within it.

A stage costs about a microsecond. Outside a recall that is timed, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from time import perf_counter
from types import TracebackType
from typing import Final

from memory.ports.tracing import span

# Parts of a recall that are arms; others that are guarded alike keep their own names.
_ARMS: Final = frozenset({"dense", "lexical", "graph", "time"})


class Stopwatch:
    """The seconds of a recall by stage; one that runs twice is summed up."""

    __slots__ = ("_began", "inner", "stage", "stages")

    def __init__(self) -> None:
        """Begin to count."""
        self._began = perf_counter()
        self.stages: dict[str, float] = {}
        # What the stages within the present one have taken so far, and its name.
        self.inner = 0.0
        self.stage = ""

    @property
    def seconds(self) -> float:
        """Give what has passed since the beginning."""
        return perf_counter() - self._began


_current: ContextVar[Stopwatch | None] = ContextVar("loci_stopwatch", default=None)


@contextmanager
def timed() -> Iterator[Stopwatch]:
    """Time the stages of the block, and show it as a span."""
    watch = Stopwatch()
    token = _current.set(watch)
    try:
        with span("recall"):
            yield watch
    finally:
        _current.reset(token)


def current_stage() -> str:
    """Give the name of the stage under way; empty outside."""
    watch = _current.get()
    return watch.stage if watch else ""


def part(name: str) -> str:
    """Name the stage of a part of a recall: `arm.dense` for an arm, else the part's own name."""
    return f"arm.{name}" if name in _ARMS else name


class stage:  # noqa: N801 - it reads as the verb of a block, like `suppress`
    """Time a block as a stage of the recall under way, and show it as a span; the name is a constant."""

    __slots__ = ("_began", "_name", "_outer", "_outer_stage", "_span", "_watch")

    def __init__(self, name: str) -> None:
        """Take the name."""
        self._name = name
        self._span: AbstractContextManager[object] = span(f"recall.{name}")

    def __enter__(self) -> None:
        """Begin."""
        self._span.__enter__()
        self._watch = watch = _current.get()
        if watch is not None:
            self._outer, self._outer_stage = watch.inner, watch.stage
            watch.inner, watch.stage = 0.0, self._name
        self._began = perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, whatever has happened."""
        took, watch = perf_counter() - self._began, self._watch
        if watch is not None:
            watch.stages[self._name] = watch.stages.get(self._name, 0.0) + took - watch.inner
            watch.inner, watch.stage = self._outer + took, self._outer_stage
        self._span.__exit__(kind, error, trace)
