"""Migrations run one process at a time: who comes second says so, waits, and applies nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from memory.management import preparation
from memory.management.migrating import MIGRATION_LOCK, WAITING, migration_lock
from memory.services.schema import schema_state
from runtime.postgres.cluster import Cluster
from tests.integration.storage.databases import own_database

PATIENCE = 120.0


@pytest.fixture
def empty(django_db_setup: None, cluster: Cluster, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Point both connections at a fresh database for one test, on which two processes start at once."""
    with own_database(cluster, django_db_blocker, "locked") as name:
        yield name


def waiting_on_lock(socket: str, name: str) -> bool:
    """Tell whether somebody waits for the lock."""
    with psycopg.connect(f"host={socket} user=postgres dbname={name}") as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND NOT granted", [MIGRATION_LOCK]
        ).fetchone()
        return bool(found and found[0])


def test_the_second_start_waits_says_so_and_applies_nothing_twice(empty: str, cluster: Cluster) -> None:
    said: list[str] = []
    failed: list[BaseException] = []

    def second() -> None:
        try:
            preparation.bring_schema_up_to_date(said.append)
        except BaseException as error:
            failed.append(error)
        finally:
            connections.close_all()

    first = StringIO()
    with migration_lock("schema", first.write):
        thread = threading.Thread(target=second)
        thread.start()
        waited = threading.Event()
        while not waiting_on_lock(str(cluster.socket_directory), empty):
            assert thread.is_alive(), (said, failed)
            waited.wait(0.05)
        assert WAITING in said
        with connections["default"].cursor() as cursor:
            cursor.execute("SELECT to_regclass('memory_memory') IS NULL")
            assert cursor.fetchone() == (True,), "nothing is applied by who waits"
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert failed == []
    assert first.getvalue() == ""
    assert schema_state().pending == ()
    again: list[str] = []
    call_command("migrate", verbosity=0, interactive=False)
    preparation.bring_schema_up_to_date(again.append)
    assert again == []


def test_two_at_once_migrate_one_after_the_other(empty: str) -> None:
    """Both find everything still to be applied, and neither trips over the other."""
    failed: list[BaseException] = []

    def start() -> None:
        try:
            call_command("migrate", verbosity=0, interactive=False, stdout=StringIO())
        except BaseException as error:
            failed.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert failed == []
    assert schema_state().pending == ()


def test_looking_waits_for_nobody(empty: str) -> None:
    with migration_lock("schema", print):
        call_command("migrate", plan=True, verbosity=0, stdout=StringIO())
        with pytest.raises(SystemExit):
            call_command("migrate", check_unapplied=True, verbosity=0, stdout=StringIO())


def test_the_lock_keeps_no_snapshot(empty: str, cluster: Cluster) -> None:
    """Building an index concurrently waits for every snapshot that is older than itself."""
    with (
        migration_lock("schema", print),
        psycopg.connect(f"host={cluster.socket_directory} user=postgres dbname={empty}", autocommit=True) as asking,
    ):
        held = asking.execute(
            "SELECT backend_xmin, state FROM pg_stat_activity WHERE application_name = 'loci migrations'"
        ).fetchall()
        assert held == [(None, "idle in transaction")]
        asking.execute("CREATE TABLE built (x int)")
        asking.execute("SET statement_timeout = '60s'")
        asking.execute("CREATE INDEX CONCURRENTLY ON built (x)")


def test_the_lock_is_free_after_an_error(empty: str) -> None:
    with pytest.raises(ZeroDivisionError), migration_lock("schema", print):
        raise ZeroDivisionError
    said: list[str] = []
    with migration_lock("schema", said.append):
        assert said == []


def test_a_database_that_is_away_is_said(empty: str) -> None:
    connections["schema"].close()
    connections["schema"].settings_dict["NAME"] = "loci_nowhere"
    try:
        with pytest.raises(CommandError, match="cannot be reached"):
            call_command("migrate", verbosity=0)
    finally:
        connections["schema"].settings_dict["NAME"] = empty
