"""The key vault in a directory of its own: one file for each owner, its keys wrapped by the master key."""

from __future__ import annotations

import base64
import hmac
import json
import os
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memory.crypto.derivation import KEY_BYTES, derive
from memory.errors import KeysUnavailable
from memory.ports import OwnerKeys

CHECK_FILE = "check.json"
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


class DirectoryVault:
    """A key vault in a directory that only this user may read."""

    def __init__(self, directory: Path, master_key: bytes) -> None:
        """Open a vault; nothing is read or written before the first use.

        Args:
            directory: where the files stand; made with mode 0700 when it does not exist.
            master_key: 32 bytes.
        """
        self.directory = directory
        self._wrapping = derive(master_key, purpose="vault/wrap")
        check = derive(master_key, purpose="vault/check")
        self._check_value = hmac.new(check, b"loci key check value", sha256).hexdigest()

    def verify(self) -> None:
        """Check that the master key opens this vault; the first use of an empty vault records the check value."""
        path = self.directory / CHECK_FILE
        if not path.exists():
            if any(self._files()):
                raise KeysUnavailable(
                    "The key vault holds keys but its check value is missing. Restore the vault's directory whole."
                )
            self._write_once(path, {"format": FORMAT, "check": self._check_value})
        stored = self._read(path).get("check")
        if not hmac.compare_digest(str(stored), self._check_value):
            raise KeysUnavailable(
                "The master key is not the one that this key vault was made with. Nothing was read or written. "
                "Give the right LOCI_MASTER_KEY (or LOCI_MASTER_KEY_FILE), or the vault's directory that belongs to it."
            )

    def create(self, owner_id: UUID) -> OwnerKeys:
        """Make and keep fresh keys for an owner."""
        self.verify()
        keys = OwnerKeys(root=secrets.token_bytes(KEY_BYTES), text_seeds={1: secrets.token_bytes(KEY_BYTES)})
        if not self._write_once(self._path(owner_id), self._wrapped(owner_id, keys)):
            raise KeysUnavailable("This owner has keys already; they were kept.")
        return keys

    def load(self, owner_id: UUID) -> OwnerKeys:
        """Unwrap an owner's keys."""
        path = self._path(owner_id)
        if not path.exists():
            raise KeysUnavailable("The keys of this owner are not in the key vault. Its texts cannot be read.")
        stored = self._read(path)
        try:
            return OwnerKeys(
                root=self._unwrap(stored["root"], owner_id, "root"),
                text_seeds={
                    int(version): self._unwrap(seed, owner_id, f"text/{version}")
                    for version, seed in stored["text"].items()
                },
            )
        except (KeyError, ValueError, AttributeError, InvalidTag) as error:
            raise KeysUnavailable("An owner's keys do not open with the master key. Nothing was read.") from error

    def owners(self) -> set[UUID]:
        """List the owners who have keys."""
        return {UUID(path.stem) for path in self._files()}

    def destroy(self, owner_id: UUID) -> None:
        """Destroy an owner's keys: overwrite the file, flush it to the disk and remove it."""
        path = self._path(owner_id)
        try:
            size = path.stat().st_size
            with path.open("r+b") as file:
                file.write(secrets.token_bytes(size))
                file.flush()
                os.fsync(file.fileno())
            path.unlink()
        except FileNotFoundError:
            return
        self._sync_directory()

    def _files(self) -> list[Path]:
        return sorted((self.directory / "owners").glob("*.json"))

    def _path(self, owner_id: UUID) -> Path:
        return self.directory / "owners" / f"{owner_id}.json"

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

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise KeysUnavailable("A file of the key vault cannot be read. Check its owner and mode.") from error
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            raise KeysUnavailable("A file of the key vault has a form that this version does not know.")
        return value

    def _write_once(self, path: Path, value: dict[str, Any]) -> bool:
        """Put a whole file in place, flushed to the disk; False when another process was first."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    json.dump(value, file)
                    file.flush()
                    os.fsync(file.fileno())
                os.link(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
        except FileExistsError:
            return False
        except OSError as error:
            raise KeysUnavailable(
                "The key vault's directory cannot be written. Set LOCI_KEYS_DIR to one that this user owns."
            ) from error
        self._sync_directory(path.parent)
        return True

    def _sync_directory(self, directory: Path | None = None) -> None:
        descriptor = os.open(directory or self.directory / "owners", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
