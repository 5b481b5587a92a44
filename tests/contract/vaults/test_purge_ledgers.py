"""Every ledger of purges keeps the same promises, in a directory and in a database."""

from __future__ import annotations

import json
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from memory.errors import KeysUnavailable
from memory.ports.ledger import PurgeEntry, PurgeLedger, hashed
from memory.providers.ledger_database import PAGE, DatabaseLedger
from memory.providers.ledger_directory import FILE, DirectoryLedger
from runtime.postgres.cluster import Cluster

MOMENT = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)

Opener = Callable[[], PurgeLedger]
Damage = Callable[[str], None]


@pytest.fixture(params=["directory", "database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Opener, Damage, Callable[[], str]]]:
    """Give what opens a ledger anew, what adds raw text to it, and what reads all that it has stored."""
    if request.param == "directory":
        path = tmp_path / "keys" / FILE

        def add(text: str) -> None:
            with path.open("a") as file:
                file.write(text + "\n")

        yield lambda: DirectoryLedger(tmp_path / "keys"), add, path.read_text
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    name = f"loci_test_ledger_{secrets.token_hex(4)}"
    admin = f"host={cluster.socket_directory} user=postgres dbname=postgres"
    url = f"host={cluster.socket_directory} user=postgres dbname={name}"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())

    def insert(text: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("INSERT INTO loci_purges (entry) VALUES (%s::jsonb)", [text])

    def everything() -> str:
        with psycopg.connect(url, autocommit=True) as connection:
            return str(connection.execute("SELECT json_agg(entry)::text FROM loci_purges").fetchall())

    try:
        yield lambda: DatabaseLedger(url), insert, everything
    finally:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@pytest.fixture
def opened(store: tuple[Opener, Damage, Callable[[], str]]) -> Opener:
    return store[0]


def entry(owner: UUID | None = None, *rows: UUID, subject: str = "memory", minutes: int = 0) -> PurgeEntry:
    salt = secrets.token_bytes(16)
    erased = tuple(hashed(salt, one) for one in rows)
    return PurgeEntry(
        uuid4(), subject, salt, hashed(salt, owner or uuid4()), erased, MOMENT + timedelta(minutes=minutes)
    )


def test_a_new_ledger_is_empty(opened: Opener) -> None:
    assert list(opened().entries()) == []


def test_entries_survive_in_order(opened: Opener) -> None:
    made = [entry(None, uuid4(), uuid4(), minutes=n) for n in range(3)] + [entry(subject="owner")]
    for one in made:
        opened().append(one)
    assert list(opened().entries()) == made


def test_entries_name_nobody(store: tuple[Opener, Damage, Callable[[], str]]) -> None:
    owner, row = uuid4(), uuid4()
    made = entry(owner, row)
    store[0]().append(made)
    stored = store[2]()
    for one in (owner, row):
        assert str(one) not in stored
        assert one.hex not in stored
    assert made.owner == hashed(made.salt, owner)
    assert made.owner != entry(owner).owner, "the salt differs, so the same owner looks another one"


def test_many_at_once_are_all_kept(opened: Opener) -> None:
    made = [entry(None, uuid4()) for _ in range(24)]
    threads = [threading.Thread(target=opened().append, args=(one,)) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.purge_id for one in opened().entries()) == sorted(one.purge_id for one in made)


def test_a_large_entry_is_kept_whole(opened: Opener) -> None:
    made = entry(None, *(uuid4() for _ in range(5_000)))
    opened().append(made)
    opened().append(entry())
    assert next(iter(opened().entries())) == made


@pytest.mark.parametrize(
    "text",
    ["{}", '{"format": 2}', '{"format": 1, "purge": "x"}', "[1]", '"text"', '{"format": 1, "salt": 5}'],
    ids=["empty", "format", "purge", "list", "text", "salt"],
)
def test_a_damaged_entry_is_an_error(store: tuple[Opener, Damage, Callable[[], str]], text: str) -> None:
    """What cannot be read might name somebody who must not come back; leaving it out in silence would do that."""
    store[0]().append(entry())
    store[1](text)
    store[0]().append(entry())
    with pytest.raises(KeysUnavailable):
        list(store[0]().entries())


def test_a_database_is_read_in_pages(cluster: Cluster) -> None:
    name = f"loci_test_ledger_{secrets.token_hex(4)}"
    admin = f"host={cluster.socket_directory} user=postgres dbname=postgres"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    try:
        url = f"host={cluster.socket_directory} user=postgres dbname={name}"
        first = entry()
        DatabaseLedger(url).append(first)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO loci_purges (entry) SELECT entry FROM loci_purges, generate_series(1, %s)", [2 * PAGE]
            )
        assert sum(one == first for one in DatabaseLedger(url).entries()) == 2 * PAGE + 1
    finally:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def test_an_absent_database_is_an_error_of_its_own(cluster: Cluster) -> None:
    ledger = DatabaseLedger(f"host={cluster.socket_directory} user=postgres dbname=loci_no_such_database")
    with pytest.raises(KeysUnavailable, match="KEYS_DATABASE_URL"):
        ledger.append(entry())
    with pytest.raises(KeysUnavailable, match="KEYS_DATABASE_URL"):
        list(ledger.entries())


@pytest.mark.parametrize("kept", [1, 40, -1], ids=["one byte", "a part", "all but the end of line"])
def test_a_torn_last_line_costs_that_line_only(tmp_path: Path, kept: int) -> None:
    ledger = DirectoryLedger(tmp_path)
    made = [entry(None, uuid4()), entry(None, uuid4())]
    for one in made:
        ledger.append(one)
    path = tmp_path / FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:kept])
    assert list(ledger.entries()) == made[:1]
    later = entry()
    ledger.append(later)
    assert list(ledger.entries()) == [made[0], later]
    assert [json.loads(line)["purge"] for line in path.read_text().splitlines()] == [
        str(made[0].purge_id),
        str(later.purge_id),
    ]


def test_only_this_user_may_read_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        DirectoryLedger(tmp_path / "keys").append(entry())
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "keys" / FILE).stat().st_mode) == 0o600


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("a file where the directory should be")
    with pytest.raises(KeysUnavailable, match="nothing was erased"):
        DirectoryLedger(tmp_path / "keys").append(entry())
