"""Spans: what takes how long within what, for a collector of traces; nothing happens where none is installed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Value = str | int | float | bool
Tracer = Callable[[str, dict[str, Value]], AbstractContextManager[object]]

_tracer: Tracer | None = None


def install_tracer(tracer: Tracer | None) -> None:
    """Set what makes spans in this process."""
    global _tracer
    _tracer = tracer


def span(name: str, **attributes: Value) -> AbstractContextManager[object]:
    """Measure a block as one span.

    Args:
        name: what is done, for example `recall.arms`; a constant.
        attributes: counts, names of models, ids; never a text that somebody said.
    """
    return nullcontext() if _tracer is None else _tracer(name, attributes)
