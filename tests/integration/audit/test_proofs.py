"""What somebody writes into the audit who has the application's role and not the installation's key."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from memory.ids import new_id
from memory.models import AuditEvent, AuditSeal, Owner, Purge, RetiredAuditEvent, owner_scope
from memory.services.actors import Actor
from memory.services.audit.access_log import LogRequest, access_log
from memory.services.audit.purged import not_purged
from memory.services.audit.retiring import COPY_EVENTS, retire
from memory.services.audit.sealing import pseudonym_of, seal_all, seal_next
from memory.services.audit.verification import verify_owner, verify_retired
from tests.integration.audit.events import NOW, add, codes, counts, sealed_chain


def forge(owner: Actor, **changes: Any) -> None:
    """Insert an event, as SQL of a stranger could."""
    values: dict[str, Any] = {
        "id": new_id(),
        "owner_id": owner.owner_id,
        "actor": f"agent:{new_id()}",
        "verb": "read",
        "object_kind": "memories",
        "reason": "rest",
        "count": 500,
        "created_at": NOW,
        "proof": bytes(32),
    } | changes
    names = ", ".join(values)
    marks = ", ".join(["%s"] * len(values))
    with owner_scope(owner.owner_id), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO memory_auditevent ({names}) VALUES ({marks})", list(values.values()))


def test_a_forged_event_is_sealed_and_told(alice: Actor, caplog: pytest.LogCaptureFixture) -> None:
    add(alice.owner_id, "login")
    forge(alice)
    assert seal_next(alice.owner_id, at=NOW) == 2
    assert "1 events in the audit" in caplog.text
    assert codes(alice.owner_id) == [("event.unproved", 1)]
    assert verify_owner(alice.owner_id).reads == 1


def test_an_event_of_another_owner_proves_nothing_here(alice: Actor, mallory: Actor) -> None:
    [event] = add(mallory.owner_id, "erase")
    names = [str(field.column) for field in AuditEvent._meta.local_fields if field.column != "owner_id"]
    forge(alice, **{name: getattr(event, name) for name in names})
    seal_all(at=NOW)
    assert codes(mallory.owner_id) == []
    assert codes(alice.owner_id) == [("event.unproved", 1)]


def test_proofs_go_on_counting_when_the_owner_is_gone(alice: Actor) -> None:
    sealed_chain(alice.owner_id, ("login", "read"))
    forge(alice)
    chain = pseudonym_of(alice.owner_id)
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=NOW)
    retire(alice.owner_id)
    assert [(one.code, one.seal) for one in verify_retired(chain).findings] == [("event.unproved", 2)]


@pytest.mark.parametrize(
    "changes",
    [
        {"proof": b""},
        {"proof": bytes(31)},
        {"sealed_in": 1},
        {"created_at": "infinity"},
        {"created_at": "-infinity"},
        {"created_at": "20000-01-01"},
        {"created_at": "4000-01-01 BC"},
    ],
    ids=str,
)
def test_events_that_could_not_be_gone_on_with_are_refused(alice: Actor, changes: dict[str, Any]) -> None:
    with pytest.raises(DatabaseError):
        forge(alice, **changes)
    add(alice.owner_id, "login")
    assert seal_next(alice.owner_id, at=NOW) == 1


@pytest.mark.parametrize("label", ["agent:", "agent:nobody", "agent:1; --"])
def test_an_actor_that_names_nobody_does_not_close_the_log(alice: Actor, label: str) -> None:
    forge(alice, actor=label)
    entry, *_ = access_log(actor=alice, request=LogRequest())
    assert (entry.event.actor, entry.agent_id, entry.agent_name) == (label, None, None)


def spoil(owner: Actor) -> None:
    """Insert a seal after which no number is left."""
    with owner_scope(owner.owner_id):
        seal = AuditSeal.objects.get()
        seal.pk, seal.number = new_id(), 2**31 - 1
        seal.save(force_insert=True)


def test_a_spoilt_chain_does_not_keep_its_owner_from_being_erased(alice: Actor) -> None:
    sealed_chain(alice.owner_id, ("login",))
    add(alice.owner_id, "logout")
    spoil(alice)
    chain = pseudonym_of(alice.owner_id)
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=NOW)
    assert retire(alice.owner_id) == 2
    found = verify_retired(chain)
    assert counts(found) == (2, 1, 0, 1)
    assert ("seal.missing", 2) in [(one.code, one.seal) for one in found.findings]


COPY = f"{COPY_EVENTS} AND verb = 'erase'"
OTHER_PSEUDONYM = COPY.replace("(SELECT pseudonym FROM memory_owner WHERE id = %(owner)s)", "gen_random_uuid()")
OTHER_CONTENT = COPY.replace("SELECT (SELECT", "SELECT * FROM (SELECT (SELECT").replace(
    "count, created_at, proof, sealed_in\n    FROM", "0 AS n, created_at, proof, sealed_in\n    FROM"
)


@pytest.mark.parametrize("copy", [OTHER_PSEUDONYM, OTHER_CONTENT + ") x"], ids=["pseudonym", "content"])
def test_an_event_goes_only_when_all_of_it_has_moved(alice: Actor, copy: str) -> None:
    sealed_chain(alice.owner_id, ("erase", "login"))
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=NOW)
    with owner_scope(alice.owner_id, purging=True), connection.cursor() as cursor:
        cursor.execute(copy, {"owner": alice.owner_id})
        assert cursor.rowcount == 1
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            cursor.execute("DELETE FROM memory_auditevent WHERE verb = 'erase'")
        assert AuditEvent.objects.count() == 2
    assert RetiredAuditEvent.objects.count() == 1


def test_chains_of_owners_whom_no_purge_has_taken_are_told(alice: Actor, mallory: Actor) -> None:
    chains = []
    for owner in (alice, mallory):
        sealed_chain(owner.owner_id, ("login",))
        chains.append(pseudonym_of(owner.owner_id))
    assert [one.code for one in not_purged(chains)] == ["chain.not_purged"] * 2, "both are open"
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=NOW)
    retire(alice.owner_id)
    said = [(one.chain, one.detail) for one in not_purged(chains[:1])]
    assert said == [(chains[0], "No purge has taken the owner of this chain.")]
    purge = Purge.objects.create(
        of_owner=alice.owner_id, pseudonym=chains[0], subject="owner", requested_at=NOW, token_digest=bytes(32)
    )
    assert not_purged(chains[:1]) == [], "it is under way"
    Owner.objects.filter(pk=alice.owner_id).delete()
    [unended] = not_purged(chains[:1])
    assert unended.detail == "The purge of this chain's owner has no end."
    Purge.objects.filter(pk=purge.pk).update(state="done", finished_at=NOW + timedelta(hours=1))
    assert not_purged(chains[:1]) == []
