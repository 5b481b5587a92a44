"""The ledger of purges as a file in the directory of the key vault."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from memory.errors import KeysUnavailable
from memory.ports.ledger import PurgeEntry
from memory.providers.directories import sync_directory
from memory.providers.ledger_entries import damaged, read, written

FILE: Final = "purges.jsonl"
LOCK_FILE: Final = "purges.lock"
UNWRITABLE: Final = (
    "The purge ledger cannot be written, so nothing was erased. Let this user write to LOCI_KEYS_DIR and try again."
)
UNREADABLE: Final = "The purge ledger cannot be read. Check the owner and mode of purges.jsonl in LOCI_KEYS_DIR."


class DirectoryLedger:
    """A ledger of one line for each entry, which only this user may read.

    A process that dies while it writes leaves a torn last line. It counts as not written, which is right: whoever
    erases does so only once `append` has returned. The next `append` puts it out of the way.
    """

    def __init__(self, directory: Path) -> None:
        """Prepare a ledger; the directory is made with mode 0700 at the first entry when it does not exist."""
        self._directory = directory
        self._path = directory / FILE

    def append(self, entry: PurgeEntry) -> None:
        """Add a line and flush it to the disk."""
        line = json.dumps(written(entry), separators=(",", ":")).encode() + b"\n"
        try:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(self._directory / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._write(line)
            finally:
                os.close(lock)
        except OSError as error:
            raise KeysUnavailable(UNWRITABLE) from error

    def entries(self) -> Iterator[PurgeEntry]:
        """Give the entries of all whole lines."""
        try:
            with self._path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if not line.endswith(b"\n"):
                        return
                    yield _entry_of(line, place=f"Line {number}")
        except FileNotFoundError:
            return
        except OSError as error:
            raise KeysUnavailable(UNREADABLE) from error

    def _write(self, line: bytes) -> None:
        fresh = not self._path.exists()
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, end := _end_of_whole_lines(descriptor))
            os.lseek(descriptor, end, os.SEEK_SET)
            left = memoryview(line)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if fresh:
            sync_directory(self._directory)


def _entry_of(line: bytes, *, place: str) -> PurgeEntry:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise damaged(place) from error
    if not isinstance(value, dict):
        raise damaged(place)
    return read(value, place=place)


def _end_of_whole_lines(descriptor: int) -> int:
    """Give where the last whole line ends, by reading backwards from the end of the file."""
    position = os.fstat(descriptor).st_size
    while position:
        begin = max(0, position - 65_536)
        found = os.pread(descriptor, position - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        position = begin
    return 0
