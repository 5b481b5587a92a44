"""No keys are made for owners whose vault is missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memory.crypto.keyring import keyring
from memory.errors import KeysUnavailable
from memory.ids import new_id
from memory.management.commands import doctor
from memory.management.preparation import check_owners
from memory.providers import composition
from memory.services.actors import Actor


def test_an_empty_vault_beside_owners_is_refused(alice: Actor, settings: Any, tmp_path: Path) -> None:
    settings.KEYS_DIRECTORY = tmp_path / "gone"
    with pytest.raises(KeysUnavailable, match="Restore the key vault"):
        composition.open_vault()
    assert not settings.KEYS_DIRECTORY.exists()


@pytest.mark.django_db
def test_an_empty_vault_of_a_new_installation_is_set_up(settings: Any, tmp_path: Path) -> None:
    settings.KEYS_DIRECTORY = tmp_path / "new"
    assert composition.open_vault().owners() == set()
    assert composition.vault_used_before()


@pytest.mark.django_db
def test_a_vault_of_other_owners_is_told(settings: Any, make_owner: Callable[..., Actor]) -> None:
    """As where the address leads to a new database."""
    known = keyring().vault.owners()
    keyring().vault.create(new_id())
    said: list[str] = []
    check_owners(said.append)
    assert len(said) == 1
    # Other processes of the tests make owners of their own meanwhile.
    assert _told(r"knows ([\d,]+) owners? and this database none", said[0]) > len(known)
    make_owner("alice")
    check_owners(said.append)
    assert len(said) == 1
    detail = doctor._owners().detail
    assert _told(r"It also knows ([\d,]+) owners? that this database does not\.", detail) > len(known)


def _told(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found is not None, text
    return int(found[1].replace(",", ""))
