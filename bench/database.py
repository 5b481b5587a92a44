"""A database, a key vault and a clean slate for one run of the bench, made before and dropped after it."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections

from memory.crypto import keyring as ring
from memory.crypto.keyring import Keyring
from memory.errors import InvalidInput
from memory.ids import new_id
from memory.models import Owner, User
from memory.providers.vault_directory import DirectoryVault
from memory.services.actors import Actor, person
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision


@contextmanager
def bench_database() -> Iterator[None]:
    """Run the block in a database of its own on the embedded server, with keys that vanish with it.

    The server is started when it does not run, and stopped again then.

    Raises:
        InvalidInput: DATABASE_URL is set; the bench makes databases and does so on the embedded server only.
    """
    if not settings.EMBEDDED_DATABASE:
        raise InvalidInput("The bench runs on the embedded server. Unset DATABASE_URL for it.", code="bench.database")
    cluster = Cluster(settings.DATA_DIRECTORY)
    started = cluster.start().status == "started"
    name = f"loci_bench_{os.getpid()}"
    former = connections["default"].settings_dict["NAME"]
    with tempfile.TemporaryDirectory(prefix="loci-bench-") as folder:
        try:
            provision(cluster.socket_directory, name)
            _use(name)
            call_command("migrate", verbosity=0, interactive=False)
            vault = DirectoryVault(Path(folder), secrets.token_bytes(32))
            ring.install(Keyring(lambda: vault))
            yield
        finally:
            _use(former)
            _drop(cluster.socket_directory, name)
            if started:
                cluster.stop()


def new_owner(user: User | None = None) -> Actor:
    """Make an owner with keys, joined to a login where one is given."""
    owner_id = new_id()
    # The keys first: a vault that was never used is not set up where there are owners already.
    ring.keyring().create(owner_id)
    Owner.objects.create(id=owner_id, user=user)
    return person(owner_id)


def analyze() -> None:
    """Bring statistics and visibility maps up to date, as autovacuum does on a server that has run for a while."""
    with connections["schema"].cursor() as cursor:
        for table in ("memory_memory", "memory_lexposting", "memory_memoryvector", "memory_memoryaccess"):
            cursor.execute(f"VACUUM (ANALYZE) {table}")
    connections["schema"].close()


def bytes_by_table() -> dict[str, int]:
    """Measure every table of owners with its indexes and partitions, those with less than a page left out."""
    with connections["schema"].cursor() as cursor:
        cursor.execute(
            """SELECT c.relname,
                (SELECT sum(pg_total_relation_size(t.relid)) FROM pg_partition_tree(c.oid) t)::bigint AS size
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'owner_id'
            WHERE c.relkind = 'p' AND c.relnamespace = 'public'::regnamespace
            UNION ALL
            SELECT c.relname, pg_total_relation_size(c.oid)
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'owner_id'
            WHERE c.relkind = 'r' AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
            ORDER BY size DESC"""
        )
        return {name: size for name, size in cursor.fetchall() if size > 8192}


def _use(name: str) -> None:
    for alias in ("default", "schema"):
        connections[alias].close()
        connections[alias].settings_dict["NAME"] = name


def _drop(socket: Path, name: str) -> None:
    with psycopg.connect(f"host={socket} user=postgres dbname=postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
