"""Which user the server runs as."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from runtime.errors import ServerFault
from runtime.postgres.account import NOBODY, Account, account_for


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look like root, without a choice."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("LOCI_PG_USER", raising=False)


class Owned(type(Path())):  # type: ignore[misc]
    """A path that exists and belongs to somebody."""

    uid = 0

    def exists(self, **_: object) -> bool:
        """Say so."""
        return True

    def stat(self, **_: object) -> os.stat_result:
        """Give only what is asked for: the owner."""
        return os.stat_result((0o700, 0, 0, 1, self.uid, self.uid, 0, 0, 0, 0))


def owned(uid: int) -> Path:
    path = Owned("/srv/loci")
    path.uid = uid
    return path


def test_anyone_but_root_runs_it_as_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 1001)
    account = account_for(owned(2000))
    assert account == Account(1000, 1001)
    assert account.identity() == {}


@pytest.mark.usefixtures("as_root")
def test_for_root_it_is_the_first_owner_who_is_not_root(tmp_path: Path) -> None:
    account = account_for(tmp_path / "missing", owned(0), owned(1234))
    assert account == Account(1234, 1234)
    assert account.identity() == {"user": 1234, "group": 1234, "extra_groups": []}


@pytest.mark.usefixtures("as_root")
def test_for_root_without_an_owner_it_is_nobody() -> None:
    nobody = pwd.getpwnam("nobody")
    assert account_for(owned(0)) == Account(nobody.pw_uid, nobody.pw_gid)


@pytest.mark.usefixtures("as_root")
def test_a_system_without_the_name_has_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(pwd, "getpwnam", unknown)
    assert account_for(owned(0)) == Account(NOBODY, NOBODY)


@pytest.mark.usefixtures("as_root")
def test_root_can_name_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = next(entry for entry in pwd.getpwall() if entry.pw_uid != 0)
    monkeypatch.setenv("LOCI_PG_USER", entry.pw_name)
    assert account_for(owned(0)) == Account(entry.pw_uid, entry.pw_gid)
    monkeypatch.setenv("LOCI_PG_USER", "54321")
    assert account_for(owned(0)).uid == 54321


@pytest.mark.usefixtures("as_root")
@pytest.mark.parametrize("name", ["root", "0", "no-such-user-here"])
def test_a_name_that_cannot_be_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCI_PG_USER", name)
    with pytest.raises(ServerFault, match="LOCI_PG_USER"):
        account_for(owned(0))
