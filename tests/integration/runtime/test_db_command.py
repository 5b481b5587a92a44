"""`manage.py db` as an operator runs it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from runtime.instance import only_instance
from runtime.postgres.cluster import Cluster

PROJECT = Path(__file__).resolve().parents[3]
NOT_RUNNING = 3


class Operator:
    """Somebody with a shell and directories of their own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("LOCI_", "DATABASE_"))}
        directories = {f"LOCI_{name}_DIR": str(place / name.lower()) for name in ("DATA", "CONFIG", "KEYS", "CACHE")}
        self.environment = {**kept, **directories, "LOCI_NO_BOOTSTRAP": "1"}

    def db(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run `manage.py db`."""
        return subprocess.run(
            [sys.executable, str(PROJECT / "manage.py"), "db", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={**self.environment, **more},
        )

    def sql(self, statement: str, *options: str) -> str:
        """Run a statement through `manage.py db psql`."""
        answer = self.db("psql", *options, "--", "-X", "-A", "-t", "-c", statement)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()


@pytest.fixture
def operator(place: Path) -> Iterator[Operator]:
    """Give an operator, whose server is stopped at the end."""
    if os.geteuid() == 0:
        place.chmod(0o711)
    yield Operator(place)
    Cluster(place / "data").stop()


def test_a_life_of_the_database(operator: Operator) -> None:
    assert operator.db("status").returncode == NOT_RUNNING
    assert "db start" in operator.db("psql").stderr
    assert "The database runs after" in operator.db("start").stdout
    assert operator.db("start").stdout == "The database runs already.\n"
    status = operator.db("status", "--json")
    assert status.returncode == 0
    answer = json.loads(status.stdout)
    assert answer["running"] is True
    assert answer["socket"] == str(operator.place / "data" / "run")
    assert [operator.sql("SELECT current_user", "--role", role) for role in ("app", "owner", "superuser")] == [
        "loci_app",
        "loci_owner",
        "postgres",
    ]
    assert operator.db("stop").stdout == "The database is stopped.\n"
    assert operator.db("stop").stdout == "The database was not running.\n"
    stopped = operator.db("status", "--json")
    assert stopped.returncode == NOT_RUNNING
    assert json.loads(stopped.stdout)["running"] is False


def test_a_backup_and_its_restore(operator: Operator) -> None:
    file = str(operator.place / "loci.backup")
    operator.db("start")
    operator.sql("CREATE TABLE kept AS SELECT 42 AS answer", "--role", "owner")
    made = operator.db("backup", file)
    assert made.returncode == 0
    assert "holds no keys" in made.stdout
    operator.sql("DROP TABLE kept", "--role", "owner")
    unsure = operator.db("restore", file)
    assert unsure.returncode == 1
    assert "--yes" in unsure.stderr
    restored = operator.db("restore", "--yes", file)
    assert restored.returncode == 0, restored.stderr
    assert operator.db("status").returncode == 0
    assert operator.sql("SELECT answer FROM kept") == "42"


def test_what_starts_the_database_for_itself_stops_it_again(operator: Operator) -> None:
    file, second = str(operator.place / "loci.backup"), str(operator.place / "second.backup")
    none = operator.db("backup", file)
    assert none.returncode == 1
    assert "There is no database" in none.stderr
    assert not (operator.place / "data").exists()
    assert operator.db("provision").returncode == 0
    assert operator.db("status").returncode == NOT_RUNNING
    assert operator.db("backup", file).returncode == 0
    assert operator.db("status").returncode == NOT_RUNNING
    assert operator.db("backup", file).returncode == 1
    assert operator.db("status").returncode == NOT_RUNNING
    restored = operator.db("restore", "--yes", file)
    assert restored.returncode == 0, restored.stderr
    assert operator.db("status").returncode == NOT_RUNNING
    assert operator.db("backup", second).returncode == 0


def test_the_database_of_a_running_product_is_not_stopped_by_mistake(operator: Operator) -> None:
    operator.db("start")
    with only_instance(operator.place / "data"):
        refused = operator.db("stop")
        assert refused.returncode == 1
        assert f"process {os.getpid()}" in refused.stderr
        assert operator.db("status").returncode == 0
        assert operator.db("stop", "--force").returncode == 0


def test_a_server_of_ones_own_is_set_up_but_never_started_or_stopped(operator: Operator) -> None:
    operator.db("start")
    server = f"host={operator.place / 'data' / 'run'}"
    made = operator.db("provision", "--url", f"{server} user=postgres", "--database", "own", "--passwords")
    assert made.returncode == 0, made.stderr
    assert [line.split()[0] for line in made.stdout.splitlines()[2:]] == ["loci_app", "loci_owner", "loci_backup"]
    url = f"postgresql://loci_app@/own?host={operator.place / 'data' / 'run'}"
    answer = operator.db("psql", "--", "-X", "-A", "-t", "-c", "SELECT current_database()", DATABASE_URL=url)
    assert answer.stdout.strip() == "own", answer.stderr
    secret = operator.db("psql", "--", "-c", "SELECT 1", DATABASE_URL=f"{url}&sslpassword=hidden")
    assert secret.returncode == 1
    assert "`sslpassword`" in secret.stderr
    assert "hidden" not in secret.stderr
    for action in (["start"], ["stop"], ["restore", "x", "--yes"]):
        refused = operator.db(*action, DATABASE_URL=url)
        assert refused.returncode == 1
        assert "DATABASE_URL is set" in refused.stderr
    assert "without --url or LOCI_SUPERUSER_URL" in operator.db("provision", DATABASE_URL=url).stderr
    assert operator.db("status").returncode == 0


def test_the_roles_get_the_passwords_of_the_settings(operator: Operator) -> None:
    operator.db("start")
    socket = operator.place / "data" / "run"
    superuser = f"host={socket} user=postgres"
    settings = {
        "DATABASE_URL": f"postgresql://loci_app:planted-app@/chosen?host={socket}",
        "DATABASE_SCHEMA_URL": f"postgresql://loci_owner:planted-owner@/chosen?host={socket}",
    }
    named = operator.place / "superuser"
    named.write_text(superuser)
    made = operator.db("provision", "--passwords-of-settings", LOCI_SUPERUSER_URL_FILE=str(named), **settings)
    assert made.returncode == 0, made.stderr
    assert "planted" not in made.stdout + made.stderr
    with psycopg.connect(superuser, dbname="postgres") as connection:
        roles = connection.execute("SELECT rolname, rolpassword FROM pg_authid WHERE rolpassword IS NOT NULL")
        stored: dict[str, str] = dict(roles.fetchall())
        assert connection.execute("SELECT count(*) FROM pg_database WHERE datname = 'chosen'").fetchone() == (1,)
    assert set(stored) == {"loci_app", "loci_owner"}
    assert _is_of("planted-app", stored["loci_app"])
    assert _is_of("planted-owner", stored["loci_owner"])


def _is_of(password: str, verifier: str) -> bool:
    """Tell whether a stored verifier of SCRAM is that of a password."""
    rounds, salt = verifier.split("$")[1].split(":")
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(salt), int(rounds))
    key = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    return base64.b64encode(key).decode() == verifier.split("$")[2].split(":")[0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "DATABASE_URL must name the role loci_app"),
        ({"DATABASE_URL": "postgresql://loci_app@h/loci"}, "DATABASE_URL must name the role loci_app and its password"),
        ({"DATABASE_URL": "postgresql://postgres:x@h/loci"}, "DATABASE_URL must name the role loci_app"),
        ({"DATABASE_URL": "postgresql://loci_app:x@h/loci"}, "DATABASE_SCHEMA_URL must name the role loci_owner"),
    ],
)
def test_passwords_that_nobody_chose_are_not_set(operator: Operator, settings: dict[str, str], said: str) -> None:
    refused = operator.db("provision", "--passwords-of-settings", "--url", "host=/nowhere", **settings)
    assert refused.returncode == 1
    assert said in refused.stderr
    unnamed = operator.db("provision", "--passwords-of-settings", **settings)
    assert unnamed.returncode == 1
    assert "needs --url or LOCI_SUPERUSER_URL" in unnamed.stderr


def test_the_sql_can_be_read_without_any_server(operator: Operator) -> None:
    printed = operator.db("provision", "--sql", "--database", "own")
    assert printed.returncode == 0
    assert "CREATE EXTENSION IF NOT EXISTS vector" in printed.stdout
    assert not (operator.place / "data").exists()


@pytest.mark.parametrize(
    "arguments", [["dance"], ["psql", "--role", "nobody"], ["provision", "--database", 'a"b', "--sql"]]
)
def test_what_cannot_be_meant_is_refused(operator: Operator, arguments: list[str]) -> None:
    refused = operator.db(*arguments)
    assert refused.returncode != 0
    assert "Traceback" not in refused.stderr
