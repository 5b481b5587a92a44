"""Partial purges whose process is killed, and several that are asked for at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connections

from memory.errors import Conflict
from memory.models import Agent, Memory, Purge, PurgeState, owner_scope
from memory.providers.composition import purge_ledger
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.purge.lease import SILENCE
from memory.services.purge.partial_requests import PartialRequest, begin_partial
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from tests.environment import PROJECT
from tests.integration.keys.filled import database_urls

pytestmark = pytest.mark.django_db(transaction=True)

Make = Callable[..., tuple[Actor, str]]
PATIENCE = 120.0


def filled(owner: Actor, make_agent: Make) -> Actor:
    """Give an agent that has stored seven memories, one of which another has stated too."""
    agent, other = make_agent(owner, "doomed")[0], make_agent(owner, "other")[0]
    for number in range(6):
        remember(actor=agent, draft=Draft(text=f"Statement number {number}."))
    for actor in (agent, other):
        remember(actor=actor, draft=Draft(text="Said by both."))
    return agent


def run(purge_id: UUID, fatal: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.integration.purge.dying_partial", str(purge_id), str(fatal)],
        cwd=PROJECT,
        env={**os.environ, **database_urls()},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("fatal", [2, 9, 31, 64])
def test_a_killed_purge_is_finished_by_the_next_process(alice: Actor, make_agent: Make, fatal: int) -> None:
    agent = filled(alice, make_agent)
    purge = begin_partial(actor=alice, request=PartialRequest(agent=agent.agent_id)).purge
    killed = run(purge.pk, fatal)
    assert killed.returncode == -signal.SIGKILL, killed.stderr or f"only {killed.stdout} writes"
    assert Purge.objects.get(pk=purge.pk).state == PurgeState.RUNNING
    with pytest.raises(Conflict):
        run_purge(purge_id=purge.pk)
    Purge.objects.filter(pk=purge.pk).update(heartbeat_at=now() - SILENCE - timedelta(seconds=1))
    done = run_purge(purge_id=purge.pk)
    assert done.state == PurgeState.DONE
    assert done.erased == {"keys": 1, "memories": 6, "sources": 1, "agents": 1}
    assert done.samples is None
    assert done.receipt is not None
    assert verify_receipt(done.receipt)
    with owner_scope(alice.owner_id):
        assert [row.text for row in Memory.objects.all()] == ["Said by both."]
        assert not Agent.objects.filter(pk=agent.agent_id).exists()
    noted = [one for entry in purge_ledger().entries() if entry.purge_id == purge.pk for one in entry.erased]
    assert len(set(noted)) == 6 + 1 + 1, "six memories, one source, the agent"


def test_of_several_at_once_one_is_made(alice: Actor) -> None:
    memory_id = remember(actor=alice, draft=Draft(text="A secret.")).memory_id
    made: list[UUID] = []
    refused: list[str] = []
    start = threading.Barrier(4, timeout=PATIENCE)

    def ask() -> None:
        start.wait()
        try:
            made.append(begin_partial(actor=alice, request=PartialRequest(memories=[memory_id])).purge.pk)
        except Conflict as error:
            refused.append(error.machine_code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert (len(made), refused) == (1, ["purge.under_way"] * 3)
    assert run_purge(purge_id=made[0]).erased == {"memories": 1}


def test_two_purges_that_overlap_end_both(alice: Actor) -> None:
    first, second, third = (
        remember(actor=alice, draft=Draft(text=f"Statement number {number}.")).memory_id for number in range(3)
    )
    rows = [
        begin_partial(actor=alice, request=PartialRequest(memories=ids)).purge
        for ids in ([first, second], [second, third])
    ]
    ended: list[dict[str, int]] = []

    def work(purge_id: UUID) -> None:
        try:
            ended.append(run_purge(purge_id=purge_id).erased)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(row.pk,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert sum(one["memories"] for one in ended) == 3
    with owner_scope(alice.owner_id):
        assert not Memory.objects.exists()
