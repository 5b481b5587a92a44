"""A pytest plugin that starts the tests' database server once for all processes of a run and stops it at the end.

`manage.py test` loads it. Without it each process would attach to the server that another one started, and could see
it stop before its own end.
"""

from __future__ import annotations

import pytest

from runtime.postgres.cluster import Cluster
from tests.environment import HOME

_started: list[Cluster] = []


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Start the server before any process of the run."""
    if hasattr(session.config, "workerinput") or session.config.option.collectonly:
        return
    from tests.conftest import FAST

    server = Cluster(HOME / "data", FAST)
    if server.start().status == "started":
        _started.append(server)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Stop the server when this run started it."""
    for server in _started:
        server.stop()
    _started.clear()
