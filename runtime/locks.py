"""Locks on files, freed by the kernel when their holder dies in any way. Standard library only."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path
from types import TracebackType

LONGEST_NOTE = 400
# A note's characters may have four bytes each, and the number stands before it.
LONGEST_CONTENT = 2048


class FileLock:
    """An exclusive lock on a file that holds its owner's process number."""

    def __init__(self, path: Path) -> None:
        """Name the lock's file; its directory must exist."""
        self.path = path
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """Give the open file, for a child that shall hold the lock on after this process."""
        if self._descriptor is None:
            raise ValueError("the lock is not held")
        return self._descriptor

    def acquire(self, *, blocking: bool = True) -> bool:
        """Take the lock; tell whether it is held now. With `blocking` waits as long as it takes.

        Raises:
            OSError: the file cannot be opened, or is not a plain file of its own.
        """
        descriptor = _open(self.path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if blocking else fcntl.LOCK_NB))
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except BaseException:
            # On a full disk too, where the number cannot be written: nobody would free the lock.
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return True

    def note(self, line: str) -> None:
        """Write one line of at most 400 characters behind the process number, for those who find the lock held."""
        if len(line) > LONGEST_NOTE or "\n" in line:
            raise ValueError("a note is one short line")
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, f"{os.getpid()}\n{line}\n".encode(), 0)

    def holder(self) -> int | None:
        """Read the process number that the last holder wrote; it may have died since."""
        first = self._lines()[0]
        return int(first) if first.isdigit() else None

    def noted(self) -> str:
        """Read the line that the last holder noted, empty when it noted none; it may have died since."""
        return self._lines()[1]

    def _lines(self) -> tuple[str, str]:
        try:
            text = self.path.read_bytes()[:LONGEST_CONTENT].decode(errors="replace")
        except FileNotFoundError:
            return "", ""
        first, second, *_ = [*text.splitlines(), "", ""]
        return first.strip(), second.strip()

    def held_elsewhere(self) -> bool:
        """Tell whether some process holds the lock now, without leaving a file behind."""
        if not self.path.exists():
            return False
        descriptor = _open(self.path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def release(self) -> None:
        """Free the lock; without effect when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> FileLock:
        """Take the lock, waiting for it."""
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the lock."""
        self.release()


def _open(path: Path) -> int:
    # The directory may belong to an unprivileged user while root opens the file, so links are not followed.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        raise OSError(f"{path} is not a plain file of its own.")
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor
