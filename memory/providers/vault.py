"""Key vaults: an owner's keys wrapped by the master key, in a directory or a database of their own."""

from __future__ import annotations

import base64
import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import Mapping
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


def parse_master_key(text: str) -> bytes:
    """Read a master key from 64 hex digits or the base64 of 32 bytes.

    Raises:
        KeysUnavailable: neither form.
    """
    stripped = text.strip()
    if len(stripped) == 2 * KEY_BYTES:
        try:
            return bytes.fromhex(stripped)
        except ValueError:
            pass
    try:
        raw = base64.b64decode(stripped + "=" * (-len(stripped) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if len(raw) != KEY_BYTES:
        raise KeysUnavailable("LOCI_MASTER_KEY must be 32 bytes, written as base64 or as 64 hex digits.")
    return raw


class WrappedVault(ABC):
    """What every vault does, whatever it is kept in: wrap, unwrap and check; subclasses store and find entries.

    An entry is a small JSON object. The check entry tells whether a master key is the one the vault was made with.
    """

    def __init__(self, master_key: bytes) -> None:
        """Prepare without reading or writing anything; `master_key` has 32 bytes."""
        self._wrapping = derive(master_key, purpose="vault/wrap")
        check = derive(master_key, purpose="vault/check")
        self._check_value = hmac.new(check, b"loci key check value", sha256).hexdigest()

    def verify(self) -> None:
        """Check that the master key opens this vault; the first use of an empty vault records the check value."""
        stored = self._find_check()
        if stored is None:
            if self.owners():
                raise KeysUnavailable(
                    "The key vault holds keys but its check value is missing. Restore the vault whole."
                )
            self._add_check({"format": FORMAT, "check": self._check_value})
            stored = self._find_check() or {}
        if not hmac.compare_digest(str(_checked_format(stored).get("check")), self._check_value):
            raise KeysUnavailable(
                "The master key is not the one that this key vault was made with. Nothing was read or written. "
                "Give the right LOCI_MASTER_KEY (or LOCI_MASTER_KEY_FILE), or the vault that belongs to it."
            )

    def create(self, owner_id: UUID) -> OwnerKeys:
        """Make and keep fresh keys for an owner."""
        self.verify()
        keys = OwnerKeys(root=secrets.token_bytes(KEY_BYTES), text_seeds={1: secrets.token_bytes(KEY_BYTES)})
        if not self._add(owner_id, self._wrapped(owner_id, keys)):
            raise KeysUnavailable("This owner has keys already; they were kept.")
        return keys

    def load(self, owner_id: UUID) -> OwnerKeys:
        """Unwrap an owner's keys."""
        stored = self._find(owner_id)
        if stored is None:
            raise KeysUnavailable("The keys of this owner are not in the key vault. Its texts cannot be read.")
        try:
            return OwnerKeys(
                root=self._unwrap(_checked_format(stored)["root"], owner_id, "root"),
                text_seeds={
                    int(version): self._unwrap(seed, owner_id, f"text/{version}")
                    for version, seed in stored["text"].items()
                },
            )
        except (KeyError, ValueError, AttributeError, TypeError, InvalidTag) as error:
            raise KeysUnavailable("An owner's keys do not open with the master key. Nothing was read.") from error

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
    def _find_check(self) -> dict[str, Any] | None: ...

    @abstractmethod
    def _add_check(self, entry: Mapping[str, Any]) -> None: ...

    @abstractmethod
    def _find(self, owner_id: UUID) -> dict[str, Any] | None: ...

    @abstractmethod
    def _add(self, owner_id: UUID, entry: Mapping[str, Any]) -> bool: ...

    def _wrapped(self, owner_id: UUID, keys: OwnerKeys) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "root": self._wrap(keys.root, owner_id, "root"),
            "text": {
                str(version): self._wrap(seed, owner_id, f"text/{version}") for version, seed in keys.text_seeds.items()
            },
        }

    def _wrap(self, secret: bytes, owner_id: UUID, purpose: str) -> str:
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = AESGCM(self._wrapping).encrypt(nonce, secret, f"{owner_id}|{purpose}".encode())
        return base64.b64encode(nonce + sealed).decode("ascii")

    def _unwrap(self, text: str, owner_id: UUID, purpose: str) -> bytes:
        raw = base64.b64decode(text, validate=True)
        return AESGCM(self._wrapping).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], f"{owner_id}|{purpose}".encode())


def _checked_format(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    if entry.get("format") != FORMAT:
        raise KeysUnavailable("An entry of the key vault has a form that this version does not know.")
    return entry
