"""Databases of a test's own on the tests' server, to which both connections point for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision


@contextmanager
def own_database(cluster: Cluster, blocker: DjangoDbBlocker, suffix: str) -> Iterator[str]:
    """Make an empty database with its roles, point both connections at it, and drop it afterwards."""
    name = f"{connections['schema'].settings_dict['NAME'][:40]}_{suffix}"
    former = {alias: connections[alias].settings_dict["NAME"] for alias in ("default", "schema")}
    admin = f"host={cluster.socket_directory} user=postgres dbname=postgres"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
    provision(cluster.socket_directory, name)
    with blocker.unblock():
        for alias in former:
            connections[alias].close()
            connections[alias].settings_dict["NAME"] = name
        try:
            yield name
        finally:
            for alias, database in former.items():
                connections[alias].close()
                connections[alias].settings_dict["NAME"] = database
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
