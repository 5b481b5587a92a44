"""The master key in the keyring of the system: made there, moved there, replaced there, and never shown."""

from __future__ import annotations

import base64
import builtins
import io
import json
import logging
import secrets
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keyring as library
import pytest
from django.core.management import CommandError, call_command
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.backends.null import Keyring as ForgetfulKeyring
from keyring.errors import KeyringLocked

from config import serving
from memory.crypto.keyring import Keyring, install
from memory.errors import KeysUnavailable
from memory.models import Memory, owner_scope
from memory.providers.composition import install_keyring, open_vault, present_master_key
from memory.providers.master_key import FILE_NAME
from memory.providers.system_keyring import SERVICE
from memory.providers.vault_rewrapping import unfinished
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.keys import master
from memory.services.remember import remember

pytestmark = pytest.mark.django_db(transaction=True)


class FileKeyring(KeyringBackend):
    """A keyring of the library's own kind, which keeps its entries in a file."""

    priority = 1

    def __init__(self, path: Path) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.path = path
        self.locked = False

    def entries(self) -> dict[str, str]:
        if self.locked:
            raise KeyringLocked("the entry is 00112233")
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.path.write_text(json.dumps({**self.entries(), f"{service}/{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        entries = self.entries()
        del entries[f"{service}/{username}"]
        self.path.write_text(json.dumps(entries))


class Killed(BaseException):
    """Stands for the death of the process."""


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[FileKeyring]:
    before = library.get_keyring()
    made = FileKeyring(tmp_path / "entries.json")
    library.set_keyring(made)
    yield made
    library.set_keyring(before)


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, settings: Any, backend: FileKeyring) -> Iterator[None]:
    settings.KEYS_DIRECTORY, settings.CONFIG_DIRECTORY = tmp_path / "keys", tmp_path / "config"
    settings.MASTER_KEY = settings.NEW_MASTER_KEY = ""
    settings.MASTER_KEY_SOURCE = "keyring"
    install(Keyring(open_vault))
    yield
    install_keyring()


def said(make_owner: Callable[..., Actor]) -> tuple[Actor, Any]:
    alice = make_owner("alice")
    return alice, remember(actor=alice, draft=Draft(text="Tea.")).memory_id


def reads(memory: tuple[Actor, Any]) -> None:
    install(Keyring(open_vault))
    actor, memory_id = memory
    with owner_scope(actor.owner_id):
        assert Memory.objects.get(pk=memory_id).text == "Tea."


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("keys", *arguments, stdout=out)
    return out.getvalue()


def test_the_first_use_makes_it_there_and_no_file(
    make_owner: Callable[..., Actor], backend: FileKeyring, tmp_path: Path
) -> None:
    memory = said(make_owner)
    [name] = backend.entries()
    check = json.loads((tmp_path / "keys" / "check.json").read_text())["check"]
    assert name == f"{SERVICE}/master-key {check[:16]}"
    assert not (tmp_path / "config").exists()
    assert serving.master_key_file() is None
    reads(memory)
    assert len(backend.entries()) == 1


def test_without_its_entry_nothing_is_made_anew(make_owner: Callable[..., Actor], backend: FileKeyring) -> None:
    memory = said(make_owner)
    before = backend.path.read_text()
    backend.path.write_text("{}")
    with pytest.raises(KeysUnavailable, match="no master key of this key vault"):
        reads(memory)
    assert backend.entries() == {}
    backend.path.write_text(before)
    reads(memory)


def test_two_vaults_of_one_user_have_two_entries(
    make_owner: Callable[..., Actor], backend: FileKeyring, settings: Any, tmp_path: Path
) -> None:
    memory = said(make_owner)
    settings.KEYS_DIRECTORY = tmp_path / "others"
    first, second = present_master_key(), present_master_key()
    assert first == second
    assert len(backend.entries()) == 2
    settings.KEYS_DIRECTORY = tmp_path / "keys"
    reads(memory)


class TestUnusable:
    def test_a_locked_one(self, make_owner: Callable[..., Actor], backend: FileKeyring) -> None:
        memory = said(make_owner)
        backend.locked = True
        with pytest.raises(KeysUnavailable, match="KeyringLocked") as caught:
            reads(memory)
        assert "00112233" not in "".join(traceback.format_exception(caught.value))

    @pytest.mark.parametrize("kind", [NoKeyring, ForgetfulKeyring])
    def test_none_or_one_that_forgets(self, kind: type[KeyringBackend], tmp_path: Path) -> None:
        library.set_keyring(kind())
        with pytest.raises(KeysUnavailable, match="keyring"):
            open_vault()
        assert not (tmp_path / "keys" / "check.json").exists()

    def test_the_library_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = builtins.__import__

        def without(name: str, *rest: Any, **options: Any) -> Any:
            if name == "keyring":
                raise ImportError
            return real(name, *rest, **options)

        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(KeysUnavailable, match=r"requirements/keyring\.txt"):
            open_vault()

    def test_a_key_given_as_well(self, settings: Any) -> None:
        settings.MASTER_KEY = secrets.token_bytes(32).hex()
        for source in ("keyring", "file"):
            settings.MASTER_KEY_SOURCE = source
            with pytest.raises(KeysUnavailable, match=f"LOCI_MASTER_KEY_SOURCE={source}"):
                open_vault()


class TestOtherSources:
    def test_the_environment_alone_makes_no_file(self, settings: Any, tmp_path: Path) -> None:
        settings.MASTER_KEY_SOURCE = "env"
        with pytest.raises(KeysUnavailable, match="LOCI_MASTER_KEY_SOURCE=env"):
            open_vault()
        assert not (tmp_path / "config").exists()
        settings.MASTER_KEY = secrets.token_bytes(32).hex()
        assert open_vault().owners() == set()
        with pytest.raises(CommandError, match="LOCI_NEW_MASTER_KEY_FILE"):
            typed("rotate-master")

    def test_the_file_alone(self, settings: Any, tmp_path: Path) -> None:
        settings.MASTER_KEY_SOURCE = "file"
        open_vault()
        assert (tmp_path / "config" / FILE_NAME).exists()
        settings.NEW_MASTER_KEY = secrets.token_bytes(32).hex()
        with pytest.raises(CommandError, match="LOCI_MASTER_KEY_SOURCE=file"):
            typed("rotate-master")
        settings.NEW_MASTER_KEY = ""
        assert "was replaced; back it up" in typed("rotate-master")


class TestMoving:
    @pytest.fixture
    def memory(self, make_owner: Callable[..., Actor], settings: Any) -> tuple[Actor, Any]:
        settings.MASTER_KEY_SOURCE = "auto"
        return said(make_owner)

    def test_the_generated_file_moves(
        self, memory: tuple[Actor, Any], backend: FileKeyring, settings: Any, tmp_path: Path
    ) -> None:
        path = tmp_path / "config" / FILE_NAME
        key = path.read_text().strip()
        out = typed("to-keyring")
        assert not path.exists()
        assert list(backend.entries().values()) == [key]
        assert "LOCI_MASTER_KEY_SOURCE=keyring" in out
        assert "Back up the keyring" in out
        assert key not in out
        with pytest.raises(KeysUnavailable, match="LOCI_MASTER_KEY_SOURCE=keyring"):
            reads(memory)
        settings.MASTER_KEY_SOURCE = "keyring"
        reads(memory)
        with pytest.raises(CommandError, match="already"):
            typed("to-keyring")

    def test_the_file_can_stay(self, memory: tuple[Actor, Any], settings: Any, tmp_path: Path) -> None:
        moved = json.loads(typed("to-keyring", "--keep-file", "--json"))
        assert moved["file_removed"] is False
        assert (tmp_path / "config" / FILE_NAME).exists()
        settings.MASTER_KEY_SOURCE = "keyring"
        reads(memory)

    def test_a_key_that_does_not_open_the_vault_stays_where_it_is(
        self, memory: tuple[Actor, Any], backend: FileKeyring, tmp_path: Path
    ) -> None:
        path = tmp_path / "config" / FILE_NAME
        path.write_text(secrets.token_bytes(32).hex())
        with pytest.raises(CommandError, match="not the one"):
            typed("to-keyring")
        assert path.exists()
        assert backend.entries() == {}

    @pytest.mark.parametrize("kind", [NoKeyring, ForgetfulKeyring])
    def test_it_stays_where_the_keyring_does_not_keep_it(
        self, memory: tuple[Actor, Any], kind: type[KeyringBackend], tmp_path: Path
    ) -> None:
        library.set_keyring(kind())
        with pytest.raises(CommandError, match="keyring"):
            typed("to-keyring")
        assert (tmp_path / "config" / FILE_NAME).exists()
        reads(memory)

    def test_a_key_of_the_environment_is_copied(
        self, memory: tuple[Actor, Any], backend: FileKeyring, settings: Any, tmp_path: Path
    ) -> None:
        settings.MASTER_KEY = (tmp_path / "config" / FILE_NAME).read_text()
        assert "Remove LOCI_MASTER_KEY" in typed("to-keyring")
        assert (tmp_path / "config" / FILE_NAME).exists()
        settings.MASTER_KEY, settings.MASTER_KEY_SOURCE = "", "keyring"
        reads(memory)

    def test_not_while_another_key_is_being_put_in_charge(
        self, memory: tuple[Actor, Any], backend: FileKeyring, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        interrupted(monkeypatch, "memory.providers.vault_rewrapping._hand_over")
        with pytest.raises(CommandError, match="rotate-master"):
            typed("to-keyring")
        assert backend.entries() == {}

    def test_an_empty_vault_has_none(self, settings: Any, tmp_path: Path) -> None:
        settings.MASTER_KEY_SOURCE, settings.KEYS_DIRECTORY = "auto", tmp_path / "new"
        with pytest.raises(CommandError, match="empty"):
            typed("to-keyring")
        assert not (tmp_path / "config").exists()


class TestReplacing:
    def test_a_new_one_takes_its_place(
        self, make_owner: Callable[..., Actor], backend: FileKeyring, tmp_path: Path
    ) -> None:
        memory = said(make_owner)
        before = backend.entries()
        out = typed("rotate-master")
        assert "keyring" in out
        assert len(backend.entries()) == 1
        assert backend.entries().keys().isdisjoint(before)
        assert not (tmp_path / "config").exists()
        reads(memory)

    def test_a_given_one_too(self, make_owner: Callable[..., Actor], backend: FileKeyring, settings: Any) -> None:
        memory = said(make_owner)
        settings.NEW_MASTER_KEY = secrets.token_bytes(32).hex()
        typed("rotate-master")
        assert list(backend.entries().values()) == [encoded(settings.NEW_MASTER_KEY)]
        reads(memory)
        with pytest.raises(CommandError, match="in charge already"):
            typed("rotate-master")

    @pytest.mark.parametrize(
        "step",
        [
            "memory.providers.system_keyring.store",
            "memory.services.keys.master.rewrap",
            "memory.providers.vault_rewrapping._wrap_twice",
            "memory.providers.vault_rewrapping._hand_over",
            "memory.providers.vault_rewrapping.finish",
            "memory.providers.system_keyring.remove",
        ],
    )
    def test_killed_before_any_step_it_opens_and_is_finished_by_the_next_call(
        self, make_owner: Callable[..., Actor], monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        memory = said(make_owner)
        interrupted(monkeypatch, step)
        reads(memory)
        master.replace_master_key()
        assert not unfinished(open_vault())  # type: ignore[arg-type]
        reads(memory)

    def test_an_interrupted_one_can_be_given_up(
        self, make_owner: Callable[..., Actor], backend: FileKeyring, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = said(make_owner)
        before = backend.entries()
        interrupted(monkeypatch, "memory.providers.vault_rewrapping._hand_over")
        assert len(backend.entries()) == 2
        typed("rotate-master", "--abandon")
        assert backend.entries() == before
        reads(memory)


def interrupted(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def die(*arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(step, die)
        with pytest.raises(Killed):
            master.replace_master_key()


def encoded(key: str) -> str:
    return base64.b64encode(bytes.fromhex(key)).decode()


def test_no_key_is_logged_shown_or_left_in_what_is_given_back(
    make_owner: Callable[..., Actor], backend: FileKeyring, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Every form of every key, in every log line, answer, repr and error of the whole way."""
    shown: list[str] = []
    caplog.set_level(logging.DEBUG)
    settings.MASTER_KEY_SOURCE = "auto"
    memory = said(make_owner)
    keys = [bytes(present_master_key())]
    shown.append(typed("to-keyring", "--json"))
    settings.MASTER_KEY_SOURCE = "keyring"
    shown.append(typed("rotate-master"))
    keys.append(bytes(present_master_key()))
    reads(memory)
    vault = open_vault()
    shown += [repr(vault), str(vars(vault)), typed("status"), typed("verify")]
    shown += [repr(vault.load(memory[0].owner_id)), str(vars(vault.wrapping))]  # type: ignore[attr-defined]
    for damage in ("backend.locked", "not a key"):
        backend.locked = damage == "backend.locked"
        if not backend.locked:
            backend.path.write_text(json.dumps(dict.fromkeys(backend.entries(), f"{keys[1].hex()}00")))
        with pytest.raises(KeysUnavailable) as caught:
            open_vault()
        shown += traceback.format_exception(caught.value)
    text = "\n".join([*shown, caplog.text, *(repr(record.__dict__) for record in caplog.records)])
    assert keys[0] != keys[1]
    for key in keys:
        for form in (key.hex(), base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode(), repr(key)):
            assert form.strip("=") not in text


def test_a_key_is_overwritten_once_the_vault_has_what_it_needs(
    make_owner: Callable[..., Actor], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[bytearray] = []
    real = present_master_key

    def watched() -> bytearray:
        given.append(real())
        return given[-1]

    monkeypatch.setattr("memory.providers.composition.present_master_key", watched)
    monkeypatch.setattr("memory.services.keys.master.present_master_key", watched)
    memory = said(make_owner)
    typed("rotate-master")
    reads(memory)
    assert len(given) >= 3
    assert all(key == bytes(32) for key in given)
