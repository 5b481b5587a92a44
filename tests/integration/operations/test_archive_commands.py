"""`memory archive`, `snapshot` and what takes them over: files for one pair of eyes, and clear refusals."""

from __future__ import annotations

import io
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class
from django.core.management.base import OutputWrapper
from django.db import connection

from memory.models import Memory, owner_scope
from memory.services.actors import Actor
from memory.services.archive import snapshot_format
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.settings import change_settings, get_settings

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = "seven quiet herons"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretch passphrases with the least effort that is taken."""
    monkeypatch.setattr(snapshot_format, "LOG_N", snapshot_format.LEAST_LOG_N)


def typed(*arguments: object, stdin: str = "", monkeypatch: pytest.MonkeyPatch | None = None) -> str:
    """Run the command and give what it says."""
    out = io.StringIO()
    if monkeypatch is not None:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
    call_command("memory", *map(str, arguments), stdout=out)
    return out.getvalue()


def answered(*arguments: object, **options: Any) -> Any:
    """Run the command and give its JSON."""
    return json.loads(typed(*arguments, "--json", **options))


def texts(owner: Actor) -> set[str]:
    """Give what an owner's memories say."""
    with owner_scope(owner.owner_id):
        return {row.text for row in Memory.objects.all()}


@pytest.fixture
def two(make_owner: Callable[..., Actor]) -> tuple[Actor, Actor]:
    """Alice with a memory, and Bob without one."""
    alice, bob = make_owner("alice"), make_owner("bob")
    remember(actor=alice, draft=Draft(text="Al drinks tea."))
    return alice, bob


def test_an_archive_goes_from_one_owner_to_another(two: tuple[Actor, Actor], tmp_path: Path) -> None:
    file = tmp_path / "alice.zip"
    said = answered("archive", file, "--owner", "alice")
    assert said == {"file": str(file), "bytes": file.stat().st_size, "unreadable": 0}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    told = typed("archive-import", file, "--owner", "bob")
    assert "1 memories are new, 0 were here" in told
    assert "signed by this installation" in told
    assert "Not taken over:" in told
    assert texts(two[1]) == {"Al drinks tea."}


def test_a_file_that_is_there_is_kept(two: tuple[Actor, Actor], tmp_path: Path) -> None:
    file = tmp_path / "alice.zip"
    file.write_bytes(b"mine")
    for action in ("archive", "snapshot"):
        with pytest.raises(CommandError, match=r"File exists.*file\.unusable"):
            typed(action, file, "--owner", "alice")
    assert file.read_bytes() == b"mine"


def test_a_file_that_is_not_whole_goes_again(
    two: tuple[Actor, Actor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: nothing that looks like an archive stays."""

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        typed("archive", tmp_path / "alice.zip", "--owner", "alice")
    assert list(tmp_path.iterdir()) == []


def test_a_snapshot_with_the_owners_key(two: tuple[Actor, Actor], tmp_path: Path) -> None:
    file = tmp_path / "alice.snapshot"
    typed("snapshot", file, "--owner", "alice")
    # Three bytes would turn up by chance now and then.
    assert b"memories.jsonl" not in file.read_bytes()
    assert answered("snapshot-restore", file, "--owner", "alice")["memories"]["existing"] == 1
    with pytest.raises(CommandError, match="snapshot.key"):
        typed("snapshot-restore", file, "--owner", "bob")


def test_a_snapshot_with_a_passphrase(
    two: tuple[Actor, Actor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "alice.snapshot"
    said = f"{WORDS}\n"
    typed("snapshot", file, "--owner", "alice", "--stdin", stdin=said, monkeypatch=monkeypatch)
    with pytest.raises(CommandError, match="passphrase.required"):
        typed("snapshot-restore", file, "--owner", "bob")
    of_windows = f"{WORDS}\r\n"
    typed("snapshot-restore", file, "--owner", "bob", "--stdin", stdin=of_windows, monkeypatch=monkeypatch)
    assert texts(two[1]) == {"Al drinks tea."}


def test_two_passphrases_that_differ_write_nothing(
    two: tuple[Actor, Actor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter([WORDS, "seven quiet hermits"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("memory.management.archive_actions.getpass", lambda prompt: next(said))
    with pytest.raises(CommandError, match="passphrase.differs"):
        typed("snapshot", tmp_path / "x", "--owner", "alice", "--passphrase")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("action", ["snapshot", "snapshot-restore"])
def test_a_passphrase_is_asked_for_at_a_terminal_only(
    two: tuple[Actor, Actor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    file = tmp_path / "alice.snapshot"
    if action == "snapshot-restore":
        typed("snapshot", file, "--owner", "alice")
    with pytest.raises(CommandError, match=r"no terminal.*--stdin"):
        typed(action, file, "--owner", "alice", "--passphrase", monkeypatch=monkeypatch)
    assert file.exists() == (action == "snapshot-restore")


@pytest.mark.parametrize("action", ["archive-import", "snapshot-restore"])
def test_settings_are_taken_over_when_asked_for(two: tuple[Actor, Actor], tmp_path: Path, action: str) -> None:
    """As it is typed: the framework's own --settings must not take the option's place."""
    file = tmp_path / "file"
    change_settings(actor=two[0], changes={"consolidation": False})
    typed("archive" if action == "archive-import" else "snapshot", file, "--owner", "alice")
    change_settings(actor=two[0], changes={"consolidation": True})
    command = load_command_class("memory", "memory")
    command.stdout = OutputWrapper(io.StringIO())
    for options, taken in (([], True), (["--with-settings"], False)):
        command.run_from_argv(["manage.py", "memory", action, str(file), "--owner", "alice", *options])
        assert get_settings(actor=two[0])["values"]["consolidation"] is taken


def test_an_archive_says_what_did_not_open(two: tuple[Actor, Actor], tmp_path: Path) -> None:
    with owner_scope(two[0].owner_id), connection.cursor() as cursor:
        cursor.execute("UPDATE memory_memory SET text = overlay(text PLACING 'AAAA' FROM 12)")
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("memory", "archive", str(tmp_path / "alice.zip"), "--owner", "alice", stdout=out)
    assert ended.value.code == 3
    assert "1 values did not open" in out.getvalue()
    assert (tmp_path / "alice.zip").exists()


def test_what_is_not_there_or_is_no_archive_is_refused(two: tuple[Actor, Actor], tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"No such file.*file\.unusable"):
        typed("archive-import", tmp_path / "nothing", "--owner", "alice")
    (tmp_path / "other").write_bytes(b"x" * 100)
    with pytest.raises(CommandError, match="archive.damaged"):
        typed("archive-import", tmp_path / "other", "--owner", "alice")
