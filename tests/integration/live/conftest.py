"""Tests of the websocket use a real server, whose threads see only what is committed."""

from __future__ import annotations

import pytest

from tests.live_server import place

__all__ = ["place"]


@pytest.fixture(autouse=True)
def committed(transactional_db: None) -> None:
    """Let the server's threads see what a test stores."""
