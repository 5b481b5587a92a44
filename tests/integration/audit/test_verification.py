"""Verification finds what somebody with the rights of the tables' owner has changed, and says where."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from memory.crypto.signing import Signer, install, signer
from memory.errors import InvalidInput
from memory.models import AuditSeal, owner_scope
from memory.services.actors import Actor
from memory.services.audit.chain import digest_of, said_by
from memory.services.audit.heads import checked_heads, compare, ends, heads_of
from memory.services.audit.sealing import pseudonym_of
from memory.services.audit.verification import verify_owner
from tests.integration.audit.events import add, as_the_tables_owner, codes, sealed_chain

with_the_tables_owner = pytest.mark.django_db(transaction=True, databases=["default", "schema"])
OF_SECOND = "id = (SELECT id FROM memory_auditevent WHERE sealed_in = 2 AND verb = 'erase' ORDER BY id LIMIT 1)"
READ_OF_SECOND = "id = (SELECT id FROM memory_auditevent WHERE sealed_in = 2 AND verb = 'read' ORDER BY id LIMIT 1)"

TAMPERING: dict[str, tuple[str, list[tuple[str, int | None]]]] = {
    **{
        f"changed-{column}": (
            f"UPDATE memory_auditevent SET {column} = {value} WHERE {OF_SECOND}",
            [("acts.changed", 2)],
        )
        for column, value in {
            "actor": "'system'",
            "object_kind": "'agent'",
            "object_id": "gen_random_uuid()",
            "reason": "'because'",
            "count": "2",
            "created_at": "created_at + interval '1 microsecond'",
            "id": "gen_random_uuid()",
            "verb": "'export'",
        }.items()
    },
    "changed-read": (f"UPDATE memory_auditevent SET count = 9 WHERE {READ_OF_SECOND}", [("reads.changed", 2)]),
    "act-made-a-read": (
        f"UPDATE memory_auditevent SET verb = 'read' WHERE {OF_SECOND}",
        [("acts.missing", 2), ("reads.added", 2)],
    ),
    "deleted-act": (f"DELETE FROM memory_auditevent WHERE {OF_SECOND}", [("acts.missing", 2)]),
    "deleted-read": (f"DELETE FROM memory_auditevent WHERE {READ_OF_SECOND}", [("reads.missing", 2)]),
    "all-reads-deleted-early": (
        "DELETE FROM memory_auditevent WHERE sealed_in = 2 AND verb = 'read'",
        [("reads.missing", 2)],
    ),
    "inserted": (
        """INSERT INTO memory_auditevent
            (owner_id, id, actor, verb, object_kind, reason, count, created_at, sealed_in, proof)
        SELECT owner_id, gen_random_uuid(), actor, verb, object_kind, reason, count, created_at, sealed_in, proof
        FROM memory_auditevent WHERE sealed_in = 2 AND verb = 'erase' LIMIT 1""",
        [("acts.added", 2)],
    ),
    "moved-to-another-seal": (
        f"UPDATE memory_auditevent SET sealed_in = 3 WHERE {OF_SECOND}",
        [("acts.missing", 2), ("acts.added", 3)],
    ),
    "taken-out-of-its-seal": (
        f"UPDATE memory_auditevent SET sealed_in = NULL WHERE {OF_SECOND}",
        [("acts.missing", 2)],
    ),
    "put-under-no-seal": (
        f"UPDATE memory_auditevent SET sealed_in = 9 WHERE {OF_SECOND}",
        [("acts.missing", 2), ("event.unknown_seal", 9)],
    ),
    "seal-deleted": ("DELETE FROM memory_auditseal WHERE number = 2", [("event.unknown_seal", 2), ("seal.missing", 2)]),
    "first-seal-deleted": (
        "DELETE FROM memory_auditseal WHERE number = 1",
        [("event.unknown_seal", 1), ("seal.missing", 1)],
    ),
    "seal-and-events-deleted": (
        "DELETE FROM memory_auditevent WHERE sealed_in = 2; DELETE FROM memory_auditseal WHERE number = 2",
        [("seal.missing", 2)],
    ),
    "seals-in-another-order": (
        """UPDATE memory_auditseal SET number = 9 WHERE number = 1;
        UPDATE memory_auditseal SET number = 1 WHERE number = 2;
        UPDATE memory_auditseal SET number = 2 WHERE number = 9""",
        [
            ("seal.order", 1),
            ("seal.digest", 1),
            ("acts.missing", 1),
            ("reads.missing", 1),
            ("seal.order", 2),
            ("seal.digest", 2),
            ("acts.added", 2),
            ("reads.added", 2),
            ("seal.order", 3),
        ],
    ),
    "seal-dated-back": (
        "UPDATE memory_auditseal SET sealed_at = sealed_at - interval '1 year' WHERE number = 2",
        [("seal.digest", 2)],
    ),
    "seal-dated-back-and-reads-deleted": (
        """UPDATE memory_auditseal SET sealed_at = sealed_at - interval '1 year' WHERE number = 2;
        DELETE FROM memory_auditevent WHERE sealed_in = 2 AND verb = 'read'""",
        [("seal.digest", 2)],
    ),
    "signature-gone": (
        "UPDATE memory_auditseal SET signature = decode(repeat('00', 64), 'hex') WHERE number = 2",
        [("seal.signature", 2)],
    ),
    "last-seal-opened-again": (
        """DELETE FROM memory_auditseal WHERE number = 3;
        UPDATE memory_auditevent SET sealed_in = NULL WHERE sealed_in = 3""",
        [],
    ),
}


@with_the_tables_owner
@pytest.mark.parametrize(("statements", "found"), TAMPERING.values(), ids=TAMPERING)
def test_tampering_is_found(alice: Actor, statements: str, found: list[tuple[str, int | None]]) -> None:
    sealed_chain(alice.owner_id, ("login",), ("erase", "read", "erase", "read"), ("export", "erase", "read"))
    heads = checked_heads(heads_of(ends()))
    assert codes(alice.owner_id) == []
    with as_the_tables_owner(alice.owner_id) as cursor:
        for statement in statements.split(";"):
            cursor.execute(statement)
            assert cursor.rowcount >= 1
    assert codes(alice.owner_id) == found
    if not found:
        [cut] = compare([verify_owner(alice.owner_id)], heads, all_chains=True)
        assert (cut.code, cut.seal) == ("head.missing", 3)


@with_the_tables_owner
def test_a_seal_that_was_computed_anew_is_not_signed(alice: Actor) -> None:
    """Whoever knows the arithmetic and has the database cannot sign."""
    sealed_chain(alice.owner_id, ("login",), ("erase", "erase"))
    pseudonym = pseudonym_of(alice.owner_id)
    with owner_scope(alice.owner_id):
        seal = AuditSeal.objects.get(number=2)
    with as_the_tables_owner(alice.owner_id) as cursor:
        cursor.execute("DELETE FROM memory_auditevent WHERE sealed_in = 2")
        empty = said_by(AuditSeal(acts=0, reads=0, acts_digest=seal.reads_digest, reads_digest=seal.reads_digest))
        digest = digest_of(pseudonym, 2, empty, previous=bytes(seal.previous), sealed_at=seal.sealed_at)
        forged = Signer("a key that the thief has made, of some length").sign(digest, purpose="audit")
        cursor.execute(
            "UPDATE memory_auditseal SET acts = 0, acts_digest = reads_digest, digest = %s, signature = %s"
            " WHERE number = 2",
            [digest, forged],
        )
    assert codes(alice.owner_id) == [("seal.signature", 2)]


@with_the_tables_owner
def test_a_chain_of_another_owner_does_not_verify_here(alice: Actor, mallory: Actor) -> None:
    """Seals and events moved from one owner to another are signed, and for the other chain."""
    sealed_chain(mallory.owner_id, ("erase",))
    with as_the_tables_owner(alice.owner_id) as cursor:
        for table in ("memory_auditevent", "memory_auditseal"):
            cursor.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
            cursor.execute(f"UPDATE {table} SET owner_id = %s", [alice.owner_id])
            cursor.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    assert codes(alice.owner_id) == [("seal.digest", 1), ("acts.changed", 1)]


@with_the_tables_owner
def test_cut_tails_and_chains_that_were_made_anew(alice: Actor, mallory: Actor) -> None:
    for owner in (alice, mallory):
        sealed_chain(owner.owner_id, ("login",), ("erase",))
    document = heads_of(ends())
    heads = checked_heads(document)
    with as_the_tables_owner(alice.owner_id) as cursor:
        cursor.execute("DELETE FROM memory_auditevent WHERE sealed_in = 2")
        cursor.execute("DELETE FROM memory_auditseal WHERE number = 2")
    assert codes(alice.owner_id) == []
    chains = [verify_owner(one.owner_id) for one in (alice, mallory)]
    assert [(one.chain, one.code) for one in compare(chains, heads, all_chains=True)] == [
        (pseudonym_of(alice.owner_id), "head.missing")
    ]
    sealed_chain(alice.owner_id, ("export",))
    chains = [verify_owner(one.owner_id) for one in (alice, mallory)]
    assert [one.code for one in compare(chains, heads, all_chains=True)] == ["head.changed"]
    assert [one.code for one in compare(chains[1:], heads, all_chains=True)] == ["chain.missing"]
    assert compare(chains[1:], heads, all_chains=False) == []


@pytest.fixture
def other_signer() -> Iterator[Signer]:
    """Set up another signing key for a while, and give the former."""
    former = signer()
    install(Signer("another key of this installation, long enough"))
    yield former
    install(former)


def test_after_a_change_of_the_signing_key_the_former_verifies_with_its_public_key(
    alice: Actor, request: pytest.FixtureRequest
) -> None:
    sealed_chain(alice.owner_id, ("login",))
    document = heads_of(ends())
    former: Signer = request.getfixturevalue("other_signer")
    assert codes(alice.owner_id) == [("seal.signature", 1)]
    assert verify_owner(alice.owner_id, public_key=former.public_key).findings == []
    assert checked_heads(document, public_key=former.public_key)
    with pytest.raises(InvalidInput, match="another key"):
        checked_heads(document)


def _changed(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(document), **changes}


def test_heads_that_were_changed_are_refused(alice: Actor) -> None:
    sealed_chain(alice.owner_id, ("login",))
    document = heads_of(ends())
    chain = str(pseudonym_of(alice.owner_id))
    assert document["heads"][chain]["number"] == 1
    bad: list[Any] = [
        None,
        [],
        {},
        "text",
        _changed(document, format="another"),
        _changed(document, version=2),
        _changed(document, heads={}),
        _changed(document, heads=[]),
        _changed(document, heads={chain: 1}),
        _changed(document, heads={"no id": {"number": 1, "digest": "00"}}),
        _changed(document, written_at="2020-01-01"),
        _changed(document, signature="zz"),
        _changed(document, signature=None),
        _changed(document, extra=float("nan")),
    ]
    for one in bad:
        with pytest.raises(InvalidInput) as refused:
            checked_heads(one)
        assert refused.value.machine_code == "heads.invalid"


def test_what_is_not_sealed_yet_is_told_and_no_error(alice: Actor) -> None:
    add(alice.owner_id, "login", "read")
    assert verify_owner(alice.owner_id).unsealed == 2
    assert codes(alice.owner_id) == []
    assert heads_of(ends())["heads"] == {}
