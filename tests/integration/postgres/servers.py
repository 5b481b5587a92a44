"""A PostgreSQL server as an operator has one, reached over TCP with passwords, and a pooler before it."""

from __future__ import annotations

import os
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import psycopg

from runtime.postgres.account import account_for
from runtime.postgres.binaries import Binaries
from runtime.postgres.files import private_directory
from runtime.postgres.install import server_programs
from runtime.postgres.surroundings import server_environment
from tests.ports import reserved_port

PATIENCE = 60.0
FAST: Mapping[str, str] = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "64MB", "max_connections": "60"}


class OwnServer:
    """A server that Loci did not make: TCP and passwords only, and defaults of its own."""

    def __init__(self, home: Path, binaries: Binaries, *, encoding: str = "UTF8") -> None:
        home.chmod(0o711)
        self.home, self.binaries = home, binaries
        self.account = account_for(home)
        self.programs = server_programs(binaries, home, self.account)
        self.data = home / "own"
        self.port = reserved_port()
        self.password = secrets.token_hex(8)
        self._initialise(encoding)

    def _initialise(self, encoding: str) -> None:
        private_directory(self.data, self.account)
        password = self.home / "password"
        password.write_text(self.password)
        password.chmod(0o644)
        self._run("initdb", "-D", self.data, "-U", "postgres", "--auth=scram-sha-256", f"--pwfile={password}", "-N",
                  f"--encoding={encoding}", "--locale=C")  # fmt: skip
        password.unlink()

    def _run(self, program: str, *arguments: object) -> None:
        subprocess.run(
            [str(self.programs / program), *map(str, arguments)],
            env=server_environment(),
            cwd=self.home,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            **self.account.identity(),
        )

    def start(self, settings: Mapping[str, str] | None = None) -> None:
        """Start it and wait until it answers."""
        chosen = {**FAST, "listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        options = " ".join(f"-c {name}='{value}'" for name, value in {**chosen, **(settings or {})}.items())
        self._run("pg_ctl", "start", "-D", self.data, "-l", self.data / "log", "-s", "-w", "-o", options)

    def stop(self) -> None:
        """Stop it at once."""
        if (self.data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-D", self.data, "-s", "-w", "-m", "fast")

    def url(self, user: str = "postgres", password: str = "", *, database: str = "postgres", port: int = 0) -> str:
        """Give an address of the server, as the superuser unless another role is named."""
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{port or self.port}/{database}"

    def execute(self, statement: str, *, database: str = "postgres") -> None:
        """Run a statement as the superuser."""
        with psycopg.connect(self.url(database=database), autocommit=True) as connection:
            connection.execute(statement.encode())


class Pooler:
    """PgBouncer in transaction mode, which refuses start-up parameters that it does not know."""

    def __init__(self, home: Path, server: OwnServer, program: str, passwords: Mapping[str, str], *, size: int) -> None:
        self.home, self.server, self.program = home, server, program
        self.port = reserved_port()
        users = "".join(f'"{user}" "{password}"\n' for user, password in passwords.items())
        (home / "users.txt").write_text(users)
        (home / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {home}/users.txt\n"
            f"pool_mode = transaction\ndefault_pool_size = {size}\nmax_client_conn = 300\nlogfile =\n"
        )
        for path in (home, home / "users.txt", home / "pgbouncer.ini"):
            os.chown(path, server.account.uid, server.account.gid)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        self.process = subprocess.Popen(
            [self.program, "-q", str(self.home / "pgbouncer.ini")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self.server.account.identity(),
        )
        until = time.monotonic() + PATIENCE
        while True:
            assert self.process.poll() is None, "the pooler ended"
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return
            except OSError:
                assert time.monotonic() < until

    def stop(self) -> None:
        """Stop it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE)


def shown_passwords(said: str) -> dict[str, str]:
    """Find the passwords of roles that `db provision --passwords` has printed."""
    return dict(re.findall(r"^  (\w+) \(.*\): (\S+)$", said, re.MULTILINE))
