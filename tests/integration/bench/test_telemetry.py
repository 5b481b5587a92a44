"""The bench of telemetry end to end, on few events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench import telemetry
from memory.crypto.keyring import keyring
from memory.errors import InvalidInput
from telemetry.services.turns import recording
from telemetry.services.turns.buffer import TurnBuffer


@pytest.fixture
def thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the buffer write by itself, as in a process that serves."""
    buffer = TurnBuffer()
    monkeypatch.setattr(recording, "_buffer", buffer)
    yield
    if buffer._thread is not None:
        buffer._thread.join(30)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_figures(thread: None) -> None:
    ring, told = keyring(), list[str]()

    found = telemetry.measure(events=300, killed_at=200, report_events=0, tell=told.append)

    assert found["burst"] == 300
    assert found["lost"] == 0
    assert 0 <= found["lost_killed"] <= found["most_waiting"] == 5_000
    assert all(found[name] > 0 for name in ("record_p50_ms", "record_p99_ms", "burst_s", "events_per_s"))
    assert len(told) == 4
    assert keyring() is ring, "the bench's own keys are gone again"


@pytest.mark.parametrize(("events", "killed_at", "report"), [(0, 1, 0), (1, 0, 0), (1, 1, -1), (1_000_001, 1, 0)])
def test_numbers_out_of_range(events: int, killed_at: int, report: int) -> None:
    with pytest.raises(InvalidInput):
        telemetry.measure(events=events, killed_at=killed_at, report_events=report, tell=lambda line: None)
