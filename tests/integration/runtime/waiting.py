"""Wait for something that another process does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 60.0


def wait_for(happened: Callable[[], bool], what: str) -> None:
    """Return as soon as it happened; fail after a minute, which is not a measurement but an end to waiting."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.02)
