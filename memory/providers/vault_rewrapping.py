"""Replacing the master key of a vault: every entry is wrapped anew, and an interruption at any moment loses nothing.

First every entry gets its secrets a second time, wrapped by the new master key, while the old one stays in charge. One
replacement of the check entry puts the new one in charge. Then the old wrappings are removed. Until that replacement
every entry opens with the old master key, after it every entry opens with the new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from memory.errors import KeysUnavailable
from memory.providers.vault import FORMAT, WrappedVault, checked_format


def rewrap(old: WrappedVault, new: WrappedVault) -> int:
    """Give a vault another master key; continues where an earlier call was interrupted.

    Args:
        old: the vault, opened with the master key in charge.
        new: the same vault, opened with the new master key.

    Returns:
        How many entries were wrapped anew.

    Raises:
        KeysUnavailable: the old master key is not in charge, a change to a third one is under way, or an entry does
            not open; the old master key stays in charge.
    """
    if not in_charge(new):
        _prepare(old, new)
        for owner_id in old.owners():
            with old.locked():
                _wrap_twice(old, new, owner_id)
        _hand_over(old, new)
    return finish(new)


def in_charge(vault: WrappedVault) -> bool:
    """Tell whether the vault's master key is the one in charge."""
    return vault.wrapping.is_of((vault.find_check() or {}).get("check"))


def unfinished(vault: WrappedVault) -> bool:
    """Tell whether entries still hold their secrets twice."""
    return any("next" in (vault.find(owner_id) or {}) for owner_id in vault.owners())


def finish(vault: WrappedVault) -> int:
    """Remove the wrappings of the former master key; gives the number of entries that now open with this one."""
    vault.verify()
    done = 0
    for owner_id in vault.owners():
        with vault.locked():
            stored = vault.find(owner_id)
            if stored is None:
                continue
            keys = vault.load(owner_id)
            if "next" in stored:
                vault.replace(owner_id, vault.entry_of(owner_id, keys))
            keys.wipe()
        done += 1
    return done


def abandon(vault: WrappedVault) -> int:
    """Give up a change that has not put its new master key in charge; gives the number of entries that were touched."""
    vault.verify()
    done = 0
    for owner_id in vault.owners():
        with vault.locked():
            stored = vault.find(owner_id)
            if stored is not None and "next" in stored:
                keys = vault.load(owner_id)
                vault.replace(owner_id, vault.entry_of(owner_id, keys))
                keys.wipe()
                done += 1
    with vault.locked():
        vault.verify()
        vault.replace_check({"format": FORMAT, "check": vault.wrapping.check_value})
    return done


def _prepare(old: WrappedVault, new: WrappedVault) -> None:
    """Note the new master key in the check entry, so that no third one gets in between."""
    with old.locked():
        old.verify()
        check = checked_format(old.find_check() or {})
        if "next" in check and not new.wrapping.is_of(check["next"]):
            raise KeysUnavailable(
                "A change to another new master key has begun. Give that one to finish it, or give it up with "
                "`keys rotate-master --abandon`. Nothing was changed."
            )
        old.replace_check({**check, "next": new.wrapping.check_value})


def _wrap_twice(old: WrappedVault, new: WrappedVault, owner_id: UUID) -> None:
    stored = old.find(owner_id)
    if stored is None:
        return
    keys = old.load(owner_id)
    if not _holds(new, owner_id, stored, keys):
        old.replace(owner_id, {**old.entry_of(owner_id, keys), "next": new.wrapping.wrapped(owner_id, keys)})
    keys.wipe()


def _holds(new: WrappedVault, owner_id: UUID, stored: Mapping[str, Any], keys: object) -> bool:
    if "next" not in stored:
        return False
    try:
        second = new.wrapping.opened(owner_id, stored["next"], stored.get("made", {}))
    except KeysUnavailable:
        return False
    same = second == keys
    second.wipe()
    return same


def _hand_over(old: WrappedVault, new: WrappedVault) -> None:
    """Put the new master key in charge, once owners and versions that came meanwhile are wrapped by it as well."""
    with old.locked():
        old.verify()
        for owner_id in old.owners():
            _wrap_twice(old, new, owner_id)
        old.replace_check({"format": FORMAT, "check": new.wrapping.check_value})
