"""A clock that stands still until a test moves it."""

from __future__ import annotations

import pytest

from memory.services import clock
from tests.integration.consolidation.stage import Stopped


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Stopped:
    """The clock of every service."""
    stopped = Stopped()
    monkeypatch.setattr(clock, "_clock", stopped)
    return stopped
