"""See to it that the product runs once on a data directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import AlreadyRunning
from runtime.locks import FileLock


@contextmanager
def only_instance(data: Path) -> Iterator[None]:
    """Hold the lock of a running product on a data directory, which is made when it does not exist.

    A lock whose holder was killed is free.

    Raises:
        AlreadyRunning: another process holds it.
    """
    data.mkdir(parents=True, exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
    lock = FileLock(data / "up.lock")
    if not lock.acquire(blocking=False):
        pid = lock.holder()
        raise AlreadyRunning(
            f"Loci runs already on {data} (process {pid}). Stop that one first, or set LOCI_DATA_DIR to another "
            "directory for a second one.",
            pid,
        )
    try:
        yield
    finally:
        lock.release()


def running_instance(data: Path) -> int | None:
    """Give the process number of the product running on a data directory, None when none does."""
    lock = FileLock(data / "up.lock")
    return lock.holder() if lock.held_elsewhere() else None
