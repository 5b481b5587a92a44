"""Migrations run in both directions and agree with the models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from runtime.postgres.cluster import Cluster
from tests.integration.storage.databases import own_database


@pytest.fixture
def empty_database(cluster: Cluster, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Point both connections at a fresh database for one test."""
    with own_database(cluster, django_db_blocker, "empty") as name:
        yield name


def relations() -> set[str]:
    with connections["schema"].cursor() as cursor:
        cursor.execute(
            """SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
            AND relname LIKE 'memory%'
            UNION SELECT proname FROM pg_proc WHERE proname LIKE 'loci_%'"""
        )
        return {row[0] for row in cursor.fetchall()}


def test_there_and_back_and_there_again(django_db_setup: None, empty_database: str) -> None:
    call_command("migrate", verbosity=0, interactive=False)
    made = relations()
    assert {"memory_memory", "memory_lexposting_15", "loci_find_key", "loci_index_space"} <= made
    call_command("migrate", "memory", "zero", verbosity=0, interactive=False)
    assert relations() == set()
    call_command("migrate", verbosity=0, interactive=False)
    assert relations() == made


def test_nothing_is_left_to_migrate(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        call_command("makemigrations", check=True, dry_run=True, verbosity=0)
