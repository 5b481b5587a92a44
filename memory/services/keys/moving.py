"""Moving the master key into the keyring of the system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from memory.errors import Conflict, KeysUnavailable
from memory.providers import system_keyring
from memory.providers.composition import KEYRING, present_master_key, vault_of, vault_used_before
from memory.providers.master_key import FILE_NAME
from memory.providers.system_keyring import wipe
from memory.services.keys.key_files import destroy

NEXT: Final = "Set LOCI_MASTER_KEY_SOURCE=keyring, for every process of Loci, and restart them."
BACK_UP: Final = (
    "Back up the keyring of this user, or keep the key in another safe place: the vault and the data no longer come "
    "with it, and losing it loses every text."
)


@dataclass(frozen=True, slots=True)
class Moved:
    """What was done: the entry in the keyring, whether the generated file was removed, and what is left to do."""

    entry: str
    file_removed: bool
    to_do: tuple[str, ...]


def move_to_keyring(*, keep_file: bool = False) -> Moved:
    """Put the master key into the system's keyring, once it has opened the vault, and remove the generated file.

    The keyring is asked for what it was given before anything is removed.

    Args:
        keep_file: leave the file where it is, to be moved to a safe place by hand.

    Raises:
        KeysUnavailable: the key does not open the vault, or the keyring cannot be used; nothing was changed.
        Conflict: it is there already, or a change of the master key has begun.
    """
    if settings.MASTER_KEY_SOURCE == KEYRING:
        raise Conflict("The master key is taken from the system's keyring already.", code="keys.in_keyring")
    if not vault_used_before():
        raise KeysUnavailable(
            "The key vault is empty, so there is no key to move. With LOCI_MASTER_KEY_SOURCE=keyring the first start "
            "makes one in the keyring."
        )
    key = present_master_key()
    try:
        vault = vault_of(key)
        vault.verify()
        if "next" in (vault.find_check() or {}):
            raise Conflict(
                "A change of the master key has begun. Finish it with `keys rotate-master`, or give it up with "
                "`--abandon`, and move the key then.",
                code="keys.changing",
            )
        system_keyring.store(vault.wrapping.check_value, key)
    finally:
        wipe(key)
    entry = system_keyring.entry_name(vault.wrapping.check_value)
    if settings.MASTER_KEY:
        given = "Remove LOCI_MASTER_KEY or LOCI_MASTER_KEY_FILE, and the file that it names."
        return Moved(entry, False, (given, NEXT, BACK_UP))
    path = Path(settings.CONFIG_DIRECTORY) / FILE_NAME
    if keep_file:
        return Moved(entry, False, (f"Move {path} to a safe place; Loci does not need it any more.", NEXT))
    try:
        destroy(path)
    except OSError as error:
        raise KeysUnavailable(
            f"The master key is in the keyring, but {path} cannot be removed ({type(error).__name__}). Remove it."
        ) from None
    return Moved(entry, True, (NEXT, BACK_UP))
