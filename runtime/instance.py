"""See to it that the product runs once on a data directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import AlreadyRunning
from runtime.locks import FileLock


@contextmanager
def only_instance(data: Path, *, listening: tuple[str, int] | None = None) -> Iterator[None]:
    """Hold the lock of a running product on a data directory, which is made when it does not exist.

    A lock whose holder was killed is free.

    Args:
        data: the data directory.
        listening: host and port of the web process, for `running_address`.

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
        if listening is not None:
            lock.note(f"{listening[1]} {listening[0]}")
        yield
    finally:
        lock.release()


def running_instance(data: Path) -> int | None:
    """Give the process number of the product running on a data directory, None when none does."""
    lock = FileLock(data / "up.lock")
    return lock.holder() if lock.held_elsewhere() else None


def running_address(data: Path) -> tuple[str, int] | None:
    """Give host and port where the product running on a data directory listens; None when that is not known."""
    lock = FileLock(data / "up.lock")
    if not lock.held_elsewhere():
        return None
    port, _, host = lock.noted().partition(" ")
    return (host, int(port)) if port.isdigit() else None
