"""A key vault in a directory of its own: one file for each owner."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from memory.errors import KeysUnavailable
from memory.providers.directories import sync_directory
from memory.providers.vault import WrappedVault

CHECK_FILE = "check.json"
LOCK_FILE = "lock"
# How often a file is read again that was being replaced meanwhile.
READS = 5
UNWRITABLE = "The key vault's directory cannot be written. Set LOCI_KEYS_DIR to one that this user owns."


class DirectoryVault(WrappedVault):
    """A key vault in a directory that only this user may read."""

    def __init__(self, directory: Path, master_key: bytes | bytearray) -> None:
        """Prepare a vault.

        Args:
            directory: where the files stand; made with mode 0700 when it does not exist.
            master_key: 32 bytes.
        """
        super().__init__(master_key)
        self.directory = directory
        self._owners = os.fspath(directory / "owners")

    def owners(self) -> set[UUID]:
        """List the owners who have keys."""
        return {UUID(path.stem) for path in (self.directory / "owners").glob("*.json")}

    def destroy(self, owner_id: UUID) -> None:
        """Destroy an owner's keys: overwrite the file, flush it to the disk and remove it."""
        path = self._path(owner_id)
        try:
            with self.locked(), path.open("r+b") as file:
                path.unlink()
                _scrub(file)
        except FileNotFoundError:
            return
        sync_directory(path.parent)

    def used_before(self) -> bool:
        """Tell whether the vault has a check value."""
        return (self.directory / CHECK_FILE).exists()

    def mark(self, owner_id: UUID) -> object:
        """Give number and time of the owner's file, which every replacement changes; None where there is none."""
        try:
            found = os.stat(f"{self._owners}/{owner_id}.json")
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold a lock on a file of the vault; it ends with the process at the latest."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.directory / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise KeysUnavailable(UNWRITABLE) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def find_check(self) -> dict[str, Any] | None:
        """Give the check entry."""
        return _read(self.directory / CHECK_FILE)

    def replace_check(self, entry: Mapping[str, Any]) -> None:
        """Put another check entry in place."""
        _replace(self.directory / CHECK_FILE, entry)

    def find(self, owner_id: UUID) -> dict[str, Any] | None:
        """Give an owner's entry."""
        return _read(self._path(owner_id))

    def replace(self, owner_id: UUID, entry: Mapping[str, Any]) -> None:
        """Put another file in place of an owner's, and overwrite the former one's content."""
        _replace(self._path(owner_id), entry)

    def _path(self, owner_id: UUID) -> Path:
        return self.directory / "owners" / f"{owner_id}.json"

    def _add_check(self, entry: Mapping[str, Any]) -> None:
        _write_once(self.directory / CHECK_FILE, entry)

    def _add(self, owner_id: UUID, entry: Mapping[str, Any]) -> bool:
        return _write_once(self._path(owner_id), entry)


def _read(path: Path) -> dict[str, Any] | None:
    for attempt in range(READS):
        try:
            with path.open(encoding="utf-8") as file:
                opened = os.fstat(file.fileno()).st_ino
                text = file.read()
            value = json.loads(text)
        except FileNotFoundError:
            return None
        except ValueError as error:
            # A file that was replaced while it was read may have been overwritten already.
            if attempt + 1 < READS and path.exists() and path.stat().st_ino != opened:
                continue
            raise KeysUnavailable("A file of the key vault cannot be read. Check its owner and mode.") from error
        except OSError as error:
            raise KeysUnavailable("A file of the key vault cannot be read. Check its owner and mode.") from error
        if not isinstance(value, dict):
            raise KeysUnavailable("A file of the key vault has a form that this version does not know.")
        return value
    raise KeysUnavailable("A file of the key vault is replaced again and again. Try again.")


def _write_once(path: Path, value: Mapping[str, Any]) -> bool:
    """Put a whole file in place, flushed to the disk; False when another process was first."""
    try:
        temporary = _prepared(path, value)
        try:
            os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except FileExistsError:
        return False
    except OSError as error:
        raise KeysUnavailable(UNWRITABLE) from error
    sync_directory(path.parent)
    return True


def _replace(path: Path, value: Mapping[str, Any]) -> None:
    """Put a whole file in the place of one that is there, flushed to the disk, and overwrite the former content."""
    try:
        with path.open("r+b") as former:
            temporary = _prepared(path, value)
            try:
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            sync_directory(path.parent)
            _scrub(former)
    except OSError as error:
        raise KeysUnavailable(UNWRITABLE) from error


def _prepared(path: Path, value: Mapping[str, Any]) -> Path:
    """Write a value to a file beside its place, flushed to the disk."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _scrub(file: BinaryIO) -> None:
    """Overwrite the content of an opened file that no longer has a name."""
    size = os.fstat(file.fileno()).st_size
    file.seek(0)
    file.write(secrets.token_bytes(size))
    file.flush()
    os.fsync(file.fileno())
