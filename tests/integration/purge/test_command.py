"""`manage.py purge` as an operator uses it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command, load_command_class

from memory.crypto.signing import signer
from memory.models import Agent, Memory, Owner, Purge, owner_scope
from memory.providers.ledger_directory import FILE
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("purge", *arguments, stdout=out)
    return out.getvalue()


def answered(*arguments: str) -> Any:
    return json.loads(typed(*arguments, "--json"))


def stored(actor: Actor, text: str, **fields: Any) -> UUID:
    return remember(actor=actor, draft=Draft(text=text, **fields)).memory_id


def texts(owner: Actor) -> set[str]:
    with owner_scope(owner.owner_id):
        return {row.text for row in Memory.objects.all()}


def test_one_memory_from_preview_to_receipt(alice: Actor, tmp_path: Path) -> None:
    doomed = stored(alice, "Gone.")
    stored(alice, "Kept.")
    assert typed("preview", "--memory", str(doomed)) == "memories: 1\n"
    assert len(texts(alice)) == 2
    done = answered("run", "--memory", str(doomed), "--yes", "--wait")
    assert (done["state"], done["erased"]) == ("done", {"memories": 1})
    assert len(done["token"]) > 40
    assert texts(alice) == {"Kept."}
    assert done["token"] not in typed("status")
    receipt = typed("receipt", done["id"])
    assert json.loads(receipt)["erased"] == {"memories": 1}
    file = tmp_path / "receipt.json"
    file.write_text(receipt)
    assert typed("verify", str(file)) == "The receipt stands as it was signed.\n"
    for key in (signer().public_key.hex(), json.loads(receipt)["key"]["public"]):
        assert "stands" in typed("verify", str(file), "--public-key", key)
    file.write_text(receipt.replace('"memories": 1', '"memories": 2'))
    with pytest.raises(SystemExit) as ended:
        typed("verify", str(file))
    assert ended.value.code == 3
    file.write_text(receipt)
    with pytest.raises(SystemExit):
        typed("verify", str(file), "--public-key", "00" * 32)


def test_a_worker_or_resume_does_what_is_asked_for_without_waiting(alice: Actor) -> None:
    stored(alice, "Gone.", source="user:al")
    asked = answered("run", "--source", "user:al", "--yes")
    assert asked["state"] == "waiting"
    assert texts(alice) == {"Gone."}
    assert "A worker does it" in typed("status", asked["id"])
    assert answered("resume", asked["id"])["state"] == "done"
    assert texts(alice) == set()
    assert answered("resume", asked["id"])["state"] == "done", "a second time changes nothing"


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_a_whole_owner_has_to_be_named(alice: Actor, mallory: Actor) -> None:
    stored(alice, "Gone.")
    with pytest.raises(CommandError, match=r"--owner LOGIN"):
        typed("run", "--yes", "--wait")
    assert answered("preview", "--owner", "alice")["counts"]["memories"] == 1
    done = answered("run", "--owner", "alice", "--yes", "--wait")
    assert (done["subject"], done["state"]) == ("owner", "done")
    assert list(Owner.objects.values_list("pk", flat=True)) == [mallory.owner_id]
    assert json.loads(typed("receipt", done["id"]))["purge"]["subject"] == "owner"


def test_an_agent_by_name(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    agent, _ = make_agent(alice, "clerk")
    stored(agent, "By the clerk.")
    assert answered("run", "--agent", "clerk", "--yes", "--wait")["erased"]["agents"] == 1
    with owner_scope(alice.owner_id):
        assert not Agent.objects.exists()
    with pytest.raises(CommandError, match="no agent of this name or id"):
        typed("run", "--agent", "clerk", "--yes")


def test_nothing_is_erased_unasked(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    doomed = stored(alice, "Kept.")
    with pytest.raises(CommandError, match="--yes"):
        typed("run", "--memory", str(doomed))

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for said, arguments in (("no\n", ["--memory", str(doomed)]), ("yes\n", ["--owner", "alice"])):
        monkeypatch.setattr("sys.stdin", Terminal(said))
        with pytest.raises(CommandError, match="Nothing was erased"):
            typed("run", *arguments)
    assert not Purge.objects.exists()
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert "waiting" in typed("run", "--memory", str(doomed))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--memory", "x", "--yes"], "takes an id"),
        (["run", "--memory", "0190aaaa-0000-7000-8000-000000000000", "--yes"], "not here"),
        (["run", "--source", "/", "--yes"], "names no source"),
        (["run", "--owner", "nobody", "--yes"], "no such owner"),
        (["run", "--owner", "alice", "--seal", "--yes"], "--seal"),
        (["status", "0190aaaa-0000-7000-8000-000000000000"], "no such purge"),
        (["resume", "0190aaaa-0000-7000-8000-000000000000"], "no such purge"),
        (["receipt", "0190aaaa-0000-7000-8000-000000000000"], "no such purge"),
        (["verify", "/nonexistent/receipt.json"], "cannot be read"),
        (["verify", "pyproject.toml"], "no JSON"),
        (["verify", "x", "--public-key", "abc"], "64 hex digits"),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, list) else "",
)
def test_what_cannot_be_meant_is_refused(alice: Actor, arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        typed(*arguments)
    assert not Purge.objects.exists()


def test_a_receipt_needs_a_purge_that_is_done(alice: Actor) -> None:
    asked = answered("run", "--memory", str(stored(alice, "Waiting.")), "--yes")
    with pytest.raises(CommandError, match="not done"):
        typed("receipt", asked["id"])


def test_status_of_nothing_and_replay_of_nothing(db: None, settings: Any, tmp_path: Path) -> None:
    settings.KEYS_DIRECTORY = tmp_path
    assert typed("status") == "There are no purges.\n"
    assert typed("replay") == "Erased again what the purge ledger names: nothing.\n"


def test_a_failed_purge_catches_the_eye(alice: Actor) -> None:
    asked = answered("run", "--memory", str(stored(alice, "Stuck.")), "--yes")
    Purge.objects.filter(pk=asked["id"]).update(error_code="keys.unavailable")
    with pytest.raises(SystemExit) as ended:
        typed("status")
    assert ended.value.code == 3


def test_help_names_every_action() -> None:
    parser = load_command_class("memory", "purge").create_parser("manage.py", "purge")
    text = parser.format_help()
    for action in ("preview", "run", "status", "resume", "receipt", "verify", "replay"):
        assert action in text


def test_a_damaged_ledger_is_told_before_anything_is_asked_for(alice: Actor, settings: Any, tmp_path: Path) -> None:
    doomed = stored(alice, "Stays.")
    # A ledger of its own; the keys stay with the vault that is open.
    settings.KEYS_DIRECTORY = tmp_path
    (tmp_path / FILE).write_text("no entry\n")
    with pytest.raises(CommandError, match=r"Line 1 of the purge ledger is damaged.*keep all others"):
        typed("run", "--memory", str(doomed), "--yes")
    assert not Purge.objects.exists()
    assert texts(alice) == {"Stays."}
