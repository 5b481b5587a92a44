"""Telling whoever keeps count that memories were written: how many of which kind, never which."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

Listener = Callable[[Mapping[str, int]], None]
"""Takes numbers of memories by kind; returns at once, asks no database and never raises."""

_listeners: Final[list[Listener]] = []


def add_listener(listener: Listener) -> None:
    """Have somebody told how many memories are written; for `AppConfig.ready`."""
    if listener not in _listeners:
        _listeners.append(listener)


def memories_stored(counts: Mapping[str, int]) -> None:
    """Tell how many memories of each kind have been written, once that is committed."""
    for listener in _listeners:
        listener(counts)
