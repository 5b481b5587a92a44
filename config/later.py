"""Start a process once another one listens: `python -m config.later HOST PORT PATIENCE COMMAND…`.

The worker is started this way. Both it and the web process take a second or two of computing to come up, and people
wait for the web process only. Standard library only, so that waiting costs nothing.
"""

from __future__ import annotations

import os
import socket
import sys
import time

POLL = 0.1
CONNECT_TIMEOUT = 1.0


def wait_until_listening(host: str, port: int, patience: float) -> bool:
    """Wait until something accepts connections, at most `patience` seconds; tell whether it does."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, port), timeout=CONNECT_TIMEOUT).close()
        except OSError:
            time.sleep(POLL)
        else:
            return True
    return False


def main() -> None:
    """Wait, then become the command; it starts without the other one as well, only later."""
    host, port, patience, *command = sys.argv[1:]
    wait_until_listening(host, int(port), float(patience))
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
