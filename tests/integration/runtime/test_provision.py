"""Setting up roles, database and extension."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from runtime.errors import BinariesMissing, ProvisionFault
from runtime.postgres import binaries
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision, provision_server, superuser_conninfo
from runtime.postgres.roles import script
from tests.integration.runtime.conftest import FAST, temporary_directory

WALLED = """
CREATE TABLE walled (owner text NOT NULL, words text NOT NULL);
ALTER TABLE walled ENABLE ROW LEVEL SECURITY;
ALTER TABLE walled FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON walled USING (owner = current_setting('loci.owner', true));
SET loci.owner = 'one';
INSERT INTO walled VALUES ('one', 'mine');
SET loci.owner = 'two';
INSERT INTO walled VALUES ('two', 'theirs');
"""


def connect(server: Cluster, user: str, database: str = "loci") -> psycopg.Connection:
    return psycopg.connect(host=str(server.socket_directory), user=user, dbname=database, autocommit=True)


def roles(server: Cluster) -> list[tuple[object, ...]]:
    with psycopg.connect(superuser_conninfo(server.socket_directory)) as connection:
        return connection.execute(
            "SELECT rolname, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolreplication, rolcanlogin"
            " FROM pg_roles WHERE rolname LIKE 'loci%' ORDER BY 1"
        ).fetchall()


EXPECTED_ROLES = [
    ("loci_app", False, False, False, False, False, True),
    ("loci_backup", False, True, False, False, False, True),
    ("loci_owner", False, False, False, False, False, True),
]


@pytest.fixture(scope="module", autouse=True)
def _walled(server: Cluster) -> None:
    with connect(server, "loci_owner") as connection:
        connection.execute(WALLED)


def test_it_can_be_repeated(server: Cluster) -> None:
    assert roles(server) == EXPECTED_ROLES
    provision(server.socket_directory, "loci")
    provision(server.socket_directory, "loci")
    assert roles(server) == EXPECTED_ROLES


def test_a_role_that_got_too_much_is_put_right(server: Cluster) -> None:
    with psycopg.connect(superuser_conninfo(server.socket_directory)) as connection:
        connection.execute("ALTER ROLE loci_app SUPERUSER BYPASSRLS CREATEDB")
        connection.execute("ALTER ROLE loci_backup NOBYPASSRLS NOLOGIN")
    provision(server.socket_directory, "loci")
    assert roles(server) == EXPECTED_ROLES


def test_the_application_sees_one_owner_only(server: Cluster) -> None:
    with connect(server, "loci_app") as connection:
        assert connection.execute("SELECT * FROM walled").fetchall() == []
        connection.execute("SET loci.owner = 'one'")
        assert connection.execute("SELECT words FROM walled").fetchall() == [("mine",)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO walled VALUES ('two', 'forged')")


def test_the_owning_role_is_walled_too(server: Cluster) -> None:
    with connect(server, "loci_owner") as connection:
        assert connection.execute("SELECT * FROM walled").fetchall() == []


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE own (a int)",
        "DROP TABLE walled",
        "ALTER TABLE walled DISABLE ROW LEVEL SECURITY",
        "SET ROLE loci_owner",
        "SET ROLE loci_backup",
        "CREATE DATABASE own",
        "ALTER ROLE loci_app BYPASSRLS",
        "TRUNCATE walled",
    ],
)
def test_the_application_cannot_change_the_schema_or_its_role(server: Cluster, statement: str) -> None:
    with connect(server, "loci_app") as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement)


def test_the_backup_role_reads_all_and_writes_nothing(server: Cluster) -> None:
    with connect(server, "loci_backup") as connection:
        assert connection.execute("SELECT count(*) FROM walled").fetchall() == [(2,)]
        for statement in ("DELETE FROM walled", "INSERT INTO walled VALUES ('a', 'b')", "CREATE TABLE own (a int)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


@pytest.mark.parametrize("user", ["loci_app", "loci_owner"])
def test_plans_are_made_for_each_statement(server: Cluster, user: str) -> None:
    with connect(server, user) as connection:
        assert connection.execute("SHOW plan_cache_mode").fetchone() == ("force_custom_plan",)
        assert connection.execute("SHOW jit").fetchone() == ("off",)


def test_pgvector_is_there_with_iterative_scans(server: Cluster) -> None:
    with connect(server, "loci_app") as connection:
        assert connection.execute("SELECT '[1,2]'::halfvec(2) <-> '[1,3]'").fetchone() == (1.0,)
        connection.execute("SET hnsw.iterative_scan = relaxed_order")


def test_another_database_has_the_same_walls_and_strangers_cannot_connect(server: Cluster) -> None:
    provision(server.socket_directory, "another-one")
    with connect(server, "loci_owner", "another-one") as connection:
        connection.execute("CREATE TABLE numbered (id serial PRIMARY KEY)")
    with connect(server, "loci_app", "another-one") as connection:
        connection.execute("INSERT INTO numbered DEFAULT VALUES")
    with psycopg.connect(superuser_conninfo(server.socket_directory)) as connection:
        connection.execute("DROP ROLE IF EXISTS stranger")
        connection.execute("CREATE ROLE stranger LOGIN")
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        connect(server, "stranger", "another-one")


def test_text_sorts_the_same_everywhere_and_has_case_beyond_ascii(server: Cluster) -> None:
    with connect(server, "loci_app") as connection:
        assert connection.execute("SELECT upper('é'), 'Z' < 'a', 'é' > 'z'").fetchone() == ("É", True, True)


def test_passwords_reach_the_server_hashed(server: Cluster) -> None:
    provision_server(superuser_conninfo(server.socket_directory), "loci", passwords={"loci_app": "planted-password"})
    with psycopg.connect(superuser_conninfo(server.socket_directory)) as connection:
        row = connection.execute("SELECT rolpassword FROM pg_authid WHERE rolname = 'loci_app'").fetchone()
    assert row is not None
    assert row[0].startswith("SCRAM-SHA-256$")
    with pytest.raises(ProvisionFault, match="no role"):
        provision_server(superuser_conninfo(server.socket_directory), "loci", passwords={"postgres": "x"})


def test_the_printed_script_does_the_same(server: Cluster) -> None:
    text = script("by-hand").split("-- Then give")[0]
    for _ in range(2):
        subprocess.run(
            [server.binaries.program("psql"), "-X", superuser_conninfo(server.socket_directory)],
            input=text,
            text=True,
            check=True,
            capture_output=True,
        )
    with connect(server, "loci_owner", "by-hand") as connection:
        connection.execute("CREATE TABLE t (v vector(2))")
    with connect(server, "loci_app", "by-hand") as connection:
        connection.execute("INSERT INTO t VALUES ('[1,2]')")
    assert roles(server) == EXPECTED_ROLES


def test_a_role_that_may_not_is_refused_with_the_servers_reason(server: Cluster) -> None:
    with pytest.raises(ProvisionFault, match="permission denied"):
        provision_server(f"host={server.socket_directory} user=loci_app dbname=loci", "fresh")


def test_no_server_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ProvisionFault, match="cannot be set up"):
        provision(tmp_path, "loci")


@pytest.fixture
def without_vector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Run the system's server where it has no pgvector."""
    candidates = sorted(
        path
        for path in Path("/usr/lib/postgresql").glob("*/bin")
        if not (binaries.SYSTEM_SHARE / path.parent.name / "extension" / "vector.control").exists()
    )
    if not candidates:
        pytest.skip("no system PostgreSQL without pgvector here")
    monkeypatch.setenv("LOCI_PG_BIN", str(candidates[-1]))
    path = temporary_directory()
    cluster = Cluster(path, FAST)
    try:
        cluster.start()
    except BinariesMissing:
        shutil.rmtree(path)
        pytest.skip("the system's PostgreSQL is too old")
    yield cluster
    cluster.stop()
    shutil.rmtree(path)


def test_a_server_without_pgvector_is_refused_before_anything_is_changed(without_vector: Cluster) -> None:
    with pytest.raises(ProvisionFault, match="no pgvector"):
        provision(without_vector.socket_directory, "loci")
    assert roles(without_vector) == []
    assert os.environ["LOCI_PG_BIN"]
