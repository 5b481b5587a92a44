"""Summaries, reflection, skills and patterns in real runs: done when they are due, once, and nothing else changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.models import ConsolidationRun, Kind, Memory, OwnerActivity, RunTrigger, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.drafts import Draft
from memory.services.settings import change_settings
from tests.integration.consolidation.stage import MONDAY, Stopped, everything, made, say

pytestmark = pytest.mark.django_db(transaction=True)

TALK = (
    ("user", "Renée and I fly to Lisbon on 12 May."),
    ("assistant", "Shall I look for a hotel near the harbour?"),
    ("user", "Yes, for 400 euros at most."),
)


def go(owner: Actor, *groups: Group) -> ConsolidationRun:
    """Run these groups, or all that make something; a schedule began it."""
    chosen = groups or (Group.KNOWLEDGE, Group.SLEEP, Group.SUMMARIES)
    run = run_consolidation(owner_id=owner.owner_id, trigger=RunTrigger.SCHEDULE, groups=chosen)
    assert run is not None
    assert run.state == "done", run.stages
    return run


def calls(at: datetime) -> list[Draft]:
    tools = ("search", "fetch", "search", "fetch")
    return [Draft(text="ok", role="tool", tool_name=tool, occurred_at=at) for tool in tools]


def reports(run: ConsolidationRun) -> dict[str, dict[str, Any]]:
    return {report["name"]: report for report in run.stages}


@pytest.fixture
def talked(alice: Actor, time: Stopped) -> Actor:
    change_settings(actor=alice, changes={"sleep": "rules", "sleep_least_rows": 1})
    say(alice, "trip", *TALK, *calls(MONDAY), at=MONDAY)
    say(alice, "trip again", ("user", "Lisbon it is, says Renée."), ("assistant", "Fine."), at=MONDAY)
    return alice


def test_a_run_by_itself_does_what_is_due(talked: Actor, time: Stopped) -> None:
    time.pass_(hours=1)
    found = reports(go(talked))
    assert found["summaries"]["counts"]["session"] == 2
    assert found["skills"]["counts"]["learned"] == 1
    assert found["reflection"]["skipped_reason"] == "not.due"
    assert found["patterns"]["state"] == "done"
    time.at = datetime(2026, 3, 8, 0, 30, tzinfo=UTC)
    found = reports(go(talked))
    assert [found["summaries"]["counts"].get(level) for level in ("daily", "weekly", "global")] == [1, 1, 1]
    assert found["reflection"]["counts"]["patterns"] >= 1
    with owner_scope(talked.owner_id):
        activity = OwnerActivity.objects.get()
        assert activity.last_summarised_at == activity.last_reflected_at == time.at


def test_idle_runs_change_nothing_that_was_made(talked: Actor, time: Stopped) -> None:
    time.at = datetime(2026, 3, 8, 0, 30, tzinfo=UTC)
    for _ in range(2):
        go(talked)
    with owner_scope(talked.owner_id):
        kinds = set(Memory.objects.values_list("kind", flat=True))
    assert {Kind.SUMMARY, Kind.REFLECTION, Kind.SKILL} <= kinds
    before = everything(talked)
    for _ in range(5):
        time.pass_(minutes=31)
        go(talked)
    assert everything(talked) == before


def test_what_was_made_is_not_read_for_facts(talked: Actor, time: Stopped) -> None:
    time.at = datetime(2026, 3, 8, 0, 30, tzinfo=UTC)
    go(talked, Group.SUMMARIES)
    run = go(talked, Group.KNOWLEDGE)
    assert run.rows_seen == 5
    assert all(row.extracted_at is not None for row in made(talked, kind="summary"))


def test_a_day_without_runs_is_made_up_for(talked: Actor, time: Stopped) -> None:
    time.pass_(days=2)
    say(talked, "later", *TALK, at=time.at - timedelta(hours=3))
    time.pass_(days=3)
    go(talked, Group.SUMMARIES)
    assert [row.tags[1] for row in made(talked, kind="summary", summary_level="daily")] == ["2026-03-02", "2026-03-04"]
