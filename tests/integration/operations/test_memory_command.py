"""`memory`: what an operator forgets, and what brings it back."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class

from memory.models import Memory, Status, owner_scope
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("memory", *arguments, stdout=out)
    return out.getvalue()


def answered(*arguments: str) -> Any:
    return json.loads(typed(*arguments, "--json"))


def live(owner: Actor) -> set[str]:
    with owner_scope(owner.owner_id):
        return {row.text for row in Memory.objects.filter(status=Status.LIVE)}


@pytest.fixture
def three(alice: Actor) -> Actor:
    """Alice with three memories of three sources."""
    for source in ("user:al", "user:al/chat", "user:alice"):
        remember(actor=alice, draft=Draft(text=f"from {source}", source=source, tier="episodic"))
    return alice


def test_by_source_counted_first_then_archived_then_back(three: Actor) -> None:
    would = typed("purge", "--forget-provenance", "user:al", "--dry-run")
    assert "2 memories would be archived: 0 expired, 0 faded, 2 by source" in would
    assert "restore" not in would
    assert len(live(three)) == 3
    did = answered("purge", "--forget-provenance", "user:al")
    assert (did["provenance"], did["dry_run"]) == (2, False)
    assert live(three) == {"from user:alice"}
    assert typed("restore", did["id"]) == "2 memories and 0 relations are back.\n"
    assert len(live(three)) == 3


def test_by_age_and_salience(three: Actor) -> None:
    assert answered("purge", "--decay-days", "0")["decayed"] == 0
    assert answered("purge", "--decay-days", "0", "--salience-floor", "0.6")["decayed"] == 3


def test_erasing(three: Actor) -> None:
    assert "1 memories were erased" in typed("purge", "--forget-provenance", "user:alice", "--erase")
    with owner_scope(three.owner_id):
        assert Memory.objects.count() == 2


def test_expired_ones_when_nothing_is_named(three: Actor) -> None:
    assert typed("purge").startswith("0 memories were archived: 0 expired")
    with owner_scope(three.owner_id):
        Memory.objects.update(expires_at="2020-01-01T00:00:00Z")
    assert typed("purge", "--decay-days", "90").startswith("0 memories")
    assert typed("purge", "--expired", "--dry-run").startswith("3 memories would be archived: 3 expired")
    assert answered("purge")["expired"] == 3


def test_an_owner_is_named_where_there_are_several(three: Actor, make_owner: Callable[..., Actor]) -> None:
    make_owner("bob")
    with pytest.raises(CommandError, match="--owner LOGIN"):
        typed("purge", "--forget-provenance", "user:al")
    assert answered("purge", "--forget-provenance", "user:al", "--owner", "bob")["provenance"] == 0
    assert answered("purge", "--forget-provenance", "user:al", "--owner", "alice")["provenance"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["purge", "--forget-provenance", ""],
        ["purge", "--salience-floor", "0.1"],
        ["restore", "0190aaaa-0000-7000-8000-000000000000"],
    ],
)
def test_errors_end_with_1(three: Actor, arguments: list[str]) -> None:
    with pytest.raises(CommandError) as raised:
        typed(*arguments)
    assert raised.value.returncode == 1
    assert len(live(three)) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["forget"],
        ["purge", "--decay-days", "-1"],
        ["purge", "--decay-days", "soon"],
        ["purge", "--decay-days", "nan"],
        ["purge", "--decay-days", "90", "--salience-floor", "2"],
        ["restore", "x"],
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = load_command_class("memory", "memory")
    with pytest.raises(SystemExit) as raised:
        command.run_from_argv(["manage.py", "memory", *arguments])
    assert raised.value.code == 2
    assert "usage:" in capsys.readouterr().err
