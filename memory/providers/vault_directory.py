"""A key vault in a directory of its own: one file for each owner."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

from memory.errors import KeysUnavailable
from memory.providers.vault import WrappedVault

CHECK_FILE = "check.json"


class DirectoryVault(WrappedVault):
    """A key vault in a directory that only this user may read."""

    def __init__(self, directory: Path, master_key: bytes) -> None:
        """Prepare a vault.

        Args:
            directory: where the files stand; made with mode 0700 when it does not exist.
            master_key: 32 bytes.
        """
        super().__init__(master_key)
        self.directory = directory

    def owners(self) -> set[UUID]:
        """List the owners who have keys."""
        return {UUID(path.stem) for path in (self.directory / "owners").glob("*.json")}

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
        _sync(path.parent)

    def used_before(self) -> bool:
        """Tell whether the vault has a check value."""
        return (self.directory / CHECK_FILE).exists()

    def _path(self, owner_id: UUID) -> Path:
        return self.directory / "owners" / f"{owner_id}.json"

    def _find_check(self) -> dict[str, Any] | None:
        return _read(self.directory / CHECK_FILE)

    def _add_check(self, entry: Mapping[str, Any]) -> None:
        _write_once(self.directory / CHECK_FILE, entry)

    def _find(self, owner_id: UUID) -> dict[str, Any] | None:
        return _read(self._path(owner_id))

    def _add(self, owner_id: UUID, entry: Mapping[str, Any]) -> bool:
        return _write_once(self._path(owner_id), entry)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise KeysUnavailable("A file of the key vault cannot be read. Check its owner and mode.") from error
    if not isinstance(value, dict):
        raise KeysUnavailable("A file of the key vault has a form that this version does not know.")
    return value


def _write_once(path: Path, value: Mapping[str, Any]) -> bool:
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
    _sync(path.parent)
    return True


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
