"""The key vault: what opens it, what it refuses, and what is left after destruction."""

from __future__ import annotations

import base64
import json
import secrets
import stat
from pathlib import Path
from uuid import uuid4

import pytest

from memory.crypto.keyring import LIFETIME_SECONDS, Keyring
from memory.errors import KeysUnavailable
from memory.providers.master_key import FILE_NAME, master_key
from memory.providers.vault import CHECK_FILE, DirectoryVault, parse_master_key

MASTER = secrets.token_bytes(32)


@pytest.fixture
def vault(tmp_path: Path) -> DirectoryVault:
    return DirectoryVault(tmp_path / "keys", MASTER)


def test_keys_survive_and_differ(vault: DirectoryVault) -> None:
    one, two = uuid4(), uuid4()
    made = vault.create(one)
    vault.create(two)
    again = DirectoryVault(vault.directory, MASTER)
    assert again.load(one) == made
    assert again.load(two).root != made.root
    assert again.owners() == {one, two}
    assert made.text_version == 1


def test_files_hold_no_key_and_are_private(vault: DirectoryVault) -> None:
    made = vault.create(uuid4())
    for path in vault.directory.rglob("*.json"):
        raw = path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        for secret in (made.root, made.text_seeds[1], MASTER):
            assert secret not in raw
            assert base64.b64encode(secret) not in raw
    assert stat.S_IMODE((vault.directory / "owners").stat().st_mode) == 0o700


def test_another_master_key_is_refused(vault: DirectoryVault) -> None:
    owner = uuid4()
    vault.create(owner)
    other = DirectoryVault(vault.directory, secrets.token_bytes(32))
    with pytest.raises(KeysUnavailable, match="not the one"):
        other.verify()
    with pytest.raises(KeysUnavailable):
        other.load(owner)
    with pytest.raises(KeysUnavailable):
        other.create(uuid4())


def test_an_owner_gets_keys_once(vault: DirectoryVault) -> None:
    owner = uuid4()
    made = vault.create(owner)
    with pytest.raises(KeysUnavailable, match="already"):
        vault.create(owner)
    assert vault.load(owner) == made


def test_keys_of_one_owner_do_not_pass_for_another(vault: DirectoryVault) -> None:
    one, two = uuid4(), uuid4()
    vault.create(one)
    vault.create(two)
    folder = vault.directory / "owners"
    (folder / f"{two}.json").write_bytes((folder / f"{one}.json").read_bytes())
    with pytest.raises(KeysUnavailable, match="do not open"):
        vault.load(two)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1}', '{"format": 2, "root": "", "text": {}}'])
def test_a_damaged_file_is_refused(vault: DirectoryVault, content: str) -> None:
    owner = uuid4()
    vault.create(owner)
    (vault.directory / "owners" / f"{owner}.json").write_text(content)
    with pytest.raises(KeysUnavailable):
        vault.load(owner)


def test_a_vault_with_keys_and_no_check_value_is_refused(vault: DirectoryVault) -> None:
    vault.create(uuid4())
    (vault.directory / CHECK_FILE).unlink()
    with pytest.raises(KeysUnavailable, match="check value"):
        vault.verify()


def test_destroyed_keys_are_gone(vault: DirectoryVault) -> None:
    owner = uuid4()
    vault.create(owner)
    vault.destroy(owner)
    vault.destroy(owner)
    assert vault.owners() == set()
    with pytest.raises(KeysUnavailable):
        vault.load(owner)


def test_a_seed_that_is_gone_takes_its_version_along(vault: DirectoryVault) -> None:
    owner = uuid4()
    vault.create(owner)
    path = vault.directory / "owners" / f"{owner}.json"
    stored = json.loads(path.read_text())
    stored["text"] = {"2": vault._wrap(secrets.token_bytes(32), owner, "text/2")}
    path.write_text(json.dumps(stored))
    keys = vault.load(owner)
    assert keys.text_version == 2
    assert 1 not in keys.text_seeds


def test_the_keyring_asks_again_after_a_while(vault: DirectoryVault) -> None:
    clock = [0.0]
    ring = Keyring(lambda: vault, monotonic=lambda: clock[0])
    owner = uuid4()
    ring.create(owner)
    vault.destroy(owner)
    assert ring.of(owner).word("tea")
    clock[0] = LIFETIME_SECONDS + 1
    with pytest.raises(KeysUnavailable):
        ring.of(owner)


def test_equal_words_of_two_owners_differ(vault: DirectoryVault) -> None:
    ring = Keyring(lambda: vault)
    one, two = ring.create(uuid4()), ring.create(uuid4())
    assert one.word("tea") == one.word("tea")
    assert one.word("tea") != two.word("tea")
    assert one.word("tea") != one.name("tea")
    assert one.words(["tea", "pot"]) == [one.word("tea"), one.word("pot")]
    assert -(2**63) <= one.word("tea") < 2**63


class TestMasterKey:
    def test_it_is_generated_once_and_private(self, tmp_path: Path) -> None:
        config, keys = tmp_path / "config", tmp_path / "keys"
        made = master_key("", config_directory=config, keys_directory=keys)
        assert len(made) == 32
        assert master_key("", config_directory=config, keys_directory=keys) == made
        assert stat.S_IMODE((config / FILE_NAME).stat().st_mode) == 0o600

    def test_it_is_not_made_anew_for_a_used_vault(self, tmp_path: Path) -> None:
        config, keys = tmp_path / "config", tmp_path / "keys"
        DirectoryVault(keys, master_key("", config_directory=config, keys_directory=keys)).verify()
        (config / FILE_NAME).unlink()
        with pytest.raises(KeysUnavailable, match="missing"):
            master_key("", config_directory=config, keys_directory=keys)
        assert not (config / FILE_NAME).exists()

    @pytest.mark.parametrize("form", [bytes.hex, lambda raw: base64.b64encode(raw).decode()])
    def test_both_written_forms(self, form: object) -> None:
        assert parse_master_key(form(MASTER)) == MASTER  # type: ignore[operator]

    @pytest.mark.parametrize("text", ["short", "z" * 64, base64.b64encode(b"x" * 31).decode(), "ü" * 44])
    def test_another_form_is_refused_without_showing_it(self, text: str) -> None:
        with pytest.raises(KeysUnavailable) as caught:
            parse_master_key(text)
        assert text not in str(caught.value)
