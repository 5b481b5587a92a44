"""End the supervisor's children when the supervisor was killed and could not do it itself.

Run as a program with the supervisor's pipe as standard input. A line `+<group>` names a process group to end,
`-<group>` takes it back. When the pipe closes, which the kernel sees to however the supervisor dies, the groups that
are left are ended: SIGTERM, the grace in seconds given as argument, SIGKILL. Works where a parent-death signal does
not (macOS) and reaches grandchildren too. Standard library only.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable

POLL = 0.05


def signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group (0 only asks); tell whether anything is left of it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS says so of a group of which only unreaped processes are left.
        return False
    return True


def end_groups(groups: Iterable[int], grace: float) -> None:
    """End process groups: SIGTERM, up to `grace` seconds to go, SIGKILL."""
    left = {group for group in groups if signal_group(group, signal.SIGTERM)}
    deadline = time.monotonic() + grace
    while left and time.monotonic() < deadline:
        time.sleep(POLL)
        left = {group for group in left if signal_group(group, 0)}
    for group in left:
        signal_group(group, signal.SIGKILL)


def main() -> None:
    """Watch the pipe on standard input until it closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        sign, group = line[:1], int(line[1:])
        if sign == b"+":
            groups.add(group)
        else:
            groups.discard(group)
    end_groups(groups, float(sys.argv[1]))


if __name__ == "__main__":
    main()
