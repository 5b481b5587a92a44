"""Keep the embedded server running beside web and worker, as a process of the supervisor.

Run as `python -m runtime.postgres.keep`. A server that died is started again, which recovers it; the keeper's own end
leaves the server running.
"""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType

from runtime.errors import RuntimeFault
from runtime.paths import data_directory
from runtime.postgres.cluster import Cluster

INTERVAL = 1.0


def keep(cluster: Cluster, stop: threading.Event, *, interval: float = INTERVAL) -> None:
    """Start the server whenever its process is gone, until `stop` is set.

    Args:
        cluster: the server to keep.
        stop: ends the keeping.
        interval: seconds between two looks at the process.

    Raises:
        RuntimeFault: the server cannot be started.
    """
    while not stop.is_set():
        if not cluster.alive():
            started = cluster.start()
            if started.status == "started":
                print(f"The database server runs again after {started.seconds:.1f} s.", file=sys.stderr, flush=True)
        stop.wait(interval)


def main() -> int:
    """Keep the server of the data directory until SIGTERM or SIGINT."""
    stop = threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    try:
        keep(Cluster(data_directory()), stop)
    except RuntimeFault as error:
        print(error.message, file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
