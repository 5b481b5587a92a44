"""Ports of tests' servers are given once, in this process and in others."""

from __future__ import annotations

import socket
import subprocess
import sys

from tests.environment import PROJECT
from tests.ports import FIRST, LAST, LOOPBACK, reserved_port


def test_a_port_is_given_once_in_all_processes() -> None:
    first = reserved_port()
    second = reserved_port(begin=first)
    assert first != second
    asked = f"from tests.ports import reserved_port; print(reserved_port(begin={first}))"
    done = subprocess.run([sys.executable, "-c", asked], cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert int(done.stdout) not in (first, second)
    # Whoever was given one can use it.
    with socket.socket() as server:
        server.bind((LOOPBACK, first))


def test_a_port_that_somebody_uses_is_passed_over() -> None:
    with socket.socket() as other:
        port = next(port for port in range(FIRST, LAST) if _taken(other, port))
        assert reserved_port(begin=port) != port


def _taken(by: socket.socket, port: int) -> bool:
    try:
        by.bind((LOOPBACK, port))
    except OSError:
        return False
    return True
