"""A real worker with the product's own stages: what was asked for before it started, and turns that come later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from memory.models import RunState, RunTrigger
from memory.services.actors import Actor
from memory.services.consolidation.runs import ask_for_run
from memory.services.drafts import Draft
from memory.services.turns import TurnDraft, ingest_turns
from tests.environment import PROJECT
from tests.integration.consolidation.running import runs_of, undrawn

PATIENCE = 120.0
SAID = (
    "I moved to Lisbon.",
    "I love Chinese food.",
    "My sister is Ana.",
    "I work at Acme.",
    "I play chess on Sundays.",
)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_real_worker_consolidates(make_owner: Callable[..., Actor]) -> None:
    alice = make_owner("alice")
    say(alice, SAID[:1])
    asked = ask_for_run(actor=alice)
    worker = begin()
    try:
        wait_for(worker, lambda: [run.state for run in runs_of(alice) if run.pk == asked.pk] == [RunState.DONE])
        assert undrawn(alice) == 0
        say(alice, SAID)
        wait_for(worker, lambda: RunTrigger.COUNT in [run.trigger for run in runs_of(alice)] and undrawn(alice) == 0)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=PATIENCE) == 0
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()
    states = {(run.state, run.error_code) for run in runs_of(alice)}
    assert states == {(RunState.DONE, "")}


def say(owner: Actor, texts: Any) -> None:
    turns = [TurnDraft(draft=Draft(text=text, role="user", speaker="Alice")) for text in texts]
    ingest_turns(actor=owner, session="talk", turns=turns)


def begin() -> subprocess.Popen[bytes]:
    urls = {}
    for variable, alias in (("DATABASE_URL", "default"), ("DATABASE_SCHEMA_URL", "schema")):
        chosen = connections[alias].settings_dict
        urls[variable] = f"postgresql://{chosen['USER']}@/{chosen['NAME']}?host={chosen['HOST']}"
    return subprocess.Popen(
        [sys.executable, "manage.py", "worker"],
        cwd=PROJECT,
        env={**os.environ, "LOCI_NO_BOOTSTRAP": "1", **urls},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        process_group=0,
    )


def wait_for(worker: subprocess.Popen[bytes], happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < deadline, "the worker did not get there"
        assert worker.poll() is None, worker.stderr.read() if worker.stderr else ""
        time.sleep(0.2)
