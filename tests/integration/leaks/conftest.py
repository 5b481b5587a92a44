"""One planted world for all tests of a module; whatever a test does in it is undone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connections, transaction
from pytest_django.plugin import DjangoDbBlocker

from tests.gatherers import written_when_asked
from tests.integration.api.conftest import anonymous, make_client, woman
from tests.integration.leaks.world import World, make_world

__all__ = ["anonymous", "make_client", "woman"]


def emptied() -> None:
    """Empty all tables after a module whose rows were committed."""
    with connections["default"].cursor() as cursor:
        cursor.execute(
            """SELECT string_agg(format('%I', relname), ', ') FROM pg_class
            WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace
              AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')"""
        )
        cursor.execute(f"TRUNCATE {cursor.fetchone()[0]}")


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """Give both owners with their rows, in a transaction that ends with the module.

    Tests that use it must not ask for `db`, whose end closes the connection.
    """
    with written_when_asked(), django_db_blocker.unblock(), transaction.atomic():
        yield make_world()
        transaction.set_rollback(True)
