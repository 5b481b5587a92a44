"""A process that is killed in the middle of a stage: nothing is lost, nothing is done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connections

from memory.models import ConsolidationLease, ConsolidationRun, Memory, RunState, RunTrigger, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation import lease
from memory.services.consolidation.order import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.drafts import Draft
from memory.services.remember import remember
from tests.environment import PROJECT
from tests.integration.consolidation.dying_run import steps

PATIENCE = 60.0
ROWS = 6
GROUPS = [Group.KNOWLEDGE, Group.SLEEP, Group.SUMMARIES]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("killed_in", GROUPS, ids=str)
def test_kill_in_any_stage(make_owner: Callable[..., Actor], tmp_path: Path, killed_in: Group) -> None:
    alice = make_owner("alice")
    texts = [f"row {number}" for number in range(ROWS)]
    for text in texts:
        remember(actor=alice, draft=Draft(text=text, kind="decision"))

    _run_until(alice, tmp_path, str(killed_in))

    with owner_scope(alice.owner_id):
        (dead,) = ConsolidationRun.objects.all()
        assert (dead.state, dead.stage) == (RunState.RUNNING, str(killed_in))
        assert not _finished(alice)
    assert _again(alice, tmp_path) is None
    with owner_scope(alice.owner_id):
        ConsolidationLease.objects.update(heartbeat_at=dead.started_at - lease.longest_silence() - timedelta(seconds=1))
    done = _again(alice, tmp_path)

    assert done is not None
    assert done.state == RunState.DONE
    assert _finished(alice)
    with owner_scope(alice.owner_id):
        dead.refresh_from_db()
        assert (dead.state, dead.error_code) == (RunState.INTERRUPTED, "lease.lost")
        made = sorted(row.text for row in Memory.objects.filter(kind="fact"))
        assert made == sorted(f"{group} has done {text}" for group in GROUPS for text in texts)
        # One source each: nothing was said a second time.
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM memory_memorysource WHERE owner_id = %s", [alice.owner_id])
            assert cursor.fetchone() == (ROWS * (1 + len(GROUPS)),)
        assert not ConsolidationLease.objects.exists()


def _run_until(owner: Actor, folder: Path, stage: str) -> None:
    """Begin a run in another process and kill it when a stage has done its first row."""
    chosen = connections["default"].settings_dict
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.consolidation.dying_run", str(owner.owner_id), str(folder)],
        cwd=PROJECT,
        env={
            **os.environ,
            "DATABASE_URL": f"postgresql://{chosen['USER']}@/{chosen['NAME']}?host={chosen['HOST']}",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not (folder / stage).exists():
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            assert time.monotonic() < deadline, "the stage was not reached"
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
    finally:
        process.kill()
        process.communicate()


def _again(owner: Actor, folder: Path) -> ConsolidationRun | None:
    return run_consolidation(
        owner_id=owner.owner_id,
        trigger=RunTrigger.SCHEDULE,
        groups=GROUPS,
        steps=steps(folder, slow=False),  # type: ignore[arg-type]
    )


def _finished(owner: Actor) -> bool:
    with owner_scope(owner.owner_id):
        return not Memory.objects.filter(kind="decision", valid_until=None).exists()
