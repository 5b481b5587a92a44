"""Old reads go with their whole seal, nothing else does, and the chain verifies without them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from memory.models import Owner
from memory.services.actors import Actor
from memory.services.audit.sealing import seal_next
from memory.services.audit.verification import verify_owner
from memory.services.clock import now
from memory.services.retention import remove_outdated
from tests.integration.audit.events import add, as_the_tables_owner, codes, counts, sealed_chain


@pytest.fixture
def long_ago() -> datetime:
    """Give a moment of which reads are old enough to go, by the database's own clock."""
    return now() - timedelta(days=91)


def test_old_reads_go_and_the_chain_verifies(alice: Actor, mallory: Actor, long_ago: datetime) -> None:
    sealed_chain(alice.owner_id, ("erase", "read", "read"), ("read",), at=long_ago)
    sealed_chain(mallory.owner_id, ("read",), at=long_ago)
    sealed_chain(alice.owner_id, ("read", "login"), at=now())
    add(alice.owner_id, "read", at=long_ago)
    assert remove_outdated()["reads"] == 4
    assert remove_outdated()["reads"] == 0
    found = verify_owner(alice.owner_id)
    assert found.findings == []
    assert (found.pruned_reads, counts(found)) == (3, (3, 2, 1, 1))
    assert verify_owner(mallory.owner_id).findings == []


def test_a_seal_with_a_younger_read_keeps_all_of_its_reads(alice: Actor, long_ago: datetime) -> None:
    add(alice.owner_id, "read", at=now())
    add(alice.owner_id, "read", at=long_ago)
    # As if the clock had been wrong.
    assert seal_next(alice.owner_id, at=long_ago) == 2
    assert remove_outdated()["reads"] == 0
    assert codes(alice.owner_id, at=now()) == []


def test_a_clock_that_runs_ahead_prunes_nothing(alice: Actor) -> None:
    sealed_chain(alice.owner_id, ("read",), at=now())
    assert remove_outdated(at=now() + timedelta(days=365))["reads"] == 0


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_a_part_of_the_old_reads_may_not_be_missing(alice: Actor, long_ago: datetime) -> None:
    sealed_chain(alice.owner_id, ("read", "read"), at=long_ago)
    with as_the_tables_owner(alice.owner_id) as cursor:
        cursor.execute("DELETE FROM memory_auditevent WHERE id = (SELECT id FROM memory_auditevent LIMIT 1)")
    assert codes(alice.owner_id, at=now()) == [("reads.missing", 1)]


def test_the_retention_of_others_goes_on_while_somebody_is_purged(
    alice: Actor, mallory: Actor, long_ago: datetime
) -> None:
    for owner in (alice, mallory):
        sealed_chain(owner.owner_id, ("read",), at=long_ago)
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=now())
    assert remove_outdated()["reads"] == 1
