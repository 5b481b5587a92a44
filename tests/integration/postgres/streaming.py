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
from runtime.postgres.provision import provision, superuser_conninfo
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


def wait_for_replay(replica: Cluster, *, of: Cluster) -> None:
    """Wait until a replica has replayed all that stands in the log of a server now."""
    wait_until(replica, f"pg_last_wal_replay_lsn() >= '{ask(of, 'SELECT pg_current_wal_insert_lsn()')}'")


def copy_schema(source: Cluster, database: str, target: Cluster, other: str) -> None:
    """Make the tables of a database in another one that is set up and empty, without what stands in them."""
    login = ("--port", "5432", "--username", "postgres")
    dumped = subprocess.run(
        [
            str(source.binaries.program("pg_dump")),
            *("--format", "custom", "--schema-only", "--host", str(source.socket_directory), *login, database),
        ],
        env=server_environment(),
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [
            str(target.binaries.program("pg_restore")),
            *("--host", str(target.socket_directory), *login, "--dbname", other),
        ],
        env=server_environment(),
        input=dumped.stdout,
        check=False,
        capture_output=True,
    )


def start_stranger(model: Cluster, database: str, home: Path) -> Cluster:
    """Start a replica of another server: in recovery, with a database of the same name and tables, and far ahead."""
    home.chmod(0o711)
    account = account_for(home)
    made = Cluster(home, SETTINGS)
    made.start()
    made.stop()
    subprocess.run(
        [str(made.binaries.program("pg_resetwal")), "-l", "0000000100000F0000000001", str(made.directory)],
        env=server_environment(),
        check=True,
        capture_output=True,
        **account.identity(),
    )
    made.start()
    provision(made.socket_directory, database)
    copy_schema(model, database, made, database)
    made.stop()
    signal = made.directory / "standby.signal"
    signal.touch()
    os.chown(signal, account.uid, account.gid)
    made.start()
    return made
