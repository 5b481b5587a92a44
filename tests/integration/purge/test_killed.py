"""The process that works on a purge is killed: workers go on once nothing was heard of it for a while."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest

from memory.models import Owner, Purge, PurgeState
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.purge.lease import SILENCE
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import purge_is_due, run_due
from memory.services.remember import remember
from tests.environment import PROJECT
from tests.integration.keys.filled import database_urls
from tests.integration.purge.everything import everything_stored

PATIENCE = 90.0
MEMORIES = 5


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
@pytest.mark.parametrize("step", ["erase.memories", "erase.keys", "verify.done"])
def test_a_killed_purge_goes_on(make_owner: Callable[..., Actor], tmp_path: Path, step: str) -> None:
    alice = make_owner("alice")
    for number in range(MEMORIES):
        remember(actor=alice, draft=Draft(text=f"Number {number}."))
    made = begin_purge(actor=alice)

    kill_at(made.purge.pk, step, tmp_path / "reached")

    dead = Purge.objects.get(pk=made.purge.pk)
    assert dead.state == PurgeState.RUNNING
    assert not purge_is_due(), "it could still be alive"
    assert run_due() == 0
    later = now() + SILENCE + timedelta(seconds=1)
    assert purge_is_due(at=later)
    assert run_due(at=later) == 1

    done = Purge.objects.get(pk=made.purge.pk)
    assert done.receipt is not None
    assert verify_receipt(done.receipt)
    assert done.receipt["erased"]["memories"] == MEMORIES
    assert done.receipt["keys"] == {"root": "destroyed"}
    assert not Owner.objects.filter(pk=alice.owner_id).exists()
    assert str(alice.owner_id) not in "\n".join(everything_stored(alice.owner_id))


def kill_at(purge_id: UUID, step: str, reached: Path) -> None:
    """Work on a purge in another process and kill it when it has done a step."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.purge.dying_purge", str(purge_id), step, str(reached)],
        cwd=PROJECT,
        env={**os.environ, **database_urls()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not reached.exists():
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline, "the step was not reached"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    finally:
        process.kill()
        process.communicate()
