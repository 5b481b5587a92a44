"""What commands read from standard input: one line, a password or a passphrase."""

from __future__ import annotations

import sys


def line_of_stdin() -> str:
    r"""Read one line without its end, be it "\n" or, as pipes of Windows send it, "\r\n"."""
    return sys.stdin.readline().removesuffix("\n").removesuffix("\r")
