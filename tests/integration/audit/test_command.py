"""`manage.py audit`: what it says, and how it ends when something is not as it was sealed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memory.crypto.signing import signer
from memory.models import Owner, owner_scope
from memory.services.actors import Actor
from memory.services.audit.recording import record
from memory.services.audit.retiring import retire
from memory.services.audit.sealing import pseudonym_of, seal_all
from tests.integration.audit.events import NOW, add, as_the_tables_owner, sealed_chain


def audit(*arguments: str) -> str:
    out = io.StringIO()
    call_command("audit", *arguments, stdout=out)
    return out.getvalue()


def verdict(*arguments: str) -> dict[str, Any]:
    """Verify and give what was said, whether or not the command has failed."""
    out = io.StringIO()
    try:
        call_command("audit", "verify", "--json", *arguments, stdout=out)
        failed = False
    except CommandError as error:
        assert error.returncode == 1
        failed = True
    said: dict[str, Any] = json.loads(out.getvalue())
    assert said["sound"] != failed
    return said


@pytest.fixture
def heads(alice: Actor, mallory: Actor, tmp_path: Path) -> Path:
    """Two owners' chains, and a file of where they ended."""
    for owner in (alice, mallory):
        sealed_chain(owner.owner_id, ("login",), ("erase", "read"))
    file = tmp_path / "heads.json"
    file.write_text(audit("heads"))
    return file


def test_sound_chains(alice: Actor, heads: Path) -> None:
    add(alice.owner_id, "login")
    said = verdict("--against", str(heads))
    assert [(one["seals"], one["acts"], one["reads"], one["unsealed"]) for one in said["chains"]] == [
        (2, 2, 1, 1),
        (2, 2, 1, 0),
    ]
    assert said["findings"] == []
    lines = audit("verify", "--owner", "alice").splitlines()
    assert len(lines) == 1
    assert lines[0].endswith(": sound; 2 seals over 2 acts and 1 read, 1 event not sealed yet")


def test_nothing_recorded(alice: Actor) -> None:
    assert audit("verify") == audit("show") == "Nothing was recorded yet.\n"
    assert json.loads(audit("heads", "--json"))["heads"] == {}


def test_a_chain_of_somebody_who_was_purged(alice: Actor, mallory: Actor, heads: Path) -> None:
    chain = str(pseudonym_of(alice.owner_id))
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=NOW)
    assert len(verdict("--against", str(heads))["chains"]) == 1, "its chain is on its way"
    retire(alice.owner_id)
    said = verdict("--against", str(heads))
    assert [(one["chain"], one["purged"]) for one in said["chains"]] == [
        (str(pseudonym_of(mallory.owner_id)), False),
        (chain, True),
    ]
    assert [one["code"] for one in said["findings"]] == ["chain.not_purged"], "it was moved by hand"
    assert json.loads(audit("heads"))["heads"].keys() == {one["chain"] for one in said["chains"]}


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_what_was_tampered_with_is_listed(alice: Actor, mallory: Actor, heads: Path) -> None:
    with as_the_tables_owner(alice.owner_id) as cursor:
        cursor.execute("UPDATE memory_auditevent SET count = 5 WHERE verb = 'erase'")
    with as_the_tables_owner(mallory.owner_id) as cursor:
        cursor.execute("DELETE FROM memory_auditevent WHERE sealed_in = 2")
        cursor.execute("DELETE FROM memory_auditseal WHERE number = 2")
    assert [one["code"] for one in verdict()["findings"]] == ["acts.changed"]
    found = verdict("--against", str(heads))["findings"]
    assert {(one["chain"], one["code"], one["seal"]) for one in found} == {
        (str(pseudonym_of(alice.owner_id)), "acts.changed", 2),
        (str(pseudonym_of(mallory.owner_id)), "head.missing", 2),
    }
    assert verdict("--owner", "mallory")["sound"]
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 thing is not as it was sealed"):
        call_command("audit", "verify", "--owner", "alice", stdout=out)
    assert "acts.changed" in out.getvalue()


def test_another_key(alice: Actor, heads: Path) -> None:
    own = signer().public_key.hex()
    assert json.loads(heads.read_text())["public_key"] == own
    assert verdict("--public-key", own, "--against", str(heads))["sound"]
    assert {one["code"] for one in verdict("--public-key", "ab" * 32)["findings"]} == {"seal.signature"}


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "heads.unreadable"), ("{", "heads.invalid"), ("[" * 100_000, "heads.invalid"), ("{}", "heads.invalid")],
    ids=["missing", "cut", "deep", "empty"],
)
def test_files_that_are_no_heads(db: None, tmp_path: Path, content: str | None, code: str) -> None:
    file = tmp_path / "heads.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CommandError, match=code):
        audit("verify", "--against", str(file))


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "--public-key", "xyz"],
        ["verify", "--public-key", "ab"],
        ["show", "--limit", "0"],
        ["show", "--limit", "many"],
        ["show", "--limit", "10001"],
        ["show", "--owner", "nobody"],
        ["verify", "--owner", "nobody"],
    ],
    ids=" ".join,
)
def test_wrong_usage(alice: Actor, arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        audit(*arguments)


def test_showing(alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    agent, _ = make_agent(alice)
    with owner_scope(alice.owner_id):
        record(actor=agent.label, verb="read", object_kind="recall", reason="rest", count=3, at=NOW)
    seal_all(at=NOW)
    add(mallory.owner_id, "login")
    with pytest.raises(CommandError, match=r"account\.ambiguous"):
        audit("show")
    shown = audit("show", "--owner", "alice")
    assert "2026-11-30 12:00:00  read recall × 3  -  by assistant  rest\n" in shown
    assert "create key" in shown
    [newest] = json.loads(audit("show", "--owner", "alice", "--limit", "1", "--json"))["events"]
    assert newest["seal"] == 1
    assert len(json.loads(audit("show", "--owner", "alice", "--json"))["events"]) == 3
