"""Start, stop and look at the PostgreSQL server of one data directory.

Below the data directory: `pg<major>` (the database files), `run` (the socket), `log`, `server` (programs, as root
only) and the lock files. Nothing stops the server when a process of ours ends: only `stop` does.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import stat
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import psutil

from runtime.errors import ServerFault
from runtime.locks import FileLock
from runtime.paths import socket_directory as socket_directory_of
from runtime.postgres.account import Account, account_for
from runtime.postgres.binaries import Binaries, find
from runtime.postgres.files import make_database_files, private_directory
from runtime.postgres.install import server_programs
from runtime.postgres.pidfile import remove_leftovers, server_process
from runtime.postgres.surroundings import effective_settings, server_environment

START_TIMEOUT = 120
STOP_TIMEOUT = 60
POLL = 0.05
# A killed server's children need a moment to notice; until then its shared memory is in use.
SHARED_MEMORY_PATIENCE = 30.0
SHARED_MEMORY_MESSAGE = "pre-existing shared memory block"
LARGEST_LOG = 10 * 1024 * 1024
LOG_TAIL_LINES = 15
LOG_TAIL_BYTES = 16_384
UNUSABLE_IN_PATHS = re.compile(r"[\"'`$\\,\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class Started:
    """How a start went: a server was started, or one was running already; seconds it took."""

    status: Literal["started", "attached"]
    seconds: float


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of a server; `running` means that it accepts connections.

    A process number without `running` is a server that is starting up or recovering.
    """

    running: bool
    pid: int | None
    version: str
    data: Path
    socket: Path


