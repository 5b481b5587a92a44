"""The embedded database while a command needs it: started and stopped again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runtime.instance import running_instance
from runtime.postgres.cluster import Cluster


@contextmanager
def running_database(cluster: Cluster, say: Callable[[str], None]) -> Iterator[None]:
    """Have the server run during the block of a running product, and stop it at the end, whoever started it.

    Raises:
        RuntimeFault: it cannot be started or stopped.
    """
    try:
        started = cluster.start()
        if started.status == "started":
            say(f"The database runs after {started.seconds:.1f} s.")
        yield
    finally:
        _stop(cluster)


@contextmanager
def borrowed_database(cluster: Cluster) -> Iterator[None]:
    """Have the server run during the block of a command; at the end it is as it was, running or stopped.

    A server that a product started meanwhile has taken over is left to that.

    Raises:
        RuntimeFault: it cannot be started or stopped.
    """
    found_running = cluster.alive()
    try:
        cluster.start()
        yield
    finally:
        if not found_running and running_instance(cluster.data) is None:
            _stop(cluster)


def _stop(cluster: Cluster) -> None:
    # The stop is short and bounded; a second signal must not leave the server behind.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    cluster.stop()
