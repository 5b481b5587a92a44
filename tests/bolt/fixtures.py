"""Fixtures with the Bolt server; `tests/conftest.py` makes them known everywhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bolt.fetching import CannotFetch, fetched
from tests.bolt.server import BoltServer
from tests.environment import MODEL_CACHE
from tests.services import left_out


@pytest.fixture(scope="session")
def bolt_session() -> Iterator[BoltServer]:
    """Start the server once for all tests of this process; without one they are skipped, or fail where it must be."""
    try:
        folder = fetched(MODEL_CACHE)
    except CannotFetch as reason:
        left_out(f"no Bolt server: {reason}")
    server = BoltServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture
def bolt(bolt_session: BoltServer) -> Iterator[BoltServer]:
    """Give the running server; a test may kill or pause it, the next one finds it running again."""
    bolt_session.again()
    yield bolt_session
    if bolt_session.running:
        bolt_session.resume()
