"""A whole owner is purged: nothing is left, and nobody else loses anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections

from memory.crypto.keyring import keyring
from memory.errors import KeysUnavailable, NotFound, OwnerPurging, PermissionRefused
from memory.models import Memory, Owner, Purge, PurgeState, RetiredAuditEvent, User, owner_scope
from memory.recall.vocabulary import vocabularies
from memory.services.actors import Actor, system
from memory.services.audit.verification import verify_retired
from memory.services.drafts import Draft
from memory.services.purge.caches import forget_closed_owners
from memory.services.purge.partial_requests import purge_seen, purges_seen
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.requests import begin_purge, preview_owner, purge_by_token
from memory.services.purge.runner import run_due, run_purge
from memory.services.remember import remember
from tests.integration.keys.filled import copied
from tests.integration.purge.everything import everything_stored, fill_everything, rows_of

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

Make = Callable[..., tuple[Actor, str]]


def test_nothing_is_left_and_others_lose_nothing(alice: Actor, mallory: Actor, make_agent: Make) -> None:
    fill_everything(alice, make_agent(alice)[0])
    fill_everything(mallory, make_agent(mallory, "other")[0])
    user_id = User.objects.get(username="alice").pk
    stolen = [value for _, _, value in copied(alice)]
    before = rows_of(mallory)

    made = begin_purge(actor=alice)
    done = run_purge(purge_id=made.purge.pk, most=2)

    assert (done.state, done.stage, done.error_code) == (PurgeState.DONE, "", "")
    assert (done.of_owner, done.target, done.samples, done.position) == (None, {}, None, {})
    assert rows_of(mallory) == before
    assert User.objects.filter(username="mallory").exists()
    assert not User.objects.filter(username="alice").exists()
    stored = "\n".join(everything_stored(alice.owner_id))
    for trace in (alice.owner_id, user_id):
        assert str(trace) not in stored
        assert trace.hex not in stored
    assert not any(value in stored for value in stolen)
    assert alice.owner_id not in keyring().vault.owners()
    with pytest.raises(KeysUnavailable):
        keyring().of(alice.owner_id)


def test_receipt_and_audit(alice: Actor, mallory: Actor, make_agent: Make) -> None:
    fill_everything(alice, make_agent(alice)[0])
    expected = preview_owner(owner_id=alice.owner_id)
    pseudonym = Owner.objects.get(pk=alice.owner_id).pseudonym

    made = begin_purge(actor=alice)
    run_purge(purge_id=made.purge.pk, most=3)

    receipt = purge_by_token(purge_id=made.purge.pk, token=made.token, address=None).receipt
    assert receipt is not None
    assert verify_receipt(receipt)
    # The request itself is one event more.
    assert receipt["erased"] == expected | {"audit_moved": expected["audit_moved"] + 1}
    assert expected["memories"] >= 4
    assert (expected["queue"], expected["browser_sessions"]) == (2, 2)
    assert receipt["purge"]["subject"] == "owner"
    assert receipt["keys"] == {"root": "destroyed"}
    looked = receipt["verification"]["looked_at"]
    assert receipt["verification"]["left"] == {}
    assert looked["samples"]["sealed_values"] > 30
    assert looked["samples"]["vectors"] > 0
    assert looked["vector_indexes"]["rebuilt"] >= 1
    assert (looked["other_owners"], looked["all_other_owners"]) == (1, True)
    assert len(receipt["stays"]) == 7
    assert all(one["what"] and one["until"] and one["why"] for one in receipt["stays"])
    assert str(alice.owner_id) not in str(receipt)
    events = RetiredAuditEvent.objects.filter(pseudonym=pseudonym)
    assert list(events.filter(verb="purge").values_list("actor", "object_kind", "object_id")) == [
        ("person", "owner", made.purge.pk)
    ]
    assert events.filter(verb="archive").exists()
    verified = verify_retired(pseudonym)
    assert (verified.findings, verified.unsealed) == ([], 0)
    assert verified.seals == 2


def test_owner_is_closed_from_the_request_on(alice: Actor) -> None:
    begin_purge(actor=alice)

    with pytest.raises(OwnerPurging):
        remember(actor=alice, draft=Draft(text="too late"))
    with pytest.raises(OwnerPurging), owner_scope(alice.owner_id):
        pass
    with pytest.raises(OwnerPurging):
        begin_purge(actor=alice)
    with pytest.raises(OwnerPurging):
        preview_owner(owner_id=alice.owner_id)


def test_only_persons_and_operators_ask_for_everything(alice: Actor, make_agent: Make) -> None:
    agent, _ = make_agent(alice)
    for actor in (agent, system(alice.owner_id)):
        with pytest.raises(PermissionRefused):
            begin_purge(actor=actor)
    assert not Purge.objects.exists()
    assert Owner.objects.get(pk=alice.owner_id).purging_at is None


def test_token_opens_state_and_receipt_and_nothing_else_does(alice: Actor, mallory: Actor) -> None:
    made = begin_purge(actor=alice)
    other = begin_purge(actor=mallory)

    assert purge_by_token(purge_id=made.purge.pk, token=made.token, address=None).state == PurgeState.WAITING
    assert len(made.token) >= 43
    assert made.token not in "\n".join(everything_stored(alice.owner_id))
    for purge_id, token in (
        (made.purge.pk, other.token),
        (made.purge.pk, ""),
        (made.purge.pk, made.token[:-1]),
        (alice.owner_id, made.token),
    ):
        with pytest.raises(NotFound):
            purge_by_token(purge_id=purge_id, token=token, address=None)
    assert [one.pk for one in purges_seen(actor=alice)] == [made.purge.pk]
    assert purge_seen(actor=alice, purge_id=made.purge.pk).pk == made.purge.pk
    with pytest.raises(NotFound):
        purge_seen(actor=mallory, purge_id=made.purge.pk)

    run_due()

    assert purge_by_token(purge_id=made.purge.pk, token=made.token, address=None).receipt is not None


@pytest.mark.parametrize("damage", ["missing", "torn"])
def test_damaged_keys_do_not_stop_it(alice: Actor, make_agent: Make, damage: str) -> None:
    fill_everything(alice, make_agent(alice)[0])
    vault: Any = keyring().vault
    if damage == "missing":
        vault.destroy(alice.owner_id)
    else:
        (vault.directory / "owners" / f"{alice.owner_id}.json").write_text("{", encoding="utf-8")
    keyring().forget()

    made = begin_purge(actor=alice)
    receipt = run_purge(purge_id=made.purge.pk).receipt

    assert receipt is not None
    assert receipt["keys"] == {"root": "was missing before" if damage == "missing" else "destroyed"}
    assert alice.owner_id not in keyring().vault.owners()
    assert not Owner.objects.filter(pk=alice.owner_id).exists()


def test_an_owner_without_a_login_and_without_rows(make_owner: Callable[..., Actor]) -> None:
    owner_id = Owner.objects.create().pk
    keyring().create(owner_id)
    made = begin_purge(actor=Actor(owner_id=owner_id, kind="operator"))
    receipt = run_purge(purge_id=made.purge.pk).receipt

    assert receipt is not None
    assert receipt["erased"] == {"keys": 1, "audit_moved": 1}
    assert receipt["verification"]["looked_at"]["vector_indexes"] == {"rebuilt": 0}


def test_memory_of_the_process_forgets(alice: Actor, mallory: Actor) -> None:
    for owner in (alice, mallory):
        remember(actor=owner, draft=Draft(text="A quite unmistakable word."))
        with owner_scope(owner.owner_id):
            vocabularies.of(owner.owner_id, None)
    made = begin_purge(actor=alice)

    held = {owner_id for owner_id, _ in vocabularies._lists}
    assert alice.owner_id not in held
    # The words of others need not be read again.
    assert mallory.owner_id in held
    assert alice.owner_id not in keyring()._rings
    run_purge(purge_id=made.purge.pk)


def test_other_processes_forget_closed_owners(alice: Actor, mallory: Actor) -> None:
    for owner in (alice, mallory):
        keyring().of(owner.owner_id)
    assert forget_closed_owners() == 0
    made = begin_purge(actor=alice)
    keyring().of(alice.owner_id)
    # As in a process that has not begun the purge.
    assert forget_closed_owners() == 1
    assert keyring().owners() == {mallory.owner_id}
    run_purge(purge_id=made.purge.pk)
    assert forget_closed_owners() == 0


def test_partition_is_reindexed_and_others_are_still_found(alice: Actor, mallory: Actor) -> None:
    for owner in (alice, mallory):
        remember(actor=owner, draft=Draft(text="Where the vectors are."))
    before = vector_index_files()
    made = begin_purge(actor=alice)
    run_purge(purge_id=made.purge.pk)
    after = vector_index_files()

    changed = {partition for (partition, name), file in before.items() if after[partition, name] != file}
    assert len(changed) == 1, "the owner's partition and no other"
    assert before.keys() == after.keys()
    with owner_scope(mallory.owner_id):
        assert Memory.objects.count() == 1


def vector_index_files() -> dict[tuple[str, str], int]:
    """Give the files of the vector indexes, by partition and index."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT t.relname, c.relname, pg_relation_filenode(c.oid)
            FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
            WHERE c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'hnsw')"""
        )
        return {(table, name): file for table, name, file in cursor.fetchall()}


def test_a_role_that_may_not_reindex_is_named_in_the_receipt(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(actor=alice, draft=Draft(text="Where the vectors are."))
    schema = connections["schema"]
    schema.close()
    monkeypatch.setitem(schema.settings_dict, "USER", connection.settings_dict["USER"])
    made = begin_purge(actor=alice)
    receipt = run_purge(purge_id=made.purge.pk).receipt

    assert receipt is not None
    assert receipt["verification"]["looked_at"]["vector_indexes"] == {
        "rebuilt": 0,
        "not_rebuilt": "the database role may not rebuild indexes",
    }
