"""Make the files of a data directory: private directories, and the database files by initdb."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import stat
import subprocess
from pathlib import Path

from runtime.errors import ServerFault
from runtime.locks import FileLock
from runtime.postgres.account import Account
from runtime.postgres.surroundings import server_environment

INITDB_TIMEOUT = 300
# From this version on PostgreSQL sorts text without the system's libraries, so an update of those breaks no index.
BUILTIN_LOCALE_SINCE = 17


def private_directory(path: Path, account: Account) -> None:
    """Make a directory that only the server's user may enter, or check that it is one.

    Raises:
        ServerFault: something else stands there, for example another user's directory in /tmp.
    """
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.uid:
            raise ServerFault(f"{path} exists and is not the server's own. Move it away and start again.") from None
        path.chmod(0o700)
    else:
        if account.other:
            os.chown(path, account.uid, account.gid)


def make_database_files(
    directory: Path, *, programs: Path, major: int, account: Account, lock: FileLock, synced: bool
) -> None:
    """Make the database files of a new cluster, whole or not at all.

    Args:
        directory: `<data>/pg<major>`; must not hold anything.
        programs: the directory of initdb.
        major: its major version.
        account: the server's user.
        lock: the start lock, held.
        synced: write through to the disk before returning.

    Raises:
        ServerFault: initdb failed, or the directory holds files that are no database.
    """
    _require_entry(account)
    for leftover in directory.parent.glob(f"{directory.name}.new-*"):
        shutil.rmtree(leftover)
    if directory.exists():
        _remove_empty(directory)
    part = directory.with_name(f"{directory.name}.new-{secrets.token_hex(6)}")
    private_directory(part, account)
    result = subprocess.run(
        [str(programs / "initdb"), "-D", str(part), *_options(major, synced=synced)],
        capture_output=True,
        text=True,
        cwd=directory.parent,
        env=server_environment(),
        timeout=INITDB_TIMEOUT,
        # The child shares the lock: should this process be killed, the next start waits until initdb has ended.
        pass_fds=(lock.descriptor,),
        check=False,
        **account.identity(),
    )
    if result.returncode != 0:
        shutil.rmtree(part, ignore_errors=True)
        raise ServerFault(f"The database files could not be made; nothing is left of them.\n{result.stderr.strip()}")
    part.rename(directory)


def _require_entry(account: Account) -> None:
    # Only initdb asks for the user's name; the server itself does without.
    try:
        pwd.getpwuid(account.uid)
    except KeyError as error:
        raise ServerFault(
            f"The server would run as user {account.uid}, who has no entry in the user database (/etc/passwd), which "
            "making the database needs. Add the user, or run as one that has an entry. Nothing was started."
        ) from error


def _remove_empty(directory: Path) -> None:
    if any(directory.iterdir()):
        raise ServerFault(
            f"{directory} holds files but no database. Move it away, or put back what is missing, and start again. "
            "Nothing was changed."
        )
    directory.rmdir()


def _options(major: int, *, synced: bool) -> list[str]:
    options = ["-U", "postgres", "--encoding=UTF8", "--data-checksums", "--auth-local=trust", "--auth-host=reject"]
    options.append("--locale=C")
    if major >= BUILTIN_LOCALE_SINCE:
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return options if synced else [*options, "--no-sync"]
