"""Copy the files of the embedded server while it runs, and put such a copy in their place.

The copy is a directory that `pg_basebackup` fills, with a manifest of checksums; it can be taken of databases for which
a dump takes too long. It holds ciphertext and no keys, as a dump does, and starts only with the same major version.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import BackupFault, ServerFault
from runtime.postgres.backup import MESSAGE_LINES
from runtime.postgres.binaries import Binaries
from runtime.postgres.cluster import Cluster
from runtime.postgres.files import private_directory
from runtime.postgres.roles import SUPERUSER
from runtime.postgres.surroundings import server_environment

MANIFEST = "backup_manifest"
BEFORE = ".before-restore"
# What a copy of a replica, or one for recovery to a moment, has. This is neither.
SIGNALS = ("standby.signal", "recovery.signal")


def copy_files(path: Path, *, cluster: Cluster) -> int:
    """Copy the files of a running server to a new directory; it appears whole or not at all.

    Args:
        path: the directory to make; its parent must exist.
        cluster: the running server's.

    Returns:
        The size in bytes.

    Raises:
        BackupFault: the directory exists, cannot be written, or the server refuses.
    """
    path = path.expanduser().absolute()
    if path.exists():
        raise BackupFault(f"{path} exists. Choose another name; a backup never overwrites one.")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(mode=0o700)
        target = ["--host", str(cluster.socket_directory), "--port", "5432", "--username", SUPERUSER, "--no-password"]
        _run(cluster.binaries, "pg_basebackup", "--pgdata", str(part), "--checkpoint=fast", *target)
        part.rename(path)
    except OSError as error:
        raise BackupFault(f"The backup cannot be written to {path}: {error.strerror or error}.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def check_files(path: Path, *, binaries: Binaries) -> None:
    """Check that a directory is a whole copy that these programs can start, by its manifest.

    Raises:
        BackupFault: it is not, or is damaged. Nothing was changed.
    """
    try:
        major = (path / "PG_VERSION").read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise BackupFault(f"{path} is not a backup made by `db backup --files`. Nothing was changed.") from error
    if major != str(binaries.major):
        raise BackupFault(
            f"{path} is of PostgreSQL {major}, and the programs are of {binaries.version}. Nothing was changed. Set "
            "LOCI_PG_BIN to programs of that version."
        )
    if not (path / MANIFEST).is_file():
        raise BackupFault(f"{path} has no {MANIFEST}, so nobody can tell that it is whole. Nothing was changed.")
    try:
        _run(binaries, "pg_verifybackup", "--quiet", "--exit-on-error", str(path))
    except BackupFault as error:
        raise BackupFault(f"{path} is damaged. Nothing was changed.\n{error.message}") from error


def restore_files(path: Path, *, cluster: Cluster) -> None:
    """Put a copy in the place of the files of a server that is stopped, and start it; all or nothing.

    The former files are kept until the server has started, so this takes the disk space of both. The server is running
    afterwards.

    Raises:
        BackupFault: the copy cannot be used; the former files are in their place.
        ServerFault: the server does not start with the copy; the former files are in their place.
    """
    path = path.expanduser().absolute()
    check_files(path, binaries=cluster.binaries)
    fresh = cluster.directory.with_name(f"{cluster.directory.name}.restoring-{secrets.token_hex(4)}")
    try:
        _fill(path, fresh, cluster)
        with _in_place(fresh, cluster):
            cluster.start()
    except OSError as error:
        raise BackupFault(
            f"The backup cannot be put in place: {error.strerror or error}. The former files are in their place."
        ) from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def _in_place(fresh: Path, cluster: Cluster) -> Iterator[None]:
    """Swap the directories for a block that starts the server, and back where it fails."""
    current, before = cluster.directory, cluster.directory.with_name(f"{cluster.directory.name}{BEFORE}")
    if before.exists():
        shutil.rmtree(before)
    was_there = current.exists()
    if was_there:
        current.rename(before)
    try:
        fresh.rename(current)
        yield
    except (OSError, ServerFault):
        cluster.stop()
        if current.exists():
            current.rename(fresh)
        if was_there:
            before.rename(current)
        raise
    if was_there:
        shutil.rmtree(before)


def _fill(path: Path, fresh: Path, cluster: Cluster) -> None:
    account = cluster.account
    private_directory(fresh, account)
    shutil.copytree(path, fresh, dirs_exist_ok=True, symlinks=True)
    for name in (MANIFEST, *SIGNALS):
        (fresh / name).unlink(missing_ok=True)
    for folder, folders, files in os.walk(fresh):
        for name in (*folders, *files):
            one = Path(folder) / name
            if account.other:
                os.chown(one, account.uid, account.gid, follow_symlinks=False)
        _sync(Path(folder), files)
    fresh.chmod(0o700)


def _sync(folder: Path, files: list[str]) -> None:
    for name in (".", *files):
        descriptor = os.open(folder / name, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _run(binaries: Binaries, name: str, *arguments: str) -> None:
    program = binaries.program(name)
    if not program.exists():
        raise BackupFault(f"{binaries.directory} lacks {name}, which this needs. Nothing was changed.")
    done = subprocess.run(
        [str(program), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=server_environment(),
        check=False,
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error:" in line or "fatal:" in line]
        raise BackupFault(f"{name} failed.\n" + ("\n".join(lines[-MESSAGE_LINES:]) or "It gave no reason."))
