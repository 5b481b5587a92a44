"""No keys are made for owners whose vault is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory.errors import KeysUnavailable
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
