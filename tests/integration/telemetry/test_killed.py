"""Events that wait when their process ends: a clean end writes them all, a kill loses one batch at most."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from memory.models import owner_scope
from memory.services.actors import Actor
from telemetry.models import TurnEvent
from telemetry.services.turns.buffer import MOST_WAITING
from tests.environment import PROJECT
from tests.integration.keys.filled import database_urls
from tests.integration.telemetry.recording_process import COUNTER_BYTES

PATIENCE = 180.0


@contextmanager
def recording(owner: Actor, counter: Path, number: int) -> Iterator[subprocess.Popen[bytes]]:
    counter.write_bytes(bytes(COUNTER_BYTES))
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.integration.telemetry.recording_process",
            str(owner.owner_id),
            str(number),
            counter,
        ],
        cwd=PROJECT,
        env={**os.environ, **database_urls()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def counted(counter: Path) -> int:
    return int.from_bytes(counter.read_bytes(), "little")


def stored(owner: Actor) -> int:
    with owner_scope(owner.owner_id):
        return int(TurnEvent.objects.count())


def wait_until_alone() -> None:
    """Wait until the database has ended what a killed process had begun."""
    deadline = time.monotonic() + PATIENCE
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute(
                """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'"""
            )
            if not cursor.fetchone()[0]:
                return
            time.sleep(0.05)
    pytest.fail("a transaction of the killed process has not ended")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_a_process_that_ends_writes_what_waits(alice: Actor, tmp_path: Path) -> None:
    with recording(alice, tmp_path / "count", 1_500) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert stored(alice) == 1_500


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_a_killed_process_loses_one_batch_at_most(alice: Actor, tmp_path: Path) -> None:
    counter = tmp_path / "count"
    with recording(alice, counter, 0) as process:
        deadline = time.monotonic() + PATIENCE
        while counted(counter) < MOST_WAITING + 1_500:
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline, "too few turns were recorded"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    recorded = counted(counter)
    wait_until_alone()
    assert stored(alice) >= recorded - MOST_WAITING
    with owner_scope(alice.owner_id):
        # What is there was written in order and once.
        numbers = {int(row.details["id"]) for row in TurnEvent.objects.all()}
    assert numbers == set(range(len(numbers)))
