"""The tests' server with a streaming replica."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker, Settings

from config.settings import database
from memory.ports.reading import REPLICA
from memory.ports.recorder import GraphRead, JobRan, ModelCalled, RecallObserved, add_recorder, remove_recorder
from memory.services import replica as replicas
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import superuser_conninfo
from tests.integration.postgres.streaming import start_replica


class Observer:
    """Keeps where recalls searched."""

    def __init__(self) -> None:
        self.places: list[str] = []

    def recalled(self, observed: RecallObserved) -> None:
        self.places.append(observed.place)

    def model_called(self, call: ModelCalled) -> None:
        """Keep nothing."""

    def job_ran(self, ran: JobRan) -> None:
        """Keep nothing."""

    def graph_read(self, read: GraphRead) -> None:
        """Keep nothing."""


@pytest.fixture(scope="module")
def standby(cluster: Cluster, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Cluster]:
    """Run a replica of the tests' server, with a connection of its own in Django."""
    name = connections["default"].settings_dict["NAME"]
    # Commits of the tests' server wait for nothing; those that are read elsewhere at once have to be sent at once.
    as_safe = f'ALTER ROLE loci_app IN DATABASE "{name}" '
    home = Path(tempfile.mkdtemp(prefix="loci-", dir="/tmp"))
    with psycopg.connect(superuser_conninfo(cluster.socket_directory), autocommit=True) as administrator:
        administrator.execute((as_safe + "SET synchronous_commit = 'on'").encode())
        made = start_replica(cluster, home)
        base = database.embedded(made.socket_directory, user="loci_app", name=name)
        connections.settings[REPLICA] = connections.configure_settings(
            {"default": {}, REPLICA: database.replica(base, pool=None)}
        )[REPLICA]
        yield made
        with django_db_blocker.unblock():
            connections[REPLICA].close()
        del connections[REPLICA]
        del connections.settings[REPLICA]
        made.stop()
        administrator.execute((as_safe + "RESET synchronous_commit").encode())
    shutil.rmtree(home)


@pytest.fixture
def replica(standby: Cluster, settings: Settings) -> Iterator[Cluster]:
    """Give the replica, running and replaying, with nothing known of former uses."""
    settings.DATABASE_REPLICA_WAIT = 5_000
    standby.start()
    replicas.forget()
    yield standby
    replicas.forget()


@pytest.fixture
def observer() -> Iterator[Any]:
    """Give what notes where recalls searched."""
    made = Observer()
    add_recorder(made)
    yield made
    remove_recorder(made)
