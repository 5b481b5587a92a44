"""Fixtures for all tests: the embedded PostgreSQL with its real roles, and owners, agents and strangers in it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from django.core.cache import caches
from django.core.management import call_command
from django.db import connections
from django.test import override_settings
from pytest_django.plugin import DjangoDbBlocker

from memory.crypto.keyring import keyring
from memory.ids import new_id
from memory.models import Owner, User
from memory.services.actors import Actor, person
from memory.services.agents import authenticate, create_agent, create_key
from memory.services.health import forget_health
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision
from telemetry.services.coverage.cache import reports
from telemetry.services.recalls.cache import reports as recall_reports
from telemetry.services.recalls.experiments import running
from telemetry.services.score_card import forget_score_cards
from tests.bolt.fixtures import bolt, bolt_session
from tests.environment import HOME
from tests.gatherers import written_when_asked

__all__ = ["bolt", "bolt_session"]

# No test depends on how fast a machine is, and Hypothesis watches the time unless it is told not to.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")

# Tests lose nothing when the machine dies.
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "80"}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Start the tests' own PostgreSQL, or use the one that another test process has started; the last one stops it."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "users.lock").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        server = Cluster(HOME / "data", FAST)
        server.start()
        yield server
        with suppress(BlockingIOError):
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            server.stop()


@pytest.fixture(scope="session")
def django_db_setup(request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Make this process's database with its two roles and migrate it as the owning one."""
    server: Cluster = request.getfixturevalue("cluster")
    worker = getattr(request.config, "workerinput", {}).get("workerid", "main")
    suffix = os.environ.get("LOCI_TEST_DATABASE_SUFFIX", "")
    name = f"loci_test_{worker}_{suffix}".rstrip("_")
    socket = server.socket_directory
    _drop(socket, name)
    provision(socket, name)
    for alias in ("default", "schema"):
        connections[alias].settings_dict["NAME"] = name
        connections.settings[alias]["NAME"] = name
    with django_db_blocker.unblock():
        call_command("migrate", verbosity=0, interactive=False)
        with connections["schema"].cursor() as cursor:
            # What some tests clean up with; the application itself never truncates.
            cursor.execute("GRANT TRUNCATE ON ALL TABLES IN SCHEMA public TO loci_app")
        connections["schema"].close()
    yield
    with django_db_blocker.unblock():
        connections.close_all()
    _drop(socket, name)


@pytest.fixture(autouse=True)
def emptied_tables(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty all tables after a test with real transactions; Django's own flush sees no table on this connection."""
    yield
    marker = request.node.get_closest_marker("django_db")
    real = bool(marker and marker.kwargs.get("transaction")) or "transactional_db" in request.fixturenames
    if real:
        _empty(request.getfixturevalue("cluster").socket_directory, connections["default"].settings_dict["NAME"])


def _empty(socket: Path, name: str) -> None:
    """Delete every row, which is many times faster than to truncate hundreds of partitions and their indexes."""
    with psycopg.connect(f"host={socket} user=postgres dbname={name}") as connection:
        connection.execute("SET LOCAL session_replication_role = replica")  # neither triggers nor foreign keys
        connection.execute(
            """DO $$ DECLARE filled regclass; BEGIN
            FOR filled IN
                SELECT oid FROM pg_class
                WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0
                  AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
            LOOP EXECUTE format('DELETE FROM %s', filled); END LOOP; END $$"""
        )


def _drop(socket: Path, name: str) -> None:
    with psycopg.connect(f"host={socket} user=postgres dbname=postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())


@pytest.fixture(scope="session", autouse=True)
def no_writing_threads() -> Iterator[None]:
    """Keep fixtures of whole modules, which run before those of a test, from starting a thread that writes."""
    with written_when_asked():
        yield


@pytest.fixture(autouse=True)
def fresh_process_state() -> Iterator[None]:
    """Forget cached keys, throttles and waiting uses between tests; uses are written when a test asks for it."""
    running.forget()
    recall_reports.forget()
    reports.forget()
    for alias in ("default", "agent_keys", "logins"):
        caches[alias].clear()
    keyring().forget()
    forget_health()
    forget_score_cards()
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]), written_when_asked():
        yield


PASSWORD = "correct horse battery"


def new_owner(username: str = "alice", *, staff: bool = False) -> Actor:
    """Create an owner with a login and return the person's actor."""
    user = User.objects.create_user(username, password=PASSWORD, is_staff=staff, is_superuser=staff)
    owner_id = new_id()
    keyring().create(owner_id)
    Owner.objects.create(id=owner_id, user=user)
    return person(owner_id)


def new_agent(owner: Actor, name: str = "assistant", **key: Any) -> tuple[Actor, str]:
    """Make an agent with a key and return its actor and the key."""
    agent = create_agent(actor=owner, name=name)
    made = create_key(actor=owner, agent_id=agent.pk, label=f"key of {name}", **key)
    return authenticate(made.secret), made.secret


@pytest.fixture
def make_owner(db: None) -> Callable[..., Actor]:
    """Give a function that creates an owner with a login and returns the person's actor."""
    return new_owner


@pytest.fixture
def alice(make_owner: Callable[..., Actor]) -> Actor:
    """An owner."""
    return make_owner("alice")


@pytest.fixture
def mallory(make_owner: Callable[..., Actor]) -> Actor:
    """A stranger: another owner of the same installation."""
    return make_owner("mallory")


@pytest.fixture
def make_agent(db: None) -> Callable[..., tuple[Actor, str]]:
    """Give a function that makes an agent with a key and returns its actor and the key."""
    return new_agent
