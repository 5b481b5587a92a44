"""Live pages of a whole installation: between its processes, over a restart of its database, and at its end."""

from __future__ import annotations

import json
import os
import signal
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from tests.integration.operations.installation import Installation, printed_key
from tests.live_server import Listener, as_agent

pytestmark = pytest.mark.slow


def reader(installation: Installation) -> str:
    """Make an agent's key that may read telemetry."""
    words = ["agent", "key", "first agent", "--label", "watching", "--scopes", "telemetry:read", "--json"]
    made = installation.run(*words)
    assert made.returncode == 0, made.stderr
    return str(json.loads(made.stdout)["key"])


def record(installation: Installation, key: str) -> None:
    status, body = installation.ask("telemetry/pipeline-coverage/events", {"request": "Where is it?"}, key=key)
    assert 200 <= status < 300, body


def heard(opened: Listener) -> Any:
    """Give the next message, or None once the socket is closed."""
    try:
        return json.loads(opened.connection.recv(60))
    except ConnectionClosed:
        return None


def test_pages_hear_over_a_restart_of_the_database_and_hold_up_no_stop(installation: Installation) -> None:
    writer = printed_key(installation.start())
    key = reader(installation)
    place = f"127.0.0.1:{installation.port}"
    with ExitStack() as stack:
        pages = [stack.enter_context(as_agent(place, key)) for _ in range(10)]
        for page in pages:
            assert page.watch("coverage") == {"watching": ["coverage"]}
        record(installation, writer)
        assert {heard(page)["sort"] for page in pages} == {"coverage"}

        server = installation.cluster.status().pid
        assert server is not None
        os.kill(server, signal.SIGKILL)
        # Told to look anew once the server is back, or sent away to come again, if a caller was judged meanwhile.
        for page in pages:
            assert heard(page) in ({"sort": "coverage", "id": "", "version": 0}, None)
        installation.wait_for(installation.answers, "the database")
        with as_agent(place, key) as again:
            again.watch("coverage")
            record(installation, writer)
            while heard(again)["version"] == 0:
                pass

        open_still = [stack.enter_context(as_agent(place, key)) for _ in range(3)]
        for page in open_still:
            page.watch("coverage")
        assert installation.stop() == 0
        assert "ended by SIGKILL" not in installation.log.read_text()
        assert [page.closed_with() for page in open_still] == [1012] * 3
    assert installation.processes() == []
