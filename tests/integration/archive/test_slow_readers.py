"""Whoever asks for an archive and does not read it keeps nobody else from anything."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from django.db import connection

from memory.crypto.keyring import keyring
from memory.ids import new_id
from memory.models import AuditEvent, User, owner_scope
from memory.services.actors import Actor, write_target
from memory.services.archive.exporting import archive_stream
from memory.services.archive.snapshot import snapshot_stream
from memory.services.clock import now
from memory.services.drafts import Draft, make_ready
from memory.services.writing import build_row
from tests.integration.api.conftest import Client, problem
from tests.integration.archive.archives import lines_of

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 40
IN_TRANSACTION = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
"""


@pytest.fixture
def much(alice: Actor) -> Actor:
    """Alice with more than any pipe holds: memories that do not pack."""
    moment, target = now(), write_target(alice)
    with owner_scope(alice.owner_id):
        for _ in range(COUNT):
            ready = make_ready(Draft(text=os.urandom(30_000).hex()), ring=keyring().of(alice.owner_id))
            row = build_row(ready, actor=alice, target=target, now=moment)
            row.content_hash = new_id().bytes * 2
            row.save(force_insert=True)
    return alice


def open_transactions() -> int:
    """Count the transactions of other connections."""
    with connection.cursor() as cursor:
        cursor.execute(IN_TRANSACTION)
        found: int = cursor.fetchone()[0]
    return found


def test_an_archive_that_nobody_reads_holds_no_transaction(much: Actor) -> None:
    pieces = archive_stream(actor=much)
    first = next(pieces)
    for _ in range(200):
        if open_transactions() == 0:
            break
        time.sleep(0.05)
    else:
        raise AssertionError("A transaction waits for the reader.")
    assert len(lines_of(first + b"".join(pieces), "memories")) == COUNT


def test_a_second_one_is_told_to_wait(alice: Actor, mallory: Actor) -> None:
    held = snapshot_stream(actor=alice)
    next(held)
    client = Client()
    client.force_login(User.objects.get(owner__id=alice.owner_id))
    refused = client.json("get", "/archive")
    problem(refused, 429, "archive.busy")
    assert int(refused["Retry-After"]) > 0
    with owner_scope(alice.owner_id):
        assert not AuditEvent.objects.filter(verb="export").exists()
    assert b"".join(archive_stream(actor=mallory))
    b"".join(held)
    answer: Any = client.json("get", "/archive")
    assert answer.status_code == 200
    answer.close()
    assert b"".join(archive_stream(actor=alice))
