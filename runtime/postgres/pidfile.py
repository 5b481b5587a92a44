"""Tell whether the process that a data directory's `postmaster.pid` names is really its server.

After a crash, a reboot or a container's restart the number may belong to nobody or to another program, which must
neither be taken for the server nor be touched.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import psutil

LONGEST_PIDFILE = 4096


def server_process(directory: Path) -> psutil.Process | None:
    """Give the live server process of a data directory, None when there is none.

    The process must be called `postgres` and carry `-D <directory>` on its command line.

    Raises:
        PermissionError: the data directory belongs to another user.
    """
    number = _number(directory / "postmaster.pid")
    if number is None:
        return None
    try:
        process = psutil.Process(number)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        command = process.cmdline()
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        # Only another user's process hides its command line, and our server runs as the user who may look.
        return None
    return process if _serves(command, directory) else None


def remove_leftovers(directory: Path, socket_directory: Path) -> None:
    """Remove what a dead server left: PostgreSQL would refuse to start over a reused process number.

    The caller holds the start lock and knows that no server process is alive.
    """
    (directory / "postmaster.pid").unlink(missing_ok=True)
    if socket_directory.is_dir():
        for leftover in socket_directory.glob(".s.PGSQL.*"):
            leftover.unlink(missing_ok=True)


def _number(path: Path) -> int | None:
    try:
        with path.open("rb") as file:
            first = file.read(LONGEST_PIDFILE).split(b"\n", 1)[0].strip()
    except FileNotFoundError:
        return None
    # A server in single-user mode writes a negative number.
    return int(first) if first.isdigit() and int(first) > 0 else None


def _serves(command: list[str], directory: Path) -> bool:
    if not command or Path(command[0]).name != "postgres":
        return False
    return any(flag == "-D" and value == str(directory) for flag, value in pairwise(command))
