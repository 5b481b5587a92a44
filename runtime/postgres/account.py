"""Which operating-system user the server runs as: PostgreSQL refuses root."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from runtime.errors import ServerFault

# The kernel's overflow user, which the name `nobody` stands for on Linux; macOS gives the name another number.
NOBODY = 65534


class Identity(TypedDict, total=False):
    """Arguments of subprocess functions that change the user; empty when nothing changes."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class Account:
    """The user and group of the server's processes and files."""

    uid: int
    gid: int

    @property
    def other(self) -> bool:
        """Tell whether this is another user than the one of this process."""
        return self.uid != os.geteuid()

    def identity(self) -> Identity:
        """Give the arguments that make subprocess run a program as this user."""
        if not self.other:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def account_for(*directories: Path) -> Account:
    """Choose the server's user.

    Anyone but root runs the server as themselves. For root it is the owner of the first given directory that exists
    and is not root's, else `LOCI_PG_USER` (a name or a number), else `nobody`.

    Raises:
        ServerFault: `LOCI_PG_USER` names nobody or root.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for directory in directories:
        if directory.exists():
            found = directory.stat()
            if found.st_uid != 0:
                return Account(found.st_uid, found.st_gid)
    chosen = os.environ.get("LOCI_PG_USER", "").strip()
    return _named(chosen) if chosen else _nobody()


def _nobody() -> Account:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        return Account(NOBODY, NOBODY)
    return Account(entry.pw_uid, entry.pw_gid)


def _named(chosen: str) -> Account:
    try:
        entry = pwd.getpwuid(int(chosen)) if chosen.isdigit() else pwd.getpwnam(chosen)
    except KeyError as error:
        if not chosen.isdigit():
            raise ServerFault("LOCI_PG_USER names a user that does not exist. Make the user first.") from error
        account = Account(int(chosen), int(chosen))
    else:
        account = Account(entry.pw_uid, entry.pw_gid)
    if account.uid == 0:
        raise ServerFault("LOCI_PG_USER is root, and PostgreSQL refuses to run as root. Name another user.")
    return account
