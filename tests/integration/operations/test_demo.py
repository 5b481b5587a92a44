"""`manage.py demo`: afterwards every page has something to show, and the present is the present again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from memory.consolidation.pleasantries import is_pleasantry
from memory.management.commands.demo import Command
from memory.models import (
    Agent,
    AgentFile,
    AgentKey,
    Community,
    ConsolidationRun,
    Entity,
    Memory,
    MemoryAccess,
    MemoryEdge,
    OwnerSettings,
    Relation,
    ReviewItem,
    SavedSearch,
    Skill,
    Status,
    User,
    owner_scope,
)
from memory.services.accounts import create_owner
from memory.services.clock import now
from telemetry.models import RecallFeedback, TurnEvent

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def loaded() -> dict[str, Any]:
    out = StringIO()
    call_command("demo", "--json", stdout=out, stderr=StringIO())
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_half_a_year_is_replayed(loaded: dict[str, Any], client: Client) -> None:
    assert abs(now() - datetime.now(UTC)) < timedelta(minutes=1)
    with owner_scope(UUID(loaded["owner_id"])):
        turns = Memory.objects.filter(kind="turn")
        assert turns.count() == loaded["turns"] >= 300
        assert turns.earliest("created_at").created_at < now() - timedelta(days=170)
        facts = Memory.objects.filter(kind__in=["fact", "preference", "decision", "instruction"])
        assert facts.filter(status=Status.LIVE).count() > 20
        # She has moved, so what was so before is not so any more.
        assert {row.text for row in facts.filter(status=Status.SUPERSEDED)} == {"Nora's sister Lena lives in Utrecht."}
        assert Memory.objects.filter(kind__in=["summary", "pattern", "reflection"], status=Status.LIVE).exists()
        assert ReviewItem.objects.filter(state="open").exclude(kind="merge").exists()
        for model, least in ((Entity, 60), (Relation, 40), (MemoryEdge, 200), (Community, 3), (MemoryAccess, 20)):
            assert model.objects.count() >= least, model
        # On a slow machine a night may end in the middle; the next one goes on, and the last one is whole.
        states = list(ConsolidationRun.objects.order_by("started_at").values_list("state", flat=True))
        assert set(states) <= {"done", "deferred"}
        assert states[-1] == "done"
        patterns = [row.text for row in Memory.objects.filter(kind="pattern")]
        assert patterns
        assert not any(is_pleasantry(text.removeprefix("A recurring theme: ")) for text in patterns)
        assert AgentFile.objects.count() == loaded["files"] > 10
        assert set(AgentFile.objects.values_list("version", flat=True)) == {2, 3}
        assert AgentFile.objects.filter(agent=None).exists()
        assert SavedSearch.objects.count() == 3
        assert set(Skill.objects.values_list("state", flat=True)) == {"candidate", "released"}
        assert ReviewItem.objects.filter(kind="dispute", state="open").count() == 1
        assert len(set(ReviewItem.objects.filter(state="open").values_list("confidence", flat=True))) > 2
        assert Memory.objects.filter(status=Status.ARCHIVED).exists()
        assert MemoryEdge.objects.filter(kind="contradicts").exists()
        assert {agent.name for agent in Agent.objects.all()} == {"assistant", "coder", "coach"}
        for agent in Agent.objects.all():
            said = turns.filter(agent=agent).order_by("created_at").values_list("created_at", flat=True)
            (key,) = AgentKey.objects.filter(agent=agent)
            assert agent.created_at <= key.created_at <= said[0], agent.name
            assert list(said)[-1] <= key.last_used_at < now() - timedelta(minutes=5), agent.name
        for skill in Skill.objects.filter(uses__gt=0):
            assert skill.created_at < skill.last_used_at < now() - timedelta(days=1)
            assert Memory.objects.get(pk=skill.memory_id).created_at == skill.created_at
        # One that recurs is one and the same for all of the half year.
        assert len(patterns) == len(set(patterns))
        assert TurnEvent.objects.count() > 200
        assert set(RecallFeedback.objects.values_list("helpful", flat=True)) == {True, False}
        assert OwnerSettings.objects.get().values["consolidation"] is True
    user = User.objects.get(username="demo")
    assert user.check_password(loaded["password"])
    client.force_login(user)
    assert client.get(reverse("palace:recall"), {"q": "Which mill delivers the flour?"}).status_code == 200


def progress(*, terminal: bool) -> str:
    said = _Terminal() if terminal else StringIO()
    command = Command(stderr=said)
    for done in range(1, 111):
        command._progress(done, 110)
    return said.getvalue()


class _Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_of_a_terminal_and_ten_of_a_file() -> None:
    assert progress(terminal=False).splitlines() == [f"{11 * tenth} of 110 conversations" for tenth in range(1, 11)]
    on_screen = progress(terminal=True)
    assert on_screen.startswith("\r1 of 110 conversations\r2 of 110")
    assert on_screen.count("\n") == 1


def test_a_login_that_is_taken_is_left_alone() -> None:
    owner = create_owner(username="demo", password="a kettle of tea for everybody")
    with pytest.raises(CommandError, match="taken") as refused:
        call_command("demo", stdout=StringIO(), stderr=StringIO())
    assert "purge run --owner demo" in str(refused.value)
    assert "--username" in str(refused.value)
    with owner_scope(owner.pk):
        assert not Memory.objects.exists()
