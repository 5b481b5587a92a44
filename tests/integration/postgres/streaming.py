"""A streaming replica of the tests' own server, made by `pg_basebackup`."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import psycopg

from runtime.postgres.account import account_for
from runtime.postgres.cluster import Cluster
from runtime.postgres.files import private_directory
from runtime.postgres.provision import superuser_conninfo
from runtime.postgres.surroundings import server_environment

# An end to waiting, not a measurement.
PATIENCE = 60.0
SETTINGS = {"fsync": "off", "full_page_writes": "off", "max_connections": "80", "shared_buffers": "64MB"}


def start_replica(primary: Cluster, home: Path) -> Cluster:
    """Copy a running server and start the copy as its replica."""
    home.chmod(0o711)
    account = account_for(home)
    copy = Cluster(home, SETTINGS)
    private_directory(copy.directory, account)
    subprocess.run(
        [
            str(primary.binaries.program("pg_basebackup")),
            *("--pgdata", str(copy.directory), "--host", str(primary.socket_directory), "--port", "5432"),
            *("--username", "postgres", "--write-recovery-conf", "--checkpoint", "fast", "--no-sync"),
        ],
        env=server_environment(),
        check=True,
        capture_output=True,
    )
    for folder, _, files in os.walk(copy.directory):
        for name in (".", *files):
            os.chown(Path(folder) / name, account.uid, account.gid)
    copy.start()
    return copy


def ask(server: Cluster, statement: str) -> Any:
    """Ask a server as its superuser for one value."""
    with psycopg.connect(superuser_conninfo(server.socket_directory), autocommit=True) as connection:
        row = connection.execute(statement.encode()).fetchone()
        return None if row is None else row[0]


def wait_until(server: Cluster, condition: str) -> None:
    """Return as soon as a condition in SQL holds on a server."""
    until = time.monotonic() + PATIENCE
    while not ask(server, f"SELECT {condition}"):
        assert time.monotonic() < until, condition
