"""One planted world for all tests of a module; whatever a test does in it is undone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import transaction
from pytest_django.plugin import DjangoDbBlocker

from memory.services import outbound, reinforcement
from memory.services.audit import readers
from tests.integration.leaks.world import World, make_world


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """Give both owners with their rows, in a transaction that ends with the module.

    Tests that use it must not ask for `db`, whose end closes the connection.
    """
    with pytest.MonkeyPatch.context() as patched, django_db_blocker.unblock(), transaction.atomic():
        # What is noted of the planting is written by no thread, which would not see this transaction.
        patched.setattr(reinforcement, "_counter", reinforcement.UseCounter(writes_itself=False))
        patched.setattr(readers, "_counter", readers.ReadCounter(writes_itself=False))
        patched.setattr(outbound, "_log", outbound.OutboundLog(writes_itself=False))
        yield make_world()
        transaction.set_rollback(True)