class Cluster:
    """One data directory and its server."""

    def __init__(
        self, data: Path, settings: Mapping[str, str] | None = None, *, binaries: Binaries | None = None
    ) -> None:
        """Name a data directory; nothing is touched until `start`.

        Args:
            data: the product's data directory, made when it does not exist.
            settings: server settings that replace or add to the product's, for example {"fsync": "off"}.
            binaries: the programs to use; looked up by `find` when left out.

        Raises:
            ServerFault: the path holds a character that the server cannot take, or a setting is not a setting.
        """
        self.data = Path(data).expanduser().resolve()
        if UNUSABLE_IN_PATHS.search(str(self.data)):
            raise ServerFault("The data directory's path holds quotes, commas, $ or \\. Choose a plainer one.")
        self.settings = effective_settings(settings or {})
        self._given = binaries

    @cached_property
    def binaries(self) -> Binaries:
        """Give the programs in use; raises BinariesMissing when there are none."""
        return self._given or find()

    @property
    def socket_directory(self) -> Path:
        """Give the directory of the server's socket, which clients take as host."""
        return socket_directory_of(self.data)

    @property
    def directory(self) -> Path:
        """Give the directory of the database files."""
        return self.data / f"pg{self.binaries.major}"

    @property
    def log(self) -> Path:
        """Give the server's log file."""
        return self.data / "log" / "postgres.log"

    def start(self) -> Started:
        """Start the server, or attach to the one that runs; several callers at once get one server.

        Makes the database files first where there are none (about 2 s). Waits up to 120 s for a recovery.

        Raises:
            BinariesMissing: there is no server program.
            ServerFault: it cannot be started; the message ends with the last lines of its log.
        """
        begun = time.monotonic()
        try:
            self._make_data_directory()
            with FileLock(self.data / "start.lock") as lock:
                attached = self._process() is not None
                if not attached:
                    self._start_locked(lock)
                self._wait_until_ready()
        except PermissionError as error:
            raise ServerFault(
                f"{error.filename or self.data} belongs to another user. Run this as that user, or choose another "
                "LOCI_DATA_DIR. Nothing was changed."
            ) from error
        return Started("attached" if attached else "started", time.monotonic() - begun)

    def stop(self) -> bool:
        """Stop the server, ending its connections; tell whether one was running.

        Raises:
            ServerFault: it did not end within 60 s, or belongs to another user.
        """
        if not self.data.is_dir():
            return False
        try:
            with FileLock(self.data / "start.lock"):
                process = self._process()
                if process is None:
                    return False
                # The fast shutdown: connections end, the files are left clean.
                process.send_signal(signal.SIGINT)
                self._wait_until_gone(process)
        except psutil.NoSuchProcess:
            return True
        except (PermissionError, psutil.AccessDenied) as error:
            raise ServerFault("The server belongs to another user. Stop it as that user.") from error
        return True

    def status(self) -> Status:
        """Tell whether the server runs, without starting or making anything.

        Raises:
            BinariesMissing: there is no server program.
            ServerFault: the data directory belongs to another user.
        """
        try:
            process = self._process()
        except PermissionError as error:
            raise ServerFault(f"{self.directory} belongs to another user. Ask as that user.") from error
        running = process is not None and self._ready()
        pid = None if process is None else process.pid
        return Status(running, pid, self.binaries.version, self.directory, self.socket_directory)

    def alive(self) -> bool:
        """Tell whether the server's process exists, at next to no cost; it may be starting up still."""
        return self._process() is not None

    def _process(self) -> psutil.Process | None:
        return server_process(self.directory)

    @property
    def account(self) -> Account:
        """Give the operating system's user that the server runs as."""
        return account_for(self.directory, self.data)

    def _make_data_directory(self) -> None:
        root = os.geteuid() == 0
        if not self.data.exists():
            self.data.mkdir(parents=True, mode=0o711 if root else 0o700)
        if root and self.data.stat().st_uid == 0:
            # The server's user must pass through; the files inside stay closed. Parents are left alone.
            self.data.chmod(stat.S_IMODE(self.data.stat().st_mode) | 0o711)

    def _start_locked(self, lock: FileLock) -> None:
        self._refuse_other_major()
        account = self.account
        self._check_reachable(self.data, account)
        programs = server_programs(self.binaries, self.data, account)
        self._check_reachable(programs / "postgres", account)
        private_directory(self.socket_directory, account)
        private_directory(self.log.parent, account)
        if not (self.directory / "PG_VERSION").exists():
            make_database_files(
                self.directory,
                programs=programs,
                major=self.binaries.major,
                account=account,
                lock=lock,
                synced=self.settings.get("fsync") != "off",
            )
        remove_leftovers(self.directory, self.socket_directory)
        self._rotate_log()
        self._launch(programs, account)

    def _refuse_other_major(self) -> None:
        majors = [
            entry.name.removeprefix("pg")
            for entry in self.data.glob("pg*")
            if entry.name.removeprefix("pg").isdigit() and (entry / "PG_VERSION").exists()
        ]
        if majors and str(self.binaries.major) not in majors:
            raise ServerFault(
                f"The database in {self.data} was made by PostgreSQL {majors[0]}, but the programs found are of "
                f"version {self.binaries.version}. Nothing was changed. Set LOCI_PG_BIN to the older programs, make a "
                "backup, move the old directory away and restore with the new ones."
            )

    def _check_reachable(self, path: Path, account: Account) -> None:
        if not account.other:
            return
        # Asked of the kernel as that user, which knows of access lists and mounts.
        result = subprocess.run(
            ["/bin/sh", "-c", 'cd / && test -x "$1"', "sh", str(path)],
            capture_output=True,
            env=server_environment(),
            check=False,
            **account.identity(),
        )
        if result.returncode != 0:
            raise ServerFault(
                f"The server runs as user {account.uid}, who cannot reach {path}. Choose a LOCI_DATA_DIR whose parents "
                "others may enter (the default is /var/lib/loci), or name another user in LOCI_PG_USER. Nothing was "
                "started."
            )

    def _rotate_log(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self.log.lstat().st_size > LARGEST_LOG:
                self.log.rename(self.log.with_suffix(".log.1"))

    def _launch(self, programs: Path, account: Account) -> None:
        deadline = time.monotonic() + SHARED_MEMORY_PATIENCE
        while True:
            offset = self.log.stat().st_size if self.log.exists() else 0
            result = self._pg_ctl_start(programs, account)
            # A start that was cut short earlier may have left a server coming up; it is then the one to wait for.
            if result.returncode == 0 or self._process() is not None:
                return
            lines = self._log_since(offset)
            if SHARED_MEMORY_MESSAGE not in lines or time.monotonic() > deadline:
                raise ServerFault(
                    f"The database server did not start. The files in {self.directory} are as they were.\n"
                    f"{_tail(lines or result.stderr)}"
                )
            time.sleep(0.5)

    def _pg_ctl_start(self, programs: Path, account: Account) -> subprocess.CompletedProcess[str]:
        settings = {**self.settings, "unix_socket_directories": str(self.socket_directory)}
        options = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in settings.items())
        command = [str(programs / "pg_ctl"), "start", "-D", str(self.directory), "-l", str(self.log)]
        return subprocess.run(
            [*command, "-s", "-w", "-t", str(START_TIMEOUT), "-o", options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.data,
            env=server_environment(),
            start_new_session=True,
            check=False,
            **account.identity(),
        )

    def _ready(self) -> bool:
        command = [str(self.binaries.program("pg_isready")), "-q", "-h", str(self.socket_directory), "-p", "5432"]
        command += ["-U", "postgres", "-d", "postgres"]
        return subprocess.run(command, env=server_environment(), check=False).returncode == 0

    def _wait_until_gone(self, process: psutil.Process) -> None:
        deadline = time.monotonic() + STOP_TIMEOUT
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                raise ServerFault(f"The server did not stop within {STOP_TIMEOUT} s. See {self.log}.")
            time.sleep(POLL)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not self._ready():
            if self._process() is None:
                raise ServerFault(f"The database server ended while starting up.\n{_tail(self._log_since(0))}")
            if time.monotonic() > deadline:
                raise ServerFault(
                    f"The database server is not ready after {START_TIMEOUT} s; it goes on recovering. Try again "
                    f"later.\n{_tail(self._log_since(0))}"
                )
            time.sleep(POLL)

    def _log_since(self, offset: int) -> str:
        try:
            with self.log.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(offset, end - LOG_TAIL_BYTES))
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""


def _tail(text: str) -> str:
    return "\n".join(text.strip().splitlines()[-LOG_TAIL_LINES:])
