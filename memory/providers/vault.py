"""Key vaults: an owner's keys wrapped by the master key, in a directory or a database of their own."""

from __future__ import annotations

import base64
import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memory.crypto.derivation import KEY_BYTES, derive
from memory.errors import KeysUnavailable
from memory.ports import OwnerKeys

FORMAT = 1
NONCE_BYTES = 12


def parse_master_key(text: str) -> bytearray:
    """Read a master key from 64 hex digits or the base64 of 32 bytes.

    Returns:
        A buffer of the caller's own, to be overwritten after use.

    Raises:
        KeysUnavailable: neither form.
    """
    stripped = text.strip()
    if len(stripped) == 2 * KEY_BYTES:
        try:
            return bytearray.fromhex(stripped)
        except ValueError:
            pass
    try:
        raw = base64.b64decode(stripped + "=" * (-len(stripped) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if len(raw) != KEY_BYTES:
        raise KeysUnavailable("LOCI_MASTER_KEY must be 32 bytes, written as base64 or as 64 hex digits.")
    return bytearray(raw)


class Wrapping:
    """What one master key wraps and opens entries with; keeps no copy of the master key itself."""

    def __init__(self, master_key: bytes | bytearray) -> None:
        """Derive from a master key of 32 bytes."""
        self._cipher = AESGCM(derive(master_key, purpose="vault/wrap"))
        check = derive(master_key, purpose="vault/check")
        self.check_value = hmac.new(check, b"loci key check value", sha256).hexdigest()

    def is_of(self, check_value: object) -> bool:
        """Tell whether a stored check value is that of this master key."""
        return hmac.compare_digest(str(check_value), self.check_value)

    def wrapped(self, owner_id: UUID, keys: OwnerKeys) -> dict[str, Any]:
        """Wrap the secrets of an owner."""
        return {
            "root": self.wrap(keys.root, owner_id, "root"),
            "text": {
                str(version): self.wrap(seed, owner_id, f"text/{version}") for version, seed in keys.text_seeds.items()
            },
        }

    def opened(self, owner_id: UUID, part: Mapping[str, Any], made: Mapping[str, str]) -> OwnerKeys:
        """Open what `wrapped` gave; raises KeysUnavailable when it was damaged or wrapped by another master key."""
        try:
            return OwnerKeys(
                root=self._unwrap(part["root"], owner_id, "root"),
                text_seeds={
                    int(version): self._unwrap(seed, owner_id, f"text/{version}")
                    for version, seed in part["text"].items()
                },
                made_at={int(version): datetime.fromisoformat(moment) for version, moment in made.items()},
            )
        except (KeyError, ValueError, AttributeError, TypeError, InvalidTag) as error:
            raise KeysUnavailable(
                "An owner's keys do not open with the master key. Nothing was read. If the master key was replaced, "
                "restart every process of Loci."
            ) from error

    def wrap(self, secret: bytes | bytearray, owner_id: UUID, purpose: str) -> str:
        """Wrap one secret."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, secret, f"{owner_id}|{purpose}".encode())
        return base64.b64encode(nonce + sealed).decode("ascii")

    def _unwrap(self, text: str, owner_id: UUID, purpose: str) -> bytearray:
        raw, secret = base64.b64decode(text, validate=True), bytearray(KEY_BYTES)
        self._cipher.decrypt_into(raw[:NONCE_BYTES], raw[NONCE_BYTES:], f"{owner_id}|{purpose}".encode(), secret)
        return secret


class WrappedVault(ABC):
    """What every vault does, whatever it is kept in: wrap, unwrap and check; subclasses store and find entries.

    An entry is a small JSON object. The check entry tells whether a master key is the one the vault was made with.
    While the master key is replaced, an entry holds its secrets twice; see `memory.providers.vault_rewrapping`.
    """

    def __init__(self, master_key: bytes | bytearray) -> None:
        """Prepare without reading or writing anything; `master_key` has 32 bytes."""
        self.wrapping = Wrapping(master_key)

    def verify(self) -> None:
        """Check that the master key opens this vault; the first use of an empty vault records the check value."""
        stored = self.find_check()
        if stored is None:
            if self.owners():
                raise KeysUnavailable(
                    "The key vault holds keys but its check value is missing. Restore the vault whole."
                )
            self._add_check({"format": FORMAT, "check": self.wrapping.check_value})
            stored = self.find_check() or {}
        if not self.wrapping.is_of(checked_format(stored).get("check")):
            raise KeysUnavailable(
                "The master key is not the one that this key vault was made with. Nothing was read or written. "
                "If it was replaced since this process began, restart every process of Loci. "
                "Else give the right LOCI_MASTER_KEY (or LOCI_MASTER_KEY_FILE), or the vault that belongs to it. "
                "If a change of the master key was interrupted, run `keys rotate-master` again."
            )

    def create(self, owner_id: UUID) -> OwnerKeys:
        """Make and keep fresh keys for an owner."""
        keys = OwnerKeys(
            root=bytearray(secrets.token_bytes(KEY_BYTES)),
            text_seeds={1: bytearray(secrets.token_bytes(KEY_BYTES))},
            made_at={1: datetime.now(UTC)},
        )
        with self.locked():
            self.verify()
            if not self._add(owner_id, self.entry_of(owner_id, keys)):
                raise KeysUnavailable("This owner has keys already; they were kept.")
        return keys

    def load(self, owner_id: UUID) -> OwnerKeys:
        """Unwrap an owner's keys."""
        stored = checked_format(self._found(owner_id))
        made = stored.get("made", {})
        try:
            return self.wrapping.opened(owner_id, stored, made)
        except KeysUnavailable:
            if "next" not in stored:
                raise
            return self.wrapping.opened(owner_id, stored["next"], made)

    def versions(self, owner_id: UUID) -> dict[int, datetime | None]:
        """Give the text-key versions of an owner and since when they exist, where that is known; opens no key."""
        stored = checked_format(self._found(owner_id))
        made = stored.get("made", {})
        try:
            return {
                int(version): datetime.fromisoformat(made[version]) if version in made else None
                for version in stored["text"]
            }
        except (KeyError, ValueError, TypeError) as error:
            raise KeysUnavailable("An entry of the key vault is damaged. Restore the vault.") from error

    def add_version(self, owner_id: UUID, *, after: int, at: datetime) -> OwnerKeys:
        """Make a text-key version with a random seed of its own.

        Args:
            owner_id: whose.
            after: the newest version that the caller knows; where there is a newer one, that one is kept.
            at: since when it exists.
        """
        with self.locked():
            self.verify()
            keys = self.load(owner_id)
            if keys.text_version > after:
                return keys
            version = keys.text_version + 1
            keys = OwnerKeys(
                root=keys.root,
                text_seeds={**keys.text_seeds, version: bytearray(secrets.token_bytes(KEY_BYTES))},
                made_at={**keys.made_at, version: at},
            )
            self.replace(owner_id, self.entry_of(owner_id, keys))
            return keys

    def destroy_versions(self, owner_id: UUID, *, below: int) -> OwnerKeys:
        """Destroy the seeds of text-key versions below a number, and what the store still has of them."""
        with self.locked():
            self.verify()
            keys = self.load(owner_id)
            first = min(below, keys.text_version)
            kept = OwnerKeys(
                root=keys.root,
                text_seeds={version: seed for version, seed in keys.text_seeds.items() if version >= first},
                made_at={version: moment for version, moment in keys.made_at.items() if version >= first},
            )
            if kept != keys:
                self.replace(owner_id, self.entry_of(owner_id, kept))
            return kept

    def entry_of(self, owner_id: UUID, keys: OwnerKeys) -> dict[str, Any]:
        """Give the entry that holds an owner's keys, wrapped by this vault's master key alone."""
        made = {str(version): moment.isoformat() for version, moment in keys.made_at.items()}
        return {"format": FORMAT, "made": made, **self.wrapping.wrapped(owner_id, keys)}

    @abstractmethod
    def owners(self) -> set[UUID]:
        """List the owners who have keys."""

    @abstractmethod
    def destroy(self, owner_id: UUID) -> None:
        """Destroy an owner's keys for good; without effect when there are none."""

    @abstractmethod
    def used_before(self) -> bool:
        """Tell whether the vault has a check value, without needing the master key."""

    @abstractmethod
    def mark(self, owner_id: UUID) -> object:
        """Give what differs once an owner's entry has changed, where that is cheap to tell; else always the same."""

    @abstractmethod
    def locked(self) -> AbstractContextManager[None]:
        """Keep every other process from changing the vault for the time of a block; blocks do not nest."""

    @abstractmethod
    def find_check(self) -> dict[str, Any] | None:
        """Give the check entry."""

    @abstractmethod
    def replace_check(self, entry: Mapping[str, Any]) -> None:
        """Put another check entry in place, whole or not at all."""

    @abstractmethod
    def find(self, owner_id: UUID) -> dict[str, Any] | None:
        """Give an owner's entry."""

    @abstractmethod
    def replace(self, owner_id: UUID, entry: Mapping[str, Any]) -> None:
        """Put another entry in place of an owner's, whole or not at all, and leave nothing of the former one."""

    @abstractmethod
    def _add_check(self, entry: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def _add(self, owner_id: UUID, entry: Mapping[str, Any]) -> bool: ...

    def _found(self, owner_id: UUID) -> dict[str, Any]:
        stored = self.find(owner_id)
        if stored is None:
            raise KeysUnavailable("The keys of this owner are not in the key vault. Its texts cannot be read.")
        return stored


def checked_format(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give an entry back whose form this version knows; raises KeysUnavailable for another."""
    if entry.get("format") != FORMAT:
        raise KeysUnavailable("An entry of the key vault has a form that this version does not know.")
    return entry
