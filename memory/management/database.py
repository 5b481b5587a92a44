"""The embedded database while `up` runs: started with it, stopped with it, left alone when somebody else started it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.postgres.cluster import Cluster

# Names the server process that an `up` started, so that the next one stops it when the first was killed.
MARK = "up.server"


@contextmanager
def running_database(cluster: Cluster, say: Callable[[str], None]) -> Iterator[None]:
    """Have the server run during the block.

    At the end it is stopped when this block, or an earlier one that was killed, started it.

    Raises:
        RuntimeFault: it cannot be started or stopped.
    """
    ours = not cluster.alive() or _left_by_killed(cluster)
    try:
        started = cluster.start()
        if ours:
            _mark(cluster)
        if started.status == "started":
            say(f"The database runs after {started.seconds:.1f} s.")
        yield
    finally:
        if ours:
            _stop(cluster)


def _stop(cluster: Cluster) -> None:
    # The stop is short and bounded; a second signal must not leave the server behind.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    cluster.stop()
    _mark_path(cluster).unlink(missing_ok=True)


def _mark(cluster: Cluster) -> None:
    pid = cluster.status().pid
    if pid is not None:
        _mark_path(cluster).write_text(f"{pid}\n", encoding="ascii")


def _left_by_killed(cluster: Cluster) -> bool:
    try:
        marked = _mark_path(cluster).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return False
    return marked == str(cluster.status().pid)


def _mark_path(cluster: Cluster) -> Path:
    return cluster.data / MARK
