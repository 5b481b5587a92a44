"""`prepare` where it has nothing to do, and what `start` becomes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from config import serving, shared_counts
from memory.models import User
from memory.services.agents import authenticate
from tests.environment import PROJECT

Become = tuple[str, Sequence[str], Mapping[str, str]]


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Become]:
    """What this process would have become."""
    found: list[Become] = []
    monkeypatch.setattr(os, "execve", lambda program, words, variables: found.append((program, words, variables)))
    monkeypatch.chdir(tmp_path)
    return found


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    with override_settings(METRICS_DIRECTORY=tmp_path / "metrics"):
        return shared_counts.counts_directory()


def test_the_web_process_is_the_one_that_up_runs(became: list[Become], tmp_path: Path) -> None:
    with override_settings(METRICS_DIRECTORY=tmp_path / "metrics"):
        call_command("start", "web", "--host", "0.0.0.0", "--port", "8421")
        service = serving.web_service("0.0.0.0", 8421)
    ((program, words, variables),) = became
    assert program == sys.executable
    assert list(words) == list(service.command)
    assert service.environment.items() <= variables.items()
    assert variables[shared_counts.VARIABLE].startswith(str(tmp_path / "metrics"))
    assert Path.cwd() == PROJECT


def test_the_worker_waits_for_no_web_process(became: list[Become], tmp_path: Path) -> None:
    with override_settings(METRICS_DIRECTORY=tmp_path / "metrics"):
        call_command("start", "worker")
    ((_, words, variables),) = became
    assert list(words) == [sys.executable, str(PROJECT / "manage.py"), "worker"]
    assert variables["LOCI_DB_POOL"] == "false"
    # That of `up` does.
    assert "config.later" in serving.worker_service("127.0.0.1", 8420).command


def test_what_others_have_counted_is_left(became: list[Become], counts: Path, tmp_path: Path) -> None:
    counts.mkdir(parents=True)
    (counts / "counter_7-7-7.db").write_bytes(b"x")
    with override_settings(METRICS_DIRECTORY=tmp_path / "metrics"):
        call_command("start", "worker")
    assert (counts / "counter_7-7-7.db").exists()


def test_counts_that_cannot_be_shared_are_told(
    became: list[Become], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "metrics").write_text("a file in its place")
    with override_settings(METRICS_DIRECTORY=tmp_path / "metrics"):
        call_command("start", "web")
    assert "LOCI_METRICS_DIR cannot be used" in capsys.readouterr().err
    assert shared_counts.VARIABLE not in became[0][2]


def test_there_is_no_third(became: list[Become]) -> None:
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("start", "database")
    assert became == []


def test_the_embedded_database_needs_no_prepare() -> None:
    with pytest.raises(CommandError, match="DATABASE_URL is not set"):
        call_command("prepare")


def test_a_first_owner_is_made_when_it_is_asked_for(
    db: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("memory.management.commands.prepare.make_ready", lambda say: say("on the way"))
    found = []
    with override_settings(EMBEDDED_DATABASE=False):
        for more in ([], ["--first-owner"], ["--first-owner"]):
            call_command("prepare", "--json", *more)
            found.append(json.loads(capsys.readouterr().out))
        call_command("prepare")
    assert capsys.readouterr().out == "on the way\nAll is ready.\n"
    assert [one["owners"] for one in found] == [0, 1, 1]
    assert found[0]["first_owner"] is found[2]["first_owner"] is None
    made = found[1]["first_owner"]
    assert made["login"] == "owner"
    assert authenticate(made["agent_key"])
    assert User.objects.get().check_password(made["password"])


def test_a_database_that_is_away_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    def away(*args: object, **more: object) -> None:
        raise OperationalError("with the address")

    monkeypatch.setattr("memory.management.commands.prepare.make_ready", away)
    with override_settings(EMBEDDED_DATABASE=False), pytest.raises(CommandError) as refused:
        call_command("prepare")
    assert "DATABASE_URL cannot be used (OperationalError)" in str(refused.value)
    assert "with the address" not in str(refused.value)
