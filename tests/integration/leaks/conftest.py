"""One planted world for all tests of a module; whatever a test does in it is undone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connections, transaction
from pytest_django.plugin import DjangoDbBlocker

from memory.services import outbound, reinforcement
from memory.services.audit import readers
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


@contextmanager
def noted_by_no_thread() -> Iterator[None]:
    """Keep what is noted of uses, reads and requests from being written behind a test's back."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reinforcement, "_counter", reinforcement.UseCounter(writes_itself=False))
        patched.setattr(readers, "_counter", readers.ReadCounter(writes_itself=False))
        patched.setattr(outbound, "_log", outbound.OutboundLog(writes_itself=False))
        yield


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """Give both owners with their rows, in a transaction that ends with the module.

    Tests that use it must not ask for `db`, whose end closes the connection.
    """
    with noted_by_no_thread(), django_db_blocker.unblock(), transaction.atomic():
        yield make_world()
        transaction.set_rollback(True)
