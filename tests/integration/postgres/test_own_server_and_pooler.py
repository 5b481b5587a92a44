"""A whole installation on a server of one's own, through PgBouncer in transaction mode."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import Any, Final

import psycopg
import pytest

from runtime.postgres.binaries import find
from tests.integration.operations.conftest import make_home
from tests.integration.operations.installation import Installation, printed_key, printed_password
from tests.integration.postgres.servers import OwnServer, Pooler, shown_passwords
from tests.ports import reserved_port
from tests.services import required_program

pytestmark = pytest.mark.slow

SIZE: Final = 3


@dataclass(frozen=True, slots=True)
class Pooled:
    """A running installation and what it runs on."""

    installation: Installation
    server: OwnServer
    pooler: Pooler
    passwords: dict[str, str]
    key: str
    login: str

    def direct(self, role: str) -> str:
        return self.server.url(role, self.passwords[role], database="loci")

    def through(self, role: str) -> str:
        return self.server.url(role, self.passwords[role], database="loci", port=self.pooler.port)


@pytest.fixture(scope="module")
def pooled() -> Iterator[Pooled]:
    program = required_program("pgbouncer", "/usr/sbin/pgbouncer", package="pgbouncer")
    with ExitStack() as stack:
        homes = [make_home() for _ in range(3)]
        for home in homes:
            stack.callback(shutil.rmtree, home)
        server = OwnServer(homes[0], find())
        stack.callback(server.stop)
        server.start({"timezone": "America/New_York"})
        installation = Installation(homes[1])
        provisioned = installation.run(
            "db", "provision", "--passwords", environment={"LOCI_SUPERUSER_URL": server.url()}
        )
        assert provisioned.returncode == 0, provisioned.stderr
        passwords = shown_passwords(provisioned.stdout)
        server.execute("CREATE DATABASE keys")
        pooler = Pooler(homes[2], server, program, {**passwords, "postgres": server.password}, size=SIZE)
        stack.callback(pooler.stop)
        pooler.start()
        installation.environment |= {
            "DATABASE_URL": server.url("loci_app", passwords["loci_app"], database="loci", port=pooler.port),
            "DATABASE_SCHEMA_URL": server.url("loci_owner", passwords["loci_owner"], database="loci", port=pooler.port),
            "LIVE_DATABASE_URL": server.url("loci_app", passwords["loci_app"], database="loci"),
            "KEYS_DATABASE_URL": server.url(database="keys", port=pooler.port),
        }
        stack.callback(installation.end)
        said = installation.start()
        yield Pooled(installation, server, pooler, passwords, printed_key(said), printed_password(said))


def answered(pooled: Pooled, *arguments: str, **environment: str) -> Any:
    done = pooled.installation.run(*arguments, "--json", environment=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_is_remembered_by_many_at_once_is_recalled_at_once(pooled: Pooled) -> None:
    """More clients than the pooler has connections, so that each statement may run on another one."""

    def errand(number: int) -> None:
        text = f"Errand number {number} leads to street {number * 7}."
        status, body = pooled.installation.ask("memories", {"text": text}, key=pooled.key)
        assert status == 201, body
        question = {"query": f"Where does errand number {number} lead?"}
        status, body = pooled.installation.ask("recall", question, key=pooled.key)
        assert status == 200, body
        assert text in [hit["memory"]["text"] for hit in body["hits"]], body
        assert body["degraded"] == []

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(errand, range(40)))


def test_a_person_logs_in(pooled: Pooled) -> None:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    address = f"{pooled.installation.address}/login/"
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', opener.open(address).read().decode())
    assert token is not None
    form = {"csrfmiddlewaretoken": token[1], "username": "owner", "password": pooled.login}
    request = urllib.request.Request(address, urllib.parse.urlencode(form).encode(), headers={"Referer": address})
    with opener.open(request) as page:
        assert "/login" not in page.url
    listed = opener.open(f"{pooled.installation.address}/recent/").read().decode()
    assert "Errand number" in listed


def test_consolidation_runs(pooled: Pooled) -> None:
    turns = [{"role": "user", "text": f"I work with Berta Quill on day {number}."} for number in range(3)]
    status, body = pooled.installation.ask("turns", {"session": "talk", "turns": turns}, key=pooled.key)
    assert status in (200, 201), body
    run = answered(pooled, "consolidation", "run", "--wait")
    assert run["state"] == "done", run


def test_jobs_are_done_by_the_worker(pooled: Pooled) -> None:
    pooled.installation.wait_for(lambda: pooled.installation.health()["worker"] == "ok", "the worker's sign of life")
    assert pooled.installation.health()["queue"] == "ok"


def test_a_purge_goes_through_with_its_ledger_and_its_indexes(pooled: Pooled) -> None:
    status, body = pooled.installation.ask("memories", {"text": "Doomed to go."}, key=pooled.key)
    assert status == 201, body
    purge = answered(pooled, "purge", "run", "--memory", body["id"], "--owner", "owner", "--yes", "--wait")
    assert purge["state"] == "done"
    assert purge["error"] == ""
    leaving = pooled.installation.run("owner", "create", "leaving")
    assert leaving.returncode == 0, leaving.stderr
    purge = answered(pooled, "purge", "run", "--owner", "leaving", "--yes", "--wait")
    assert purge["state"] == "done"
    with psycopg.connect(pooled.server.url(database="keys")) as connection:
        assert connection.execute("SELECT count(*) FROM loci_purges").fetchone() == (2,)


def test_doctor_sees_the_pooler_and_its_server(pooled: Pooled) -> None:
    done = pooled.installation.run("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert {name: check["detail"] for name, check in checks.items() if check["status"] == "failing"} == {}
    assert checks["database settings"]["status"] == "ok", checks["database settings"]
    assert "through a pooler" in checks["connections"]["detail"]
    assert "forced" in checks["walls"]["detail"]
    assert checks["pooler"] == {
        "name": "pooler",
        "status": "ok",
        "detail": "DATABASE_URL leads to a pooler, LIVE_DATABASE_URL past it.",
        "remedy": "",
    }


def test_doctor_sees_a_server_without_a_pooler(pooled: Pooled) -> None:
    done = pooled.installation.run("doctor", "--json", environment={"DATABASE_URL": pooled.direct("loci_app")})
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert "no pooler" in checks["pooler"]["detail"]
    assert checks["connections"]["status"] == "ok"


def test_nothing_is_left_for_the_next_client(pooled: Pooled) -> None:
    """Look at every connection that the pooler has with the server, before anything else uses it."""
    with ExitStack() as stack:
        seen = set()
        for _ in range(SIZE):
            connection = stack.enter_context(psycopg.connect(pooled.through("loci_app"), prepare_threshold=None))
            found = connection.execute(
                "SELECT pg_backend_pid(), current_setting('loci.owner', true), current_setting('statement_timeout'),"
                " (SELECT count(*) FROM pg_prepared_statements),"
                " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())"
            ).fetchone()
            assert found is not None
            seen.add(found[0])
            assert (found[1] or "", *found[2:]) == ("", "0", 0, 0)
            if len(seen) == SIZE - 1:
                # One is left for the processes that are at work.
                break


def beside(pooled: Pooled) -> dict[str, str]:
    """Give what another installation beside the running one needs."""
    return {"LOCI_DATA_DIR": str(pooled.installation.home / "other"), "LOCI_PORT": str(reserved_port())}


def refused(pooled: Pooled, command: str = "migrate", **urls: str) -> str:
    """Give why a command refuses a server."""
    done = pooled.installation.run(command, environment={**beside(pooled), **urls})
    assert done.returncode == 1, done.stdout
    assert "Nothing was changed." in done.stderr
    return done.stderr


def test_a_role_above_the_wall_is_refused(pooled: Pooled) -> None:
    assert "owns the tables" in refused(pooled, DATABASE_URL=pooled.direct("loci_owner"))
    superuser = pooled.server.url(database="loci")
    assert "ignores row-level security" in refused(pooled, "up", DATABASE_URL=superuser)


def test_an_unfit_database_is_refused_before_anything_is_changed(pooled: Pooled) -> None:
    server = pooled.server
    server.execute("CREATE DATABASE bare OWNER loci_owner TEMPLATE template0")
    server.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' TEMPLATE template0")
    provisioned = pooled.installation.run(
        "db", "provision", "--database", "bytes", environment={"LOCI_SUPERUSER_URL": server.url()}
    )
    assert provisioned.returncode == 0, provisioned.stderr

    def both(database: str, schema_role: str = "loci_owner") -> dict[str, str]:
        return {
            "DATABASE_URL": server.url("loci_app", pooled.passwords["loci_app"], database=database),
            "DATABASE_SCHEMA_URL": server.url(schema_role, pooled.passwords[schema_role], database=database),
        }

    assert "The extension vector is missing" in refused(pooled, **both("bare"))
    found = refused(pooled, **both("bytes", "loci_app"))
    assert "SQL_ASCII" in found
    assert "may not create tables" in found
    assert "lead to different databases" in refused(
        pooled, **{**both("bytes"), "DATABASE_URL": pooled.direct("loci_app")}
    )
    assert "does not own the tables" in refused(pooled, **both("loci", "loci_app"))
    with psycopg.connect(server.url(database="bytes")) as connection:
        assert connection.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)


def test_the_address_may_name_options_only_where_the_server_takes_them(pooled: Pooled) -> None:
    options = "?options=-c%20work_mem%3D8MB"
    direct = pooled.installation.run("migrate", environment={"DATABASE_URL": pooled.direct("loci_app") + options})
    assert direct.returncode == 0, direct.stderr
    through = {"DATABASE_URL": pooled.through("loci_app") + options}
    done = pooled.installation.run("up", environment={**beside(pooled), **through})
    assert done.returncode == 1
    assert "start-up parameters" in done.stderr


def test_a_dump_that_is_restored_brings_nothing_back_that_was_purged(pooled: Pooled) -> None:
    """The operator's own tools, a purge in between, and `up`; this stops the installation, so it comes last."""
    installation, server = pooled.installation, pooled.server
    status, body = installation.ask("memories", {"text": "Ada keeps the key under the blue stone."}, key=pooled.key)
    assert status == 201, body
    dump = installation.home / "loci.dump"
    run_tool(server, "pg_dump", "--format=custom", f"--file={dump}", pooled.direct("loci_backup"))
    plain = run_tool(server, "pg_restore", "--file=-", str(dump))
    assert "memory_memory" in plain
    assert "blue stone" not in plain

    purge = answered(pooled, "purge", "run", "--memory", body["id"], "--owner", "owner", "--yes", "--wait")
    assert purge["state"] == "done"
    assert installation.stop() == 0
    server.execute("DROP DATABASE loci WITH (FORCE)")
    superuser = {"LOCI_SUPERUSER_URL": server.url()}
    assert installation.run("db", "provision", environment=superuser).returncode == 0
    run_tool(server, "pg_restore", "--exit-on-error", f"--dbname={server.url(database='loci')}", str(dump))

    without_keys = {**beside(pooled), "KEYS_DATABASE_URL": "", "LOCI_KEYS_DIR": str(installation.home / "no-keys")}
    blind = installation.run("up", environment=without_keys)
    assert blind.returncode == 1
    assert "key vault is gone" in blind.stderr
    assert "Erased again what the purge ledger names: 1 memory." in installation.start()
    status, body = installation.ask("recall", {"query": "Where is the key?"}, key=pooled.key)
    assert status == 200
    assert "blue stone" not in json.dumps(body)


def run_tool(server: OwnServer, name: str, *arguments: str) -> str:
    """Run a program of the server's version, and give what it prints."""
    done = subprocess.run(
        [str(server.binaries.program(name)), *arguments], capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
