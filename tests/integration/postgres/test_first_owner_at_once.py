"""Processes that start at once on a new database of one's own: one makes the first owner, all of them are ready."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest

from memory.providers.vault_directory import DirectoryVault
from memory.services.accounts import FIRST_OWNER_LOCK
from runtime.postgres.binaries import find
from tests.integration.operations.conftest import make_home
from tests.integration.operations.installation import POLL, Installation, printed_key, printed_password
from tests.integration.postgres.servers import OwnServer, shown_passwords

pytestmark = pytest.mark.slow

WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    home = make_home()
    made = OwnServer(home, find())
    made.start()
    yield made
    made.stop()
    shutil.rmtree(home)


@contextmanager
def two_on_one_database(server: OwnServer, name: str) -> Iterator[tuple[Installation, Installation]]:
    """Give two installations with data directories of their own, and database, keys and secrets in common."""
    with ExitStack() as stack:
        made = []
        for home in (make_home(), make_home()):
            stack.callback(shutil.rmtree, home)
            made.append(Installation(home))
            stack.callback(made[-1].end)
        one, other = made
        provisioned = one.run(
            "db", "provision", "--passwords", "--database", name, environment={"LOCI_SUPERUSER_URL": server.url()}
        )
        assert provisioned.returncode == 0, provisioned.stderr
        passwords = shown_passwords(provisioned.stdout)
        one.environment |= {
            "DATABASE_URL": server.url("loci_app", passwords["loci_app"], database=name),
            "DATABASE_SCHEMA_URL": server.url("loci_owner", passwords["loci_owner"], database=name),
        }
        common = ("DATABASE_URL", "DATABASE_SCHEMA_URL", "LOCI_CONFIG_DIR", "LOCI_KEYS_DIR")
        other.environment |= {variable: one.environment[variable] for variable in common}
        yield one, other


def at_once(server: OwnServer, name: str, one: Callable[[], Any], other: Callable[[], Any]) -> tuple[Any, Any]:
    """Run both until each has found no owner and waits to make one; then let them go, and give what they return."""
    with ThreadPoolExecutor(2) as threads:
        with psycopg.connect(server.url(database=name)) as first:
            first.execute(FIRST_OWNER_LOCK.encode())
            running: list[Future[Any]] = [threads.submit(one), threads.submit(other)]
            with psycopg.connect(server.url(database=name), autocommit=True) as asking:
                while asking.execute(WAITING).fetchone() != (2,):
                    ended = [future.result() for future in running if future.done()]
                    assert ended == [], "it waits for nobody"
                    time.sleep(POLL)
        return running[0].result(), running[1].result()


def test_two_starts_are_both_ready_and_one_shows_the_login(server: OwnServer) -> None:
    with two_on_one_database(server, "starts") as (one, other):
        said = at_once(server, "starts", one.start, other.start)
        showing = [words for words in said if "Agent key" in words]
        assert len(showing) == 1, said
        assert printed_password(showing[0])
        key = printed_key(showing[0])
        status, body = one.ask("memories", {"text": "Ada keeps the key under the blue stone."}, key=key)
        assert status == 201, body
        status, body = other.ask("recall", {"query": "Where is the key?"}, key=key)
        assert [hit["memory"]["text"] for hit in body["hits"]] == ["Ada keeps the key under the blue stone."]
        with psycopg.connect(server.url(database="starts")) as connection:
            counts = "SELECT (SELECT count(*) FROM memory_owner), (SELECT count(*) FROM memory_agentkey)"
            assert connection.execute(counts).fetchone() == (1, 1)
        assert len(DirectoryVault(one.home / "keys", bytes(32)).owners()) == 1, "the other one's keys are gone again"
        assert (one.stop(), other.stop()) == (0, 0)


def test_two_that_prepare_make_one(server: OwnServer) -> None:
    with two_on_one_database(server, "prepared") as (one, other):
        assert one.run("prepare").returncode == 0
        arguments = ("prepare", "--first-owner", "--json")
        done = at_once(server, "prepared", lambda: one.run(*arguments), lambda: other.run(*arguments))
        answers = [json.loads(run.stdout) for run in done]
        assert [answer["owners"] for answer in answers] == [1, 1], done
        assert [answer["first_owner"] is None for answer in answers].count(True) == 1, answers
