"""`keys`: what an operator types, its answers and exit codes, and the change of the master key by its places."""

from __future__ import annotations

import base64
import io
import json
import secrets
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memory.crypto.keyring import Keyring, install, keyring
from memory.crypto.signing import fingerprint, signer
from memory.errors import KeysUnavailable
from memory.models import DueWork, Memory, owner_scope
from memory.providers.composition import install_keyring, open_vault
from memory.providers.master_key import FILE_NAME
from memory.providers.vault_directory import DirectoryVault
from memory.providers.vault_rewrapping import unfinished
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.keys import master, rotation
from memory.services.keys.verification import TableCheck, verify_owner
from memory.services.remember import remember
from tests.environment import PROJECT
from tests.integration.keys.filled import filled

pytestmark = pytest.mark.django_db(transaction=True)


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("keys", *arguments, stdout=out)
    return out.getvalue()


def answered(*arguments: str) -> Any:
    return json.loads(typed(*arguments, "--json"))


def damage(actor: Actor, statement: str) -> None:
    with owner_scope(actor.owner_id), connection.cursor() as cursor:
        cursor.execute(statement)


BREAK_TEXT = "UPDATE memory_memory SET text = overlay(text PLACING 'AAAA' FROM 12)"


class TestStatusAndRotate:
    def test_status_rotate_and_seal_now(self, alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rotation, "SETTLING", timedelta(0))
        remember(actor=alice, draft=Draft(text="Tea."))
        found = answered("status", "--owner", "alice")
        public = signer().public_key
        assert found["signing"] == {"public_key": public.hex(), "fingerprint": fingerprint(public)}
        assert public.hex() in typed("status")
        (status,) = found["owners"]
        assert (status["login"], status["overdue"], status["waiting"]) == ("alice", False, {})
        assert [one["version"] for one in status["versions"]] == [1]
        assert answered("rotate", "--owner", "alice")["owners"][0]["version"] == 2
        assert DueWork.objects.get(job=DueWork.REKEY).owner_id == alice.owner_id
        assert answered("status", "--owner", "alice")["owners"][0]["waiting"]["memory_memory"] == 1
        assert "1 rows of memory_memory wait" in typed("status")
        assert "former versions destroyed" in typed("rotate", "--owner", "alice", "--now")
        (status,) = answered("status", "--owner", "alice")["owners"]
        assert [one["version"] for one in status["versions"]] == [3]
        assert len(answered("status")["owners"]) == 2

    def test_an_overdue_rotation_ends_with_three(self, alice: Actor) -> None:
        vault = keyring().vault
        assert isinstance(vault, DirectoryVault)
        keys = vault.load(alice.owner_id)
        entry = vault.entry_of(alice.owner_id, keys)
        vault.replace(alice.owner_id, {**entry, "made": {"1": "2020-01-01T00:00:00+00:00"}})
        with pytest.raises(SystemExit) as ended:
            typed("status")
        assert ended.value.code == 3

    def test_wrong_usage_is_told(self, alice: Actor) -> None:
        with pytest.raises(CommandError, match="--now"):
            typed("rotate", "--despite-damage")
        with pytest.raises(CommandError, match="no such owner"):
            typed("status", "--owner", "nobody")
        with pytest.raises(CommandError, match="--sample"):
            typed("verify", "--sample", "0")


