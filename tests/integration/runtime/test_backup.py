"""Backups and restores of a real database."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from runtime.errors import BackupFault
from runtime.postgres.backup import Metadata, backup, check, metadata_path, restore
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision, superuser_conninfo

DATABASE = "kept"
TABLES = """
CREATE TABLE walled (id serial PRIMARY KEY, owner text NOT NULL, v vector(3));
ALTER TABLE walled ENABLE ROW LEVEL SECURITY;
ALTER TABLE walled FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON walled USING (owner = current_setting('loci.owner', true));
CREATE INDEX near ON walled USING hnsw (v vector_l2_ops);
CREATE TABLE journal (line text UNIQUE);
REVOKE UPDATE, DELETE ON journal FROM loci_app;
INSERT INTO journal VALUES ('first');
SET loci.owner = 'one';
INSERT INTO walled (owner, v) VALUES ('one', '[1,2,3]');
SET loci.owner = 'two';
INSERT INTO walled (owner, v) VALUES ('two', '[4,5,6]');
"""
ROWS = [("one", "[1,2,3]"), ("two", "[4,5,6]")]


def connect(server: Cluster, user: str, database: str = DATABASE) -> psycopg.Connection:
    return psycopg.connect(host=str(server.socket_directory), user=user, dbname=database, autocommit=True)


def databases(server: Cluster) -> set[str]:
    with psycopg.connect(superuser_conninfo(server.socket_directory)) as connection:
        return {row[0] for row in connection.execute("SELECT datname FROM pg_database").fetchall()}


def rows(server: Cluster, database: str = DATABASE) -> list[tuple[object, ...]]:
    with connect(server, "loci_backup", database) as connection:
        return connection.execute("SELECT owner, v FROM walled ORDER BY 1").fetchall()


@pytest.fixture(autouse=True)
def _database(server: Cluster) -> Iterator[None]:
    """Make the database anew for each test."""
    provision(server.socket_directory, DATABASE)
    with connect(server, "loci_owner") as connection:
        connection.execute(TABLES)
    before = databases(server)
    yield
    assert databases(server) <= before | {"fresh"}
    with psycopg.connect(superuser_conninfo(server.socket_directory), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def make(server: Cluster, path: Path) -> Metadata:
    return backup(path, socket_directory=server.socket_directory, database=DATABASE, binaries=server.binaries)


def bring_back(server: Cluster, path: Path, database: str = DATABASE) -> Metadata | None:
    return restore(path, socket_directory=server.socket_directory, database=database, binaries=server.binaries)


def test_a_backup_brings_every_owners_rows_back(server: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "loci.backup"
    made = make(server, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(metadata_path(path).read_text())["sha256"] == made.sha256
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["loci.backup", "loci.backup.json"]
    with connect(server, "loci_owner") as connection:
        connection.execute("TRUNCATE walled")
        connection.execute("CREATE TABLE later (a int)")
    assert bring_back(server, path) == made
    assert rows(server) == ROWS
    with connect(server, "loci_owner") as connection:
        assert connection.execute("SELECT to_regclass('later')").fetchone() == (None,)


def test_walls_and_withdrawn_rights_come_back_too(server: Cluster, tmp_path: Path) -> None:
    make(server, tmp_path / "b")
    bring_back(server, tmp_path / "b")
    with connect(server, "loci_app") as connection:
        assert connection.execute("SELECT * FROM walled").fetchall() == []
        connection.execute("SET loci.owner = 'one'")
        assert connection.execute("SELECT owner FROM walled").fetchall() == [("one",)]
        connection.execute("INSERT INTO walled (owner) VALUES ('one')")
        connection.execute("INSERT INTO journal VALUES ('second')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM journal")
    with connect(server, "loci_owner") as connection:
        connection.execute("CREATE TABLE later (a int)")
    with connect(server, "loci_app") as connection:
        connection.execute("INSERT INTO later VALUES (1)")


def test_connected_clients_are_cut_off_and_can_come_back(server: Cluster, tmp_path: Path) -> None:
    make(server, tmp_path / "b")
    with connect(server, "loci_app") as client:
        client.execute("SELECT 1")
        bring_back(server, tmp_path / "b")
        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    assert rows(server) == ROWS


def test_a_backup_can_become_another_database(server: Cluster, tmp_path: Path) -> None:
    make(server, tmp_path / "b")
    bring_back(server, tmp_path / "b", "fresh")
    assert rows(server, "fresh") == rows(server) == ROWS


def test_what_a_killed_restore_left_is_no_obstacle(server: Cluster, tmp_path: Path) -> None:
    make(server, tmp_path / "b")
    with psycopg.connect(superuser_conninfo(server.socket_directory), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {DATABASE}_restoring")
        connection.execute(f"CREATE DATABASE {DATABASE}_before_restore")
    bring_back(server, tmp_path / "b")
    assert rows(server) == ROWS


def test_a_damaged_file_is_noticed_before_anything_happens(server: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "b"
    make(server, path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(BackupFault, match="damaged"):
        bring_back(server, path)
    assert rows(server) == ROWS


def test_a_file_cut_short_leaves_the_database_as_it_was(server: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "b"
    make(server, path)
    metadata_path(path).unlink()
    path.write_bytes(path.read_bytes()[:-200])
    with connect(server, "loci_owner") as connection:
        connection.execute("INSERT INTO journal VALUES ('newer')")
    with pytest.raises(BackupFault):
        bring_back(server, path)
    with connect(server, "loci_app") as connection:
        assert connection.execute("SELECT count(*) FROM journal").fetchone() == (2,)


def test_a_file_without_its_description_is_enough(server: Cluster, tmp_path: Path) -> None:
    make(server, tmp_path / "b")
    metadata_path(tmp_path / "b").unlink()
    assert bring_back(server, tmp_path / "b") is None
    assert rows(server) == ROWS


@pytest.mark.parametrize("content", [b"", b"PGDM", b"CREATE TABLE a (b int);", b"PGDMP and then nothing of use"])
def test_what_is_no_backup_is_refused(server: Cluster, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "b"
    path.write_bytes(content)
    with pytest.raises(BackupFault):
        check(path, binaries=server.binaries)
    with pytest.raises(BackupFault):
        bring_back(server, path)
    assert rows(server) == ROWS


@pytest.mark.parametrize("description", ["", "{}", "[]", '{"format": 2}', "\x00"])
def test_a_description_that_cannot_be_read_is_refused(server: Cluster, tmp_path: Path, description: str) -> None:
    make(server, tmp_path / "b")
    metadata_path(tmp_path / "b").write_text(description)
    with pytest.raises(BackupFault):
        bring_back(server, tmp_path / "b")


def test_a_format_of_the_future_is_refused(server: Cluster, tmp_path: Path) -> None:
    make(server, tmp_path / "b")
    described = json.loads(metadata_path(tmp_path / "b").read_text())
    metadata_path(tmp_path / "b").write_text(json.dumps({**described, "format": 2}))
    with pytest.raises(BackupFault, match="format 2"):
        bring_back(server, tmp_path / "b")


def test_nothing_is_overwritten_and_nothing_half_is_left(server: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "b"
    path.write_text("precious")
    with pytest.raises(BackupFault, match="exists"):
        make(server, path)
    assert path.read_text() == "precious"
    with pytest.raises(BackupFault, match="cannot be written"):
        make(server, tmp_path / "missing" / "b")
    with pytest.raises(BackupFault, match="pg_dump failed"):
        backup(
            tmp_path / "c",
            socket_directory=server.socket_directory,
            database="no-such-one",
            binaries=server.binaries,
        )
    assert [entry.name for entry in tmp_path.iterdir()] == ["b"]


def test_a_missing_file_is_a_clear_error(server: Cluster, tmp_path: Path) -> None:
    with pytest.raises(BackupFault, match="cannot be read"):
        bring_back(server, tmp_path / "missing")
    with pytest.raises(BackupFault):
        bring_back(server, tmp_path)
