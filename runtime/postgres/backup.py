"""Back up a database of the embedded server into one file, and restore it whole or not at all.

The file is pg_dump's custom format; beside it stands `<file>.json` with its checksum. It holds ciphertext and no keys:
the key vault is backed up apart. A restored file's functions and commands run as the database's superuser, so restore
only files of your own.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import subprocess
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from psycopg import sql

from runtime.errors import BackupFault, ProvisionFault
from runtime.postgres.binaries import Binaries
from runtime.postgres.provision import provision, superuser_conninfo
from runtime.postgres.roles import BACKUP, BEFORE_RESTORE, RESTORING, SUPERUSER, checked_name
from runtime.postgres.surroundings import server_environment

FORMAT = 1
MAGIC = b"PGDMP"
LARGEST_METADATA = 65_536
MESSAGE_LINES = 8
# Connections that come back between their end and the renaming make it fail; they do not come back that often.
SWAP_ATTEMPTS = 10
SWAP_PAUSE = 0.2


@dataclass(frozen=True, slots=True)
class Metadata:
    """What stands beside a backup; times are ISO 8601 in UTC, size in bytes."""

    format: int
    database: str
    server_version: str
    created_at: str
    size: int
    sha256: str


def metadata_path(path: Path) -> Path:
    """Give the path of the description that belongs to a backup file."""
    return path.with_name(f"{path.name}.json")


def backup(path: Path, *, socket_directory: Path, database: str, binaries: Binaries) -> Metadata:
    """Write a database to a new file, readable by this user only; it appears whole or not at all.

    Args:
        path: the file to write; its directory must exist.
        socket_directory: the running server's.
        database: the name of the database.
        binaries: programs of the running server's version.

    Raises:
        BackupFault: the file exists, cannot be written, or the database cannot be read.
    """
    checked_name(database)
    path = path.expanduser().absolute()
    if path.exists() or metadata_path(path).exists():
        raise BackupFault(f"{path} exists. Choose another name; a backup never overwrites one.")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.touch(mode=0o600, exist_ok=False)
        _run(
            [str(binaries.program("pg_dump")), "--format=custom", f"--file={part}", "--no-password"],
            socket_directory=socket_directory,
            user=BACKUP,
            database=database,
        )
        found = Metadata(
            format=FORMAT,
            database=database,
            server_version=binaries.version,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            size=part.stat().st_size,
            sha256=_checksum(part),
        )
        # The data first: a backup without its description can be restored, the reverse is of no use.
        part.rename(path)
        _write_metadata(metadata_path(path), found)
        _sync(path.parent)
    except OSError as error:
        raise BackupFault(f"The backup cannot be written to {path}: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)
    return found


def check(path: Path, *, binaries: Binaries) -> Metadata | None:
    """Check that a file is a whole backup; give its description, None when it came without one.

    Raises:
        BackupFault: no file, not a backup, damaged, or of a newer format or server.
    """
    path = path.expanduser().absolute()
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise BackupFault(f"{path} is not a backup made by `db backup`. Nothing was changed.")
        found = _read_metadata(metadata_path(path))
        if found is not None and (path.stat().st_size != found.size or _checksum(path) != found.sha256):
            raise BackupFault(f"{path} is damaged: it does not match {metadata_path(path).name}. Nothing was changed.")
    except OSError as error:
        raise BackupFault(f"{path} cannot be read: {error.strerror or error}. Nothing was changed.") from error
    command = [str(binaries.program("pg_restore")), "--list", str(path)]
    listed = subprocess.run(command, capture_output=True, text=True, env=server_environment(), check=False)
    if listed.returncode != 0:
        raise BackupFault(
            f"PostgreSQL {binaries.version} cannot read {path}. Nothing was changed.\n{_last(listed.stderr)}"
        )
    return found


def restore(path: Path, *, socket_directory: Path, database: str, binaries: Binaries) -> Metadata | None:
    """Replace a database by a backup: read it into a new one, then swap the names in one transaction.

    Until the swap the running database is untouched and in use; at the swap its connections end and clients connect
    again. What it held is dropped after the swap. Takes the disk space of both.

    Args:
        path: a file of `backup`.
        socket_directory: the running server's.
        database: the database to replace, or to make when it does not exist.
        binaries: programs of the running server's version.

    Returns:
        The backup's description, None when it came without one.

    Raises:
        BackupFault: the file cannot be used or restored; the running database is as it was.
    """
    checked_name(database)
    found = check(path, binaries=binaries)
    fresh, old = f"{database}{RESTORING}", f"{database}{BEFORE_RESTORE}"
    try:
        with psycopg.connect(superuser_conninfo(socket_directory), autocommit=True, connect_timeout=10) as connection:
            _drop(connection, fresh)
            try:
                _fill(path, socket_directory=socket_directory, database=fresh, binaries=binaries)
                _swap(connection, database=database, fresh=fresh, old=old)
            except BaseException:
                _drop(connection, fresh)
                raise
            _drop(connection, old)
    except psycopg.Error as error:
        reason = error.diag.message_primary or str(error).strip().splitlines()[0]
        raise BackupFault(f"The backup cannot be restored: {reason}.") from error
    return found


def _fill(path: Path, *, socket_directory: Path, database: str, binaries: Binaries) -> None:
    jobs = max(1, min(4, os.cpu_count() or 1))
    try:
        # What belongs to the database itself and not to its contents is in no backup.
        provision(socket_directory, database)
        _run(
            [str(binaries.program("pg_restore")), "--exit-on-error", "--no-password", f"--jobs={jobs}"],
            socket_directory=socket_directory,
            user=SUPERUSER,
            database=database,
            last=str(path.expanduser().absolute()),
        )
    except ProvisionFault as error:
        raise BackupFault(f"{error.message} The running database is as it was.") from error
    with psycopg.connect(superuser_conninfo(socket_directory, database), autocommit=True) as connection:
        connection.execute("ANALYZE")


def _swap(connection: psycopg.Connection, *, database: str, fresh: str, old: str) -> None:
    exists = connection.execute("SELECT FROM pg_database WHERE datname = %s", [database]).fetchone() is not None
    if exists:
        _drop(connection, old)
    rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
    for attempt in range(1, SWAP_ATTEMPTS + 1):
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ANY(%s)",
            [[database, fresh]],
        )
        try:
            with connection.transaction():
                if exists:
                    connection.execute(rename.format(sql.Identifier(database), sql.Identifier(old)))
                connection.execute(rename.format(sql.Identifier(fresh), sql.Identifier(database)))
        except psycopg.errors.ObjectInUse as error:
            if attempt == SWAP_ATTEMPTS:
                raise BackupFault(
                    "The database is in use and clients connect again at once. Stop them and restore again; the "
                    "running database is as it was."
                ) from error
            time.sleep(SWAP_PAUSE)
        else:
            return


def _drop(connection: psycopg.Connection, database: str) -> None:
    connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))


def _run(command: list[str], *, socket_directory: Path, user: str, database: str, last: str | None = None) -> None:
    target = ["--host", str(socket_directory), "--port", "5432", "--username", user, "--dbname", database]
    result = subprocess.run(
        [*command, *target, *([last] if last else [])],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=server_environment(),
        check=False,
    )
    if result.returncode != 0:
        raise BackupFault(f"{Path(command[0]).name} failed; the running database is as it was.\n{_last(result.stderr)}")


def _last(text: str) -> str:
    # COPY's context lines quote rows; the reasons stand in the lines of error.
    lines = [line for line in text.splitlines() if "error:" in line]
    return "\n".join(lines[-MESSAGE_LINES:]) or "It gave no reason."


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_metadata(path: Path, metadata: Metadata) -> None:
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(metadata), file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _read_metadata(path: Path) -> Metadata | None:
    try:
        text = path.read_bytes()[: LARGEST_METADATA + 1]
    except FileNotFoundError:
        return None
    try:
        found = Metadata(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise BackupFault(f"{path} does not describe a backup. Nothing was changed.") from error
    if found.format != FORMAT:
        raise BackupFault(f"{path} describes a backup of format {found.format!r}; this version reads {FORMAT}.")
    return found


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
