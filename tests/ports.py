"""Ports of this machine for servers of tests that have to be told theirs before they listen.

A port that was only free when somebody looked is soon another one's: the kernel gives it to the next that connects, and
another worker of tests finds it free too. These are below those that kernels give, and nobody is given one twice.
"""

from __future__ import annotations

import atexit
import random
import socket
from itertools import chain
from typing import Final

LOOPBACK: Final = "127.0.0.1"
FIRST: Final = 15_000
LAST: Final = 32_000


def reserved_port(*, begin: int | None = None) -> int:
    """Give a port that nobody uses and that no other process of tests is given while this one lives.

    Args:
        begin: the port to begin the search at, FIRST to LAST; anywhere when left out.
    """
    begin = random.randint(FIRST, LAST) if begin is None else begin
    for port in chain(range(begin, LAST + 1), range(FIRST, begin)):
        # The servers speak TCP; holding the same number of UDP tells the others that it is taken, and needs no file.
        mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            mark.bind((LOOPBACK, port))
            with socket.socket() as probe:
                probe.bind((LOOPBACK, port))
        except OSError:
            mark.close()
            continue
        atexit.register(mark.close)
        return port
    raise AssertionError("every port is in use")
