"""`manage.py consolidation`: what it prints, what it does, and with which code it ends."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from memory.errors import LanguageModelUnavailable
from memory.models import DueWork
from memory.services.actors import Actor
from memory.services.consolidation.runs import consolidation_status
from memory.services.drafts import Draft
from memory.services.remember import remember
from tests.environment import PROJECT
from tests.integration.consolidation.running import draws_all, knowledge, quiet, raises, runs_of, stages, undrawn


@pytest.fixture
def owner(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> Actor:
    """The only owner, with one stage and one memory to draw from."""
    stages(monkeypatch, knowledge(draws_all))
    quiet(alice)
    remember(actor=alice, draft=Draft(text="Alice drinks tea."))
    return alice


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("consolidation", *arguments, stdout=out)
    return out.getvalue()


def answered(*arguments: str) -> Any:
    return json.loads(typed(*arguments))


def ended(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Type a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "manage.py", "consolidation", *arguments],
        cwd=PROJECT,
        env={**os.environ, "LOCI_NO_BOOTSTRAP": "1", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


class TestStatus:
    def test_before_and_after_a_run(self, owner: Actor) -> None:
        before = answered("status")
        assert before["config"]["consolidation"] is True
        assert (before["pending"], before["last_report"], before["last_run_ts"]) == (1, None, None)
        due = DueWork.objects.get(job=DueWork.CONSOLIDATE).due_at
        assert before["next_run_ts"] == due.timestamp()
        typed("run", "--wait")
        after = answered("status", "--json")
        (run,) = runs_of(owner)
        assert (after["pending"], after["last_run_ts"]) == (0, run.started_at.timestamp())
        assert after["last_report"]["state"] == "done"
        assert after["last_report"]["stages"][0]["counts"] == {"rows": 1}

    def test_of_one_of_several_owners(self, owner: Actor, mallory: Actor) -> None:
        with pytest.raises(CommandError, match=r"--owner LOGIN.*account\.ambiguous"):
            typed("status")
        assert answered("status", "--owner", "alice")["pending"] == 1
        assert answered("status", "--owner", "mallory")["pending"] == 0

    def test_without_any_owner(self, db: None) -> None:
        with pytest.raises(CommandError, match="no such owner"):
            typed("status")


class TestRun:
    def test_it_is_asked_for(self, owner: Actor) -> None:
        answer = answered("run", "--json")
        assert answer["state"] == "waiting"
        assert undrawn(owner) == 1
        assert DueWork.objects.filter(job=DueWork.CONSOLIDATE_NOW).exists()

    def test_it_is_done_here_and_now(self, owner: Actor) -> None:
        said = typed("run", "--wait", "--groups", "knowledge")
        assert "done" in said
        assert "draw: done  rows 1" in said
        assert undrawn(owner) == 0

    def test_while_it_is_disabled(self, owner: Actor) -> None:
        typed("disable")
        with pytest.raises(CommandError, match="disabled") as caught:
            typed("run")
        assert caught.value.returncode == 1
        assert runs_of(owner) == []

    def test_of_no_such_group(self, owner: Actor) -> None:
        with pytest.raises(CommandError, match="groups names at least one of"):
            typed("run", "--groups", "dreams")

    def test_that_fails(self, owner: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        stages(monkeypatch, knowledge(raises(LanguageModelUnavailable())))
        with pytest.raises(CommandError, match=r"llm\.unavailable"):
            typed("run", "--wait")


class TestSwitch:
    def test_off_and_on(self, owner: Actor) -> None:
        assert answered("disable", "--json") == {"enabled": False}
        assert consolidation_status(actor=owner)["enabled"] is False
        assert answered("enable", "--json") == {"enabled": True}
        assert consolidation_status(actor=owner)["enabled"] is True


@pytest.mark.slow
class TestExitCodes:
    def test_an_unknown_action(self) -> None:
        assert ended("dream").returncode == 2

    @pytest.mark.parametrize("action", ["status", "run", "enable"])
    def test_a_database_that_does_not_answer(self, tmp_path: Path, action: str) -> None:
        found = ended(action, DATABASE_URL=f"postgresql://loci_app@/nothing?host={tmp_path}")
        assert found.returncode == 1
        assert "The database does not answer" in found.stderr
        if action == "status":
            printed = json.loads(found.stdout)
            assert printed["config"]["consolidation_every_minutes"] == 5
            assert printed["reachable"] is False

    @pytest.mark.django_db(transaction=True)
    def test_without_a_server_of_its_own(self, make_owner: Callable[..., Actor]) -> None:
        make_owner("alice")
        chosen = connections["default"].settings_dict
        url = f"postgresql://{chosen['USER']}@/{chosen['NAME']}?host={chosen['HOST']}"
        found = ended("disable", DATABASE_URL=url)
        assert (found.returncode, found.stderr) == (0, "")
        assert ended("run", DATABASE_URL=url).returncode == 1
        assert ended("enable", DATABASE_URL=url).returncode == 0
        assert ended("status", DATABASE_URL=url).returncode == 0
