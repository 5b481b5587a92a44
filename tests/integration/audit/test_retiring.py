"""A purge takes the owner and leaves the chain, under its pseudonym, verifiable and unchangeable."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from memory.models import AuditEvent, AuditSeal, Owner, RetiredAuditEvent, RetiredAuditSeal, owner_scope
from memory.services.actors import Actor
from memory.services.audit.heads import checked_heads, compare, ends, heads_of
from memory.services.audit.recording import record
from memory.services.audit.retiring import retire
from memory.services.audit.sealing import pseudonym_of
from memory.services.audit.verification import retired_chains, verify_owner, verify_retired
from tests.integration.audit.events import NOW, add, as_the_tables_owner, counts, sealed_chain


def purging(owner: Actor) -> None:
    Owner.objects.filter(pk=owner.owner_id).update(purging_at=NOW)


def test_a_chain_outlives_its_owner(alice: Actor, mallory: Actor) -> None:
    for owner in (alice, mallory):
        sealed_chain(owner.owner_id, ("login", "read"), ("erase",))
        add(owner.owner_id, "purge")
    heads = checked_heads(heads_of(ends()))
    chain = pseudonym_of(alice.owner_id)
    purging(alice)
    assert retire(alice.owner_id) == 4
    with owner_scope(alice.owner_id, purging=True):
        assert not AuditEvent.objects.exists()
        assert not AuditSeal.objects.exists()
    with owner_scope(mallory.owner_id):
        assert AuditEvent.objects.count() == 4
    assert retired_chains() == [chain]
    found = verify_retired(chain)
    assert (found.findings, counts(found)) == ([], (3, 3, 1, 0))
    assert compare([found], {chain: heads[chain]}, all_chains=True) == []
    for row in RetiredAuditEvent.objects.values():
        assert str(alice.owner_id) not in str(row.values())


def test_retiring_again_moves_what_was_recorded_meanwhile(alice: Actor) -> None:
    sealed_chain(alice.owner_id, ("login",))
    chain = pseudonym_of(alice.owner_id)
    purging(alice)
    assert [retire(alice.owner_id), retire(alice.owner_id)] == [1, 0]
    with owner_scope(alice.owner_id, purging=True):
        record(actor="system", verb="purge", object_kind="owner", at=NOW)
    assert retire(alice.owner_id) == 1
    found = verify_retired(chain)
    assert (found.findings, counts(found)) == ([], (2, 2, 0, 0))


def test_the_database_retires_nobody_who_is_not_purged(alice: Actor) -> None:
    sealed_chain(alice.owner_id, ("login",))
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        retire(alice.owner_id)
    assert verify_owner(alice.owner_id).acts == 1
    assert not RetiredAuditEvent.objects.exists()


@pytest.mark.parametrize("table", ["memory_retiredauditevent", "memory_retiredauditseal"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET id = gen_random_uuid()"])
def test_the_database_refuses_changes_of_what_is_retired(alice: Actor, table: str, statement: str) -> None:
    sealed_chain(alice.owner_id, ("login",))
    purging(alice)
    retire(alice.owner_id)
    with (
        connection.cursor() as cursor,
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
    ):
        cursor.execute(statement.format(table))


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
def test_tampering_with_a_retired_chain_is_found(alice: Actor) -> None:
    sealed_chain(alice.owner_id, ("login",), ("erase", "export"))
    chain = pseudonym_of(alice.owner_id)
    purging(alice)
    retire(alice.owner_id)
    with as_the_tables_owner(alice.owner_id) as cursor:
        cursor.execute("UPDATE memory_retiredauditevent SET verb = 'login' WHERE verb = 'erase'")
        cursor.execute("DELETE FROM memory_retiredauditseal WHERE number = 1")
    assert [(one.code, one.seal) for one in verify_retired(chain).findings] == [
        ("event.unknown_seal", 1),
        ("seal.missing", 1),
        ("acts.changed", 2),
    ]
    with as_the_tables_owner(alice.owner_id) as cursor:
        cursor.execute("DELETE FROM memory_retiredauditseal")
    assert retired_chains() == [chain]
    assert not RetiredAuditSeal.objects.exists()
    assert {one.code for one in verify_retired(chain).findings} == {"event.unknown_seal"}
