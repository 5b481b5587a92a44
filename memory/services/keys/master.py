"""Replacing the master key: from the places that the settings name, resumable, with the vault never unreadable."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, KeysUnavailable
from memory.providers.composition import vault_of, vault_used_before
from memory.providers.master_key import FILE_NAME, master_key, new_master_key
from memory.providers.vault import WrappedVault, parse_master_key
from memory.providers.vault_rewrapping import abandon, finish, in_charge, rewrap, unfinished

STAGED_NAME: Final = f"{FILE_NAME}.new"
TO_DO: Final = "Set LOCI_MASTER_KEY or LOCI_MASTER_KEY_FILE to the new key, and remove the old one."


@dataclass(frozen=True, slots=True)
class MasterReplaced:
    """What was done: entries wrapped anew, whether the generated file was replaced, and what is left to do by hand."""

    entries: int
    file_replaced: bool
    to_do: str


def replace_master_key() -> MasterReplaced:
    """Wrap everything in the vault with a new master key and refuse the old one from then on; may be repeated.

    The new one is LOCI_NEW_MASTER_KEY (or the file that LOCI_NEW_MASTER_KEY_FILE names). Where neither is given and
    the old one is the generated file, a new one is generated beside it and takes its place.

    Raises:
        KeysUnavailable: a key is missing, wrong or unusable, or the vault does not open; the old key stays in charge.
        InvalidInput: the new key is the old one.
    """
    staged = Path(settings.CONFIG_DIRECTORY) / STAGED_NAME
    if settings.NEW_MASTER_KEY:
        new = vault_of(parse_master_key(settings.NEW_MASTER_KEY))
        return MasterReplaced(_replaced(new), False, TO_DO)
    if settings.MASTER_KEY:
        raise KeysUnavailable("Give the new master key in LOCI_NEW_MASTER_KEY_FILE or LOCI_NEW_MASTER_KEY.")
    if not staged.exists():
        current = _current()
        current.verify()
        if unfinished(current):
            return MasterReplaced(_finished(current), False, "")
    try:
        new = vault_of(new_master_key(staged))
        entries = _replaced(new)
        _put_in_place(staged)
    except OSError as error:
        raise KeysUnavailable("The new master key's file cannot be made or read. Check LOCI_CONFIG_DIR.") from error
    return MasterReplaced(entries, True, "")


def give_up_replacement() -> int:
    """Give up a change that was interrupted; gives the number of entries that were put back.

    Raises:
        KeysUnavailable: the new master key is in charge already, so the change can only be finished.
    """
    entries = abandon(_current())
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
    given = settings.MASTER_KEY
    return vault_of(master_key(given, config_directory=settings.CONFIG_DIRECTORY, used_before=vault_used_before))


def _put_in_place(staged: Path) -> None:
    """Let the new key's file take the old one's name, and overwrite what the old one held."""
    path = staged.with_name(FILE_NAME)
    former = path.open("r+b") if path.exists() else None
    staged.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    if former is not None:
        with former:
            former.write(secrets.token_bytes(os.fstat(former.fileno()).st_size))
            former.flush()
            os.fsync(former.fileno())
