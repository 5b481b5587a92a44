"""What is special to the vault's files and to the master key."""

from __future__ import annotations

import base64
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from memory.crypto.keyring import Keyring
from memory.errors import KeysUnavailable
from memory.providers.master_key import FILE_NAME, master_key
from memory.providers.vault import parse_master_key
from memory.providers.vault_directory import DirectoryVault

MASTER = secrets.token_bytes(32)


def test_files_are_private(tmp_path: Path) -> None:
    vault = DirectoryVault(tmp_path / "keys", MASTER)
    vault.create(uuid4())
    for path in vault.directory.rglob("*.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((vault.directory / "owners").stat().st_mode) == 0o700


@pytest.mark.parametrize("content", ["", "[]", "nonsense", "\x00"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: str) -> None:
    vault = DirectoryVault(tmp_path / "keys", MASTER)
    owner = uuid4()
    vault.create(owner)
    (vault.directory / "owners" / f"{owner}.json").write_text(content)
    with pytest.raises(KeysUnavailable):
        vault.load(owner)


def test_equal_words_of_two_owners_differ(tmp_path: Path) -> None:
    ring = Keyring(lambda: DirectoryVault(tmp_path / "keys", MASTER))
    one, two = ring.create(uuid4()), ring.create(uuid4())
    assert one.word("tea") == one.word("tea")
    assert one.word("tea") != two.word("tea")
    assert one.word("tea") != one.name("tea")
    assert one.words(["tea", "pot"]) == [one.word("tea"), one.word("pot")]
    assert -(2**63) <= one.word("tea") < 2**63


class TestMasterKey:
    def test_it_is_generated_once_and_private(self, tmp_path: Path) -> None:
        made = master_key("", config_directory=tmp_path, used_before=lambda: False)
        assert len(made) == 32
        assert master_key("", config_directory=tmp_path, used_before=lambda: True) == made
        assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600

    def test_it_is_not_made_anew_for_a_used_vault(self, tmp_path: Path) -> None:
        with pytest.raises(KeysUnavailable, match="missing"):
            master_key("", config_directory=tmp_path, used_before=lambda: True)
        assert not (tmp_path / FILE_NAME).exists()

    @pytest.mark.parametrize("form", [bytes.hex, lambda raw: base64.b64encode(raw).decode()])
    def test_both_written_forms(self, form: Callable[[bytes], str]) -> None:
        assert parse_master_key(form(MASTER)) == MASTER

    @pytest.mark.parametrize("text", ["short", "z" * 64, base64.b64encode(b"x" * 31).decode(), "ü" * 44])
    def test_another_form_is_refused_without_showing_it(self, text: str) -> None:
        with pytest.raises(KeysUnavailable) as caught:
            parse_master_key(text)
        assert text not in str(caught.value)
