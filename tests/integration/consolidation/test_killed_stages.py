"""A process that is killed in each of the product's own stages in turn: what comes of it is what comes of one run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connections

from memory.models import (
    CausalLink,
    Community,
    ConsolidationLease,
    Entity,
    Memory,
    MemoryEdge,
    MemorySource,
    Relation,
    TemporalEvent,
    owner_scope,
)
from memory.services.actors import Actor
from memory.services.consolidation import lease
from memory.services.consolidation.order import STEPS
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.sessions import close_session
from memory.services.settings import change_settings
from tests.environment import PROJECT
from tests.integration.consolidation.stage import MONDAY, Stopped, say

SUNDAY = MONDAY + timedelta(days=104)
"""The end of a week that comes after everything told on the first Monday has faded."""
LATE = SUNDAY - timedelta(days=3)
PATIENCE = 120.0


def live_through(owner: Actor, time: Stopped) -> None:
    """Store what gives every stage something to do."""
    time.at = MONDAY
    change_settings(actor=owner, changes={"sleep": "rules", "sleep_least_rows": 1, "sleep_window": 100})
    for number in range(6):
        text = f"The kettle number {number} was noisy for a minute."
        remember(actor=owner, draft=Draft(text=text, tier="episodic", importance=0.1))
    time.at = LATE
    told = [
        ("trip", "I moved from Whitefield to Lisbon.", "My sister Jule lives in Lisbon.", "Jule works at Acme Corp."),
        ("again", "I love Chinese food.", "My brother Tom works at Acme Corp.", "Tom and Jule went to Lisbon."),
        ("more", "I hate Chinese food.", "Yesterday the sensor failed because the cable was loose.", "Jule likes tea."),
    ]
    for hour, (session, *texts) in enumerate(told):
        at = LATE + timedelta(hours=hour)
        tools = [
            Draft(text="ok", role="tool", tool_name=name, occurred_at=at + timedelta(minutes=30))
            for name in ("search", "fetch", "search", "fetch")
        ]
        session_id, _ = say(owner, session, *[("user", text) for text in texts], *tools, at=at)
        close_session(actor=owner, session_id=session_id)
    for ordinal in ("first", "second", "third"):
        remember(actor=owner, draft=Draft(text=f"The {ordinal} report on the harbour boats is late again."))


def begin(owner: Actor, *kill: str) -> subprocess.CompletedProcess[str]:
    chosen = connections["default"].settings_dict
    return subprocess.run(
        [
            sys.executable, "-m", "tests.integration.consolidation.killed_run",
            str(owner.owner_id), SUNDAY.isoformat(), *kill,
        ],
        cwd=PROJECT,
        env={
            **os.environ,
            "DATABASE_URL": f"postgresql://{chosen['USER']}@/{chosen['NAME']}?host={chosen['HOST']}",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )  # fmt: skip


def snapshot(owner: Actor) -> dict[str, Counter[tuple[Any, ...]]]:
    """Give all that an owner has, without ids."""
    with owner_scope(owner.owner_id):
        rows = {row.pk: row for row in Memory.objects.all()}
        names = {row.pk: row.name for row in Entity.objects.all()}
        edges = MemoryEdge.objects.values_list("source_id", "target_id", "kind", "weight")
        relations = Relation.objects.all()
        return {
            "memories": Counter(
                (
                    row.text, row.kind, row.tier, row.status, round(row.salience, 6), row.extracted_at is None,
                    row.slept_at is None, row.archive_reason, tuple(sorted(row.topics or ())),
                )
                for row in rows.values()
            ),
            "sources": Counter(
                rows[memory].text for memory in MemorySource.objects.values_list("memory_id", flat=True)
            ),
            "edges": Counter((rows[a].text, rows[b].text, kind, round(weight, 6)) for a, b, kind, weight in edges),
            "entities": Counter((row.name, row.type, row.mention_count) for row in Entity.objects.all()),
            "relations": Counter(
                (
                    names[row.source_id], row.label, names[row.target_id], round(row.weight, 6), row.valid_from,
                    row.valid_until,
                )
                for row in relations
            ),
            "events": Counter((row.text, row.occurred_at) for row in TemporalEvent.objects.all()),
            "causes": Counter((row.cause, row.effect) for row in CausalLink.objects.all()),
            "communities": Counter(
                tuple(sorted(members)) for members in _members(names).values()
            ),
        }  # fmt: skip


def _members(names: dict[UUID, str]) -> dict[int, list[str]]:
    """Give the members of each community; within the owner's scope."""
    found: dict[int, list[str]] = {}
    for entity_id, number in Entity.objects.exclude(community=None).values_list("pk", "community"):
        found.setdefault(number, []).append(names[entity_id])
    assert len(found) <= Community.objects.count()
    return found


def after_silence(owner: Actor) -> None:
    """Let as much time pass for the lease of the killed run as it takes to tell that it was killed."""
    with owner_scope(owner.owner_id):
        assert ConsolidationLease.objects.update(heartbeat_at=SUNDAY - lease.longest_silence() - timedelta(seconds=1))


def outcome(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr[-2_000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["state"] == "done", found["stages"]
    return found


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0], ids=["first write", "middle", "last write"])
def test_killed_in_every_stage_it_is_as_if_never_killed(
    make_owner: Callable[..., Actor], time: Stopped, part: float
) -> None:
    calm, killed = make_owner("calm"), make_owner("killed")
    for owner in (calm, killed):
        live_through(owner, time)
    writes: dict[str, int] = outcome(begin(calm))["writes"]
    # Looking for personal data by meaning needs a language model.
    stages: Sequence[str] = [step.name for step in STEPS if step.name != "privacy"]
    assert {name for name, count in writes.items() if not count} == {"privacy"}, "a stage has nothing to do"
    for name in stages:
        dead = begin(killed, name, str(max(1, round(writes[name] * part))))
        assert dead.returncode == -signal.SIGKILL, (name, dead.stdout[-2_000:], dead.stderr[-2_000:])
        after_silence(killed)
    outcome(begin(killed))
    wanted, found = snapshot(calm), snapshot(killed)
    for what in wanted:
        assert found[what] == wanted[what], what