class TestVerify:
    def test_everything_opens(self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
        filled(alice, make_agent(alice)[0])
        found = answered("verify", "--all")
        assert found["opens"]
        read = {check["table"]: check["read"] for check in found["owners"][0]["tables"]}
        assert read["memory_memory"] == read["memory_tokenvectors"] == 4
        assert len(read) >= 12
        assert "rows open" in typed("verify")

    @pytest.mark.parametrize(
        ("statement", "table", "closed"),
        [
            (BREAK_TEXT + " WHERE status = 'archived'", "memory_memory", 1),
            ("UPDATE memory_memory SET text = 'plain' WHERE status = 'archived'", "memory_memory", 1),
            ("UPDATE memory_memory a SET text = b.text FROM memory_memory b WHERE a.id <> b.id", "memory_memory", 4),
            (
                "UPDATE memory_tokenvectors SET sealed = overlay(sealed PLACING '\\x00'::bytea FROM 20)",
                "memory_tokenvectors",
                4,
            ),
            ("UPDATE memory_memory SET visibility = 'owner' WHERE visibility = 'agent'", "memory_memory", 1),
        ],
        ids=["damaged", "unsealed", "moved", "token vectors", "another reader"],
    )
    def test_what_does_not_open_is_counted_and_not_shown(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]], statement: str, table: str, closed: int
    ) -> None:
        filled(alice, make_agent(alice)[0])
        damage(alice, statement)
        checks = {check.table: check for check in verify_owner(owner_id=alice.owner_id, sample=None)}
        assert checks[table] == TableCheck(table, 4, closed)
        out = io.StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("keys", "verify", "--all", stdout=out)
        assert ended.value.code == 3
        assert f"{closed} of 4 rows of {table} do not open" in out.getvalue()
        assert "Rome" not in out.getvalue()

    def test_a_sample_reads_so_many_and_all_reads_beyond_a_batch(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number in range(7):
            remember(actor=alice, draft=Draft(text=f"Note {number}."))
        sampled = {check.table: check.read for check in verify_owner(owner_id=alice.owner_id, sample=3)}
        assert sampled["memory_memory"] == 3
        monkeypatch.setattr("memory.services.keys.verification.BATCH", 2)
        whole = {check.table: check.read for check in verify_owner(owner_id=alice.owner_id, sample=None)}
        assert whole["memory_memory"] == 7

    def test_an_owner_without_keys_is_told(self, alice: Actor, mallory: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Tea."))
        keyring().destroy(mallory.owner_id)
        out = io.StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("keys", "verify", "--json", stdout=out)
        assert ended.value.code == 3
        errors = {one["owner_id"]: one["error"] for one in json.loads(out.getvalue())["owners"]}
        assert errors == {str(alice.owner_id): "", str(mallory.owner_id): "keys.unavailable"}


@contextmanager
def another_up() -> Iterator[None]:
    """Have another process hold what `up` holds while it runs."""
    code = (
        "from runtime.instance import only_instance\nfrom runtime.paths import data_directory\n"
        "with only_instance(data_directory()):\n    print('held', flush=True)\n    input()\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.stdin.write("\n")


class Killed(BaseException):
    """Stands for the death of the process."""


class TestMaster:
    @pytest.fixture(autouse=True)
    def _own_places(self, tmp_path: Path, settings: Any, request: pytest.FixtureRequest) -> Iterator[None]:
        """Give the vault and the generated master key directories of this test."""
        settings.KEYS_DIRECTORY, settings.CONFIG_DIRECTORY = tmp_path / "keys", tmp_path / "config"
        settings.MASTER_KEY = settings.NEW_MASTER_KEY = ""
        install(Keyring(open_vault))
        yield
        install_keyring()

    @pytest.fixture
    def memory(self, _own_places: None, make_owner: Callable[..., Actor]) -> tuple[Actor, Any]:
        alice = make_owner("alice")
        return alice, remember(actor=alice, draft=Draft(text="Tea.")).memory_id

    def reads(self, memory: tuple[Actor, Any]) -> None:
        install(Keyring(open_vault))
        actor, memory_id = memory
        with owner_scope(actor.owner_id):
            assert Memory.objects.get(pk=memory_id).text == "Tea."

    def test_the_generated_file_is_replaced(self, memory: tuple[Actor, Any], tmp_path: Path) -> None:
        path = tmp_path / "config" / FILE_NAME
        old = path.read_text()
        made = answered("rotate-master")
        assert (made["entries"], made["file_replaced"]) == (1, True)
        assert path.read_text() != old
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert [found.name for found in path.parent.iterdir()] == [FILE_NAME]
        self.reads(memory)
        path.write_text(old)
        with pytest.raises(KeysUnavailable, match="not the one"):
            self.reads(memory)

    def test_not_while_up_runs(self, memory: tuple[Actor, Any], tmp_path: Path) -> None:
        path = tmp_path / "config" / FILE_NAME
        old = path.read_text()
        with another_up():
            with pytest.raises(CommandError, match="Stop that process first"):
                typed("rotate-master")
            assert path.read_text() == old
            self.reads(memory)
            running = keyring().vault
            assert answered("rotate-master", "--force")["file_replaced"] is True
            with pytest.raises(KeysUnavailable, match="restart every process"):
                running.load(memory[0].owner_id)
            with pytest.raises(KeysUnavailable, match="restart every process"):
                running.verify()
        self.reads(memory)

    @pytest.mark.parametrize("step", ["rewrap", "finish", "_put_in_place"])
    def test_killed_before_any_step_it_is_finished_by_the_next_call(
        self, memory: tuple[Actor, Any], monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        def die(*arguments: object) -> None:
            raise Killed

        with monkeypatch.context() as patched:
            module = "memory.services.keys.master" if step != "finish" else "memory.providers.vault_rewrapping"
            patched.setattr(f"{module}.{step}", die)
            with pytest.raises(Killed):
                master.replace_master_key()
        master.replace_master_key()
        assert not unfinished(open_vault())  # type: ignore[arg-type]
        self.reads(memory)

    def test_the_new_key_comes_from_its_setting(self, memory: tuple[Actor, Any], settings: Any, tmp_path: Path) -> None:
        new = base64.b64encode(secrets.token_bytes(32)).decode()
        settings.NEW_MASTER_KEY = new
        assert "LOCI_MASTER_KEY_FILE" in typed("rotate-master")
        with pytest.raises(KeysUnavailable, match="not the one"):
            self.reads(memory)
        settings.MASTER_KEY = new
        self.reads(memory)
        with pytest.raises(CommandError, match="in charge already"):
            typed("rotate-master")

    def test_unusable_keys_change_nothing(self, memory: tuple[Actor, Any], settings: Any, tmp_path: Path) -> None:
        settings.NEW_MASTER_KEY = "too short"
        with pytest.raises(CommandError, match="32 bytes"):
            typed("rotate-master")
        settings.NEW_MASTER_KEY = ""
        settings.MASTER_KEY = secrets.token_bytes(32).hex()
        with pytest.raises(CommandError, match="LOCI_NEW_MASTER_KEY_FILE"):
            typed("rotate-master")
        settings.NEW_MASTER_KEY = secrets.token_bytes(32).hex()
        with pytest.raises(CommandError, match="not the one"):
            typed("rotate-master")
        settings.MASTER_KEY = settings.NEW_MASTER_KEY = ""
        self.reads(memory)
        path = tmp_path / "config" / FILE_NAME
        right = path.read_text()
        path.write_text(secrets.token_bytes(32).hex())
        with pytest.raises(CommandError, match="not the one"):
            typed("rotate-master")
        assert not (tmp_path / "config" / master.STAGED_NAME).exists()
        path.write_text(right)
        self.reads(memory)

    def test_an_interrupted_change_can_be_given_up(
        self, memory: tuple[Actor, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def die(*arguments: object) -> None:
            raise Killed

        with monkeypatch.context() as patched:
            patched.setattr("memory.providers.vault_rewrapping._hand_over", die)
            with pytest.raises(Killed):
                master.replace_master_key()
        assert unfinished(open_vault())  # type: ignore[arg-type]
        self.reads(memory)
        assert answered("rotate-master", "--abandon")["entries"] == 1
        assert not (tmp_path / "config" / master.STAGED_NAME).exists()
        self.reads(memory)
