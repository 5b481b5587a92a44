"""Seals: what is recorded gets under one, whoever seals at the same time, and the database lets nothing else change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Barrier, Thread
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction

from memory.models import AuditEvent, AuditSeal, Owner, owner_scope
from memory.services.actors import Actor
from memory.services.audit import recording, sealing
from memory.services.audit.chain import BEFORE_THE_FIRST
from memory.services.audit.recording import event_of
from memory.services.audit.sealing import owners_with_unsealed, seal_all, seal_next
from memory.services.audit.verification import verify_owner
from memory.services.jobs import SEAL_AUDIT, ensure_schedules
from tests.integration.audit.events import NOW, add, codes, counts, sealed_chain


def test_a_chain(alice: Actor) -> None:
    sealed_chain(alice.owner_id, ("erase", "read", "read"), ("export",))
    add(alice.owner_id, "login")
    with owner_scope(alice.owner_id):
        first, second = AuditSeal.objects.order_by("number")
        assert (first.number, first.acts, first.reads) == (1, 1, 2)
        assert (second.number, second.acts, second.reads) == (2, 1, 0)
        assert bytes(first.previous) == BEFORE_THE_FIRST
        assert bytes(second.previous) == bytes(first.digest) != bytes(second.digest)
        assert AuditEvent.objects.filter(sealed_in=1).count() == 3
    assert counts(verify_owner(alice.owner_id)) == (2, 2, 2, 1)
    assert codes(alice.owner_id) == []


def test_nothing_to_seal_makes_no_seal(alice: Actor) -> None:
    assert seal_next(alice.owner_id, at=NOW) == 0
    assert counts(verify_owner(alice.owner_id)) == (0, 0, 0, 0)


def test_batches_are_bounded(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "MOST_IN_A_BATCH", 3)
    add(alice.owner_id, *["read"] * 7)
    assert seal_all(at=NOW) == {"owners": 1, "seals": 3, "events": 7, "failed": 0}
    with owner_scope(alice.owner_id):
        assert list(AuditSeal.objects.order_by("number").values_list("reads", flat=True)) == [3, 3, 1]
    assert codes(alice.owner_id) == []


def test_an_event_that_comes_late_goes_into_the_next_batch(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    early, *_ = add(alice.owner_id, "erase", "erase")
    with owner_scope(alice.owner_id), monkeypatch.context() as earlier:
        # As if it had been recorded before the others and committed after the seal.
        earlier.setattr(recording, "new_id", lambda: UUID(int=early.pk.int - 1))
        late = event_of(actor="person", verb="export", object_kind="archive", at=NOW - timedelta(minutes=1))
    assert seal_next(alice.owner_id, at=NOW) == 2
    with owner_scope(alice.owner_id):
        late.save(force_insert=True)
    assert seal_next(alice.owner_id, at=NOW) == 1
    assert codes(alice.owner_id) == []


def test_only_owners_with_something_new_are_looked_at(
    alice: Actor, mallory: Actor, make_owner: Callable[..., Actor]
) -> None:
    gone = make_owner("gone")
    for owner in (alice, gone):
        add(owner.owner_id, "login")
    Owner.objects.filter(pk=gone.owner_id).update(purging_at=NOW)
    assert owners_with_unsealed() == [alice.owner_id]
    assert seal_all(at=NOW) == {"owners": 1, "seals": 1, "events": 1, "failed": 0}
    assert owners_with_unsealed() == []
    assert seal_all(at=NOW) == {"owners": 0, "seals": 0, "events": 0, "failed": 0}
    with owner_scope(mallory.owner_id):
        assert not AuditSeal.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memory_auditevent")
        assert cursor.fetchone()[0] == 0, "the search has left the scope of an owner behind"


def test_one_chain_that_cannot_go_on_does_not_stop_the_others(alice: Actor, mallory: Actor) -> None:
    for owner in (alice, mallory):
        sealed_chain(owner.owner_id, ("login",))
        add(owner.owner_id, "logout")
    with owner_scope(alice.owner_id):
        [seal] = AuditSeal.objects.all()
        # The last number that the column holds.
        AuditSeal.objects.create(**{**fields_of(seal), "number": 2**31 - 1})
    assert seal_all(at=NOW) == {"owners": 1, "seals": 1, "events": 1, "failed": 1}
    assert codes(mallory.owner_id) == []
    assert verify_owner(alice.owner_id).unsealed == 1


def fields_of(seal: AuditSeal) -> dict[str, Any]:
    names = ("acts", "reads", "acts_digest", "reads_digest", "previous", "digest", "signature", "sealed_at")
    return {name: getattr(seal, name) for name in names}


def test_the_job_is_planned(db: None) -> None:
    from django_q.models import Schedule

    ensure_schedules()
    assert Schedule.objects.filter(func=SEAL_AUDIT, minutes=5).count() == 1


@pytest.fixture
def sealers() -> Callable[[Callable[[], Any], int], list[Any]]:
    """Give a function that runs something in several threads at once and gives their results."""

    def run(act: Callable[[], Any], times: int) -> list[Any]:
        barrier, results = Barrier(times), []

        def one() -> None:
            barrier.wait()
            try:
                results.append(act())
            finally:
                connection.close()

        threads = [Thread(target=one) for _ in range(times)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    return run


@pytest.mark.django_db(transaction=True)
def test_of_several_sealers_at_once_one_wins(
    alice: Actor, sealers: Callable[[Callable[[], Any], int], list[Any]]
) -> None:
    add(alice.owner_id, *["read"] * 200)
    results = sealers(lambda: seal_next(alice.owner_id, at=NOW), 4)
    assert sorted(results) == [0, 0, 0, 200]
    assert counts(verify_owner(alice.owner_id)) == (1, 0, 200, 0)
    assert codes(alice.owner_id) == []


REFUSED = {
    "another-verb": "UPDATE memory_auditevent SET verb = 'read'",
    "out-of-its-seal": "UPDATE memory_auditevent SET sealed_in = NULL",
    "into-another-seal": "UPDATE memory_auditevent SET sealed_in = 2",
    "sealed-and-changed": "UPDATE memory_auditevent SET sealed_in = 1, count = 7",
    "an-act-gone": "DELETE FROM memory_auditevent",
    "a-seal-gone": "DELETE FROM memory_auditseal",
    "a-seal-changed": "UPDATE memory_auditseal SET number = 5",
}


@pytest.mark.parametrize("statement", REFUSED.values(), ids=REFUSED)
def test_the_database_refuses_changes(alice: Actor, statement: str) -> None:
    sealed_chain(alice.owner_id, ("erase",))
    with (
        owner_scope(alice.owner_id),
        connection.cursor() as cursor,
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
    ):
        cursor.execute(statement)
    assert codes(alice.owner_id) == []
