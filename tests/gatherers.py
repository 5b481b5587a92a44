"""What a process notes and writes later: in tests it is written when a test asks for it, never by a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memory.services import outbound, reinforcement
from memory.services.audit import readers
from telemetry.services.costs import spending
from telemetry.services.recalls import recording as recalls
from telemetry.services.turns import recording as turns
from telemetry.services.turns.buffer import TurnBuffer


@contextmanager
def written_when_asked() -> Iterator[None]:
    """Begin with nothing noted, and keep what is noted from being written behind a test's back."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reinforcement, "_counter", reinforcement.UseCounter(writes_itself=False))
        patched.setattr(readers, "_counter", readers.ReadCounter(writes_itself=False))
        patched.setattr(outbound, "_log", outbound.OutboundLog(writes_itself=False))
        patched.setattr(recalls, "_log", recalls.RecallLog(writes_itself=False))
        patched.setattr(spending, "_spending", spending.Spending(writes_itself=False))
        patched.setattr(turns, "_buffer", TurnBuffer(writes_itself=False))
        yield
