"""Replacing the master key: from the places that the settings name, resumable, with the vault never unreadable."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from memory.crypto.derivation import KEY_BYTES
from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, KeysUnavailable
from memory.providers import system_keyring
from memory.providers.composition import KEYRING, present_master_key, vault_of, vault_used_before
from memory.providers.directories import sync_directory
from memory.providers.master_key import FILE_NAME, new_master_key
from memory.providers.system_keyring import wipe
from memory.providers.vault import WrappedVault, parse_master_key
from memory.providers.vault_rewrapping import abandon, finish, in_charge, rewrap, unfinished
from memory.services.keys.key_files import scrub

STAGED_NAME: Final = f"{FILE_NAME}.new"
TO_DO: Final = "Set LOCI_MASTER_KEY or LOCI_MASTER_KEY_FILE to the new key, and remove the old one."
IN_KEYRING: Final = "The new master key is in the system's keyring. Back that up."


@dataclass(frozen=True, slots=True)
class MasterReplaced:
    """What was done: entries wrapped anew, whether the generated file was replaced, and what is left to do by hand."""

    entries: int
    file_replaced: bool
    to_do: str


def replace_master_key() -> MasterReplaced:
    """Wrap everything in the vault with a new master key and refuse the old one from then on; may be repeated.

    The new one is LOCI_NEW_MASTER_KEY (or the file that LOCI_NEW_MASTER_KEY_FILE names). Where neither is given and
    the old one is the generated file or in the system's keyring, a new one is generated and takes its place.

    Raises:
        KeysUnavailable: a key is missing, wrong or unusable, or the vault does not open; the old key stays in charge.
        InvalidInput: the new key is the old one.
    """
    if settings.MASTER_KEY_SOURCE == KEYRING:
        return _replaced_in_keyring()
    staged = Path(settings.CONFIG_DIRECTORY) / STAGED_NAME
    if settings.NEW_MASTER_KEY:
        if settings.MASTER_KEY_SOURCE == "file":
            raise KeysUnavailable(
                "LOCI_MASTER_KEY_SOURCE=file takes a generated key. Remove LOCI_NEW_MASTER_KEY, or choose `env`."
            )
        return MasterReplaced(_replaced(_vault_with(parse_master_key(settings.NEW_MASTER_KEY))), False, TO_DO)
    if settings.MASTER_KEY or settings.MASTER_KEY_SOURCE == "env":
        raise KeysUnavailable("Give the new master key in LOCI_NEW_MASTER_KEY_FILE or LOCI_NEW_MASTER_KEY.")
    if not staged.exists():
        current = _current()
        current.verify()
        if unfinished(current):
            return MasterReplaced(_finished(current), False, "")
    try:
        entries = _replaced(_vault_with(new_master_key(staged)))
        _put_in_place(staged)
    except OSError as error:
        raise KeysUnavailable("The new master key's file cannot be made or read. Check LOCI_CONFIG_DIR.") from error
    return MasterReplaced(entries, True, "")


def give_up_replacement() -> int:
    """Give up a change that was interrupted; gives the number of entries that were put back.

    Raises:
        KeysUnavailable: the new master key is in charge already, so the change can only be finished.
    """
    current = _current()
    begun = (current.find_check() or {}).get("next")
    entries = abandon(current)
    if begun is not None and settings.MASTER_KEY_SOURCE == KEYRING:
        system_keyring.remove(begun)
    (Path(settings.CONFIG_DIRECTORY) / STAGED_NAME).unlink(missing_ok=True)
    return entries


def _replaced(new: WrappedVault) -> int:
    if in_charge(new):
        if not unfinished(new) and settings.MASTER_KEY and in_charge(_current()):
            raise InvalidInput("The new master key is the one in charge already.", code="keys.same")
        return _finished(new)
    entries = rewrap(_current(), new)
    keyring().forget()
    return entries


def _finished(vault: WrappedVault) -> int:
    entries = finish(vault)
    keyring().forget()
    return entries


def _current() -> WrappedVault:
    if not vault_used_before():
        raise KeysUnavailable("The key vault is empty, so there is nothing to wrap anew.")
    return _vault_with(present_master_key())


def _vault_with(key: bytearray) -> WrappedVault:
    """Give the vault with a key, which is overwritten."""
    vault = vault_of(key)
    wipe(key)
    return vault


def _replaced_in_keyring() -> MasterReplaced:
    """Put a new key beside the old one in the keyring before anything is wrapped by it, and remove the old one last.

    Killed in between, the next call goes on. Killed just before its end, the old key's entry stays: it opens nothing
    but older copies of the vault.
    """
    current = _current()
    current.verify()
    check = current.find_check() or {}
    begun = check.get("next")
    if begun is None and unfinished(current):
        return MasterReplaced(_finished(current), False, IN_KEYRING)
    key = _key_for_keyring(begun)
    new = vault_of(key)
    if in_charge(new):
        raise InvalidInput("The new master key is the one in charge already.", code="keys.same")
    system_keyring.store(new.wrapping.check_value, key)
    wipe(key)
    entries = rewrap(current, new)
    keyring().forget()
    system_keyring.remove(str(check["check"]))
    return MasterReplaced(entries, False, IN_KEYRING)


def _key_for_keyring(begun: str | None) -> bytearray:
    if settings.NEW_MASTER_KEY:
        return parse_master_key(settings.NEW_MASTER_KEY)
    if begun is None:
        return bytearray(secrets.token_bytes(KEY_BYTES))
    found = system_keyring.find(begun)
    if found is None:
        raise KeysUnavailable(
            "A change to a new master key has begun whose key is not in the keyring. Give that one in "
            "LOCI_NEW_MASTER_KEY_FILE, or give the change up with `keys rotate-master --abandon`. Nothing was changed."
        )
    return found


def _put_in_place(staged: Path) -> None:
    """Let the new key's file take the old one's name, and overwrite what the old one held."""
    path = staged.with_name(FILE_NAME)
    former = path.open("r+b") if path.exists() else None
    staged.replace(path)
    sync_directory(path.parent)
    if former is not None:
        scrub(former)
