"""A worker of its own ends when it is asked to, also where what it works with is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.environment import PROJECT
from tests.integration.operations.installation import PATIENCE, Installation
from tests.integration.operations.test_consolidating_worker import begin, wait_for

SETTLED = 2.0
"""Until the signal has been taken, which nothing shows."""


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_ends_whose_guard_was_ended_while_it_waited() -> None:
    worker = begin()
    try:
        leader = psutil.Process(worker.pid)
        # Worker, monitor and pusher: what guards them waits to be told to stop from now on.
        wait_for(worker, lambda: [len(guard.children()) >= 3 for guard in leader.children()] == [True])
        (guard,) = leader.children()
        time.sleep(SETTLED)
        guard.suspend()
        worker.send_signal(signal.SIGTERM)
        time.sleep(SETTLED)
        os.killpg(worker.pid, signal.SIGTERM)
        guard.resume()
        assert worker.wait(timeout=PATIENCE) == 0
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()


@pytest.mark.slow
def test_a_worker_ends_whose_database_is_gone(installation: Installation) -> None:
    installation.start("--no-worker")
    with (installation.home / "worker.log").open("wb") as output:
        worker = subprocess.Popen(
            [sys.executable, "manage.py", "worker"],
            cwd=PROJECT,
            env=installation.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    installation.wait_for(lambda: installation.health()["worker"] == "ok", "the worker's first sign of life")
    assert installation.stop() == 0
    said = installation.home / "worker.log"
    installation.wait_for(lambda: "the database does not answer" in said.read_text(), "the worker's noticing")
    worker.send_signal(signal.SIGTERM)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=PATIENCE) == 0, said.read_text()
    assert installation.processes() == []
