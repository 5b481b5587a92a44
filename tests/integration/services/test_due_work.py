"""Owners are served one by one: what fails for one of them keeps no other one waiting, and is not hidden."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import DatabaseError, connection

from memory.models import DueWork, IdempotencyRecord, MemoryVector, PendingVector, current_owner, owner_scope
from memory.ports.removers import add_remover
from memory.services import due_work
from memory.services.actors import Actor
from memory.services.backfill import LONGEST_DELAY, backfill_vectors
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.retention import ANSWERS_KEPT, remove_outdated
from memory.services.writing import call_for_work, queue_vectors

pytestmark = pytest.mark.django_db


def failing_for(owner: Actor, served: list[UUID]) -> Callable[..., tuple[int, datetime | None]]:
    def job(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
        if owner_id == owner.owner_id:
            raise DatabaseError("canceling statement: what alice said")
        served.append(owner_id)
        return 1, at + timedelta(days=1)

    return job


def test_work_that_fails_for_one_owner_is_done_for_the_others(
    alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    at, served = now(), list[UUID]()
    DueWork.objects.all().delete()
    for job in (DueWork.ERASE, DueWork.SPACES):
        monkeypatch.setitem(due_work._OWN, job, failing_for(alice, served))
        for owner in (alice, mallory):
            with owner_scope(owner.owner_id):
                call_for_work(job, due_at=at)
    with caplog.at_level(logging.ERROR), pytest.raises(DatabaseError):
        due_work.run_due_work(at=at)
    assert served == [mallory.owner_id] * 2
    assert "what alice said" not in caplog.text
    assert caplog.text.count(f"for owner {alice.owner_id} failed: DatabaseError") == 2
    due = dict(DueWork.objects.filter(job=DueWork.ERASE).values_list("owner_id", "due_at"))
    assert due == {alice.owner_id: at + due_work.CLAIMED_FOR, mallory.owner_id: at + timedelta(days=1)}


def test_what_is_outdated_goes_although_one_owners_cannot(
    alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = now()
    monkeypatch.setattr("memory.ports.removers._removers", {})
    first, second = sorted((alice, mallory), key=lambda owner: owner.owner_id)
    for owner in (first, second):
        with owner_scope(owner.owner_id):
            IdempotencyRecord.objects.create(
                caller=owner.owner_id, key_digest=b"k", request_digest=b"x", created_at=moment - 2 * ANSWERS_KEPT
            )

    def remove(at: datetime) -> int:
        if current_owner() == first.owner_id:
            raise DatabaseError
        return 0

    add_remover("events", remove)
    with pytest.raises(DatabaseError):
        remove_outdated(at=moment)
    left = []
    for owner in (first, second):
        with owner_scope(owner.owner_id):
            left.append(IdempotencyRecord.objects.count())
    assert left == [1, 0]


def test_a_text_that_does_not_open_keeps_no_other_from_its_vector(
    alice: Actor, caplog: pytest.LogCaptureFixture
) -> None:
    damaged, sound = (remember(actor=alice, draft=Draft(text=text)).memory_id for text in ("Tea.", "Coffee."))
    at = now()
    with owner_scope(alice.owner_id):
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM memory_memoryvector WHERE owner_id = %s", [alice.owner_id])
            cursor.execute(
                "UPDATE memory_memory SET text = overlay(text placing 'AAAA' from 20) WHERE owner_id = %s AND id = %s",
                [alice.owner_id, damaged],
            )
        queue_vectors([damaged, sound], now=at)
    assert backfill_vectors(owner_id=alice.owner_id, at=at) == (1, at + LONGEST_DELAY)
    assert "1 texts do not open" in caplog.text
    with owner_scope(alice.owner_id):
        assert list(MemoryVector.objects.values_list("memory_id", flat=True)) == [sound]
        assert list(PendingVector.objects.values_list("memory_id", flat=True)) == [damaged]
