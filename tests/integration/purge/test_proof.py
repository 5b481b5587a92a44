"""Whoever can write the rows of purges has nobody erased by it, and signs nothing of their own invention."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from memory.crypto import signing
from memory.crypto.keyring import keyring
from memory.crypto.signing import Signer, signer
from memory.ids import new_id
from memory.models import Memory, Owner, Purge, PurgeState, User, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.purge.lease import SILENCE
from memory.services.purge.ledger import named_in_ledger, note_owner
from memory.services.purge.progress import counts, kept
from memory.services.purge.proof import PurgeUnproven, proof_of
from memory.services.purge.reindexing import Rebuilding
from memory.services.purge.replay import Replayed, replay
from memory.services.purge.requests import begin_purge, request_purge
from memory.services.purge.runner import purge_is_due, run_due, run_purge
from memory.services.purge.samples import Search
from memory.services.purge.verification import Look
from memory.services.remember import remember

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])

FORGER = Signer("a secret of a forger, long enough to make a key of")


@pytest.fixture(autouse=True)
def own_ledger(settings: Any, tmp_path: Any) -> None:
    """Keep the ledger, and the keys, in a place of this test's own."""
    settings.KEYS_DIRECTORY = tmp_path / "keys"


def planted(owner: Actor, **fields: Any) -> Purge:
    """A purge as somebody writes it who has the database and not the signing key."""
    row = Owner.objects.get(pk=owner.owner_id)
    values: dict[str, Any] = {
        "of_owner": row.pk,
        "pseudonym": row.pseudonym,
        "subject": "owner",
        "target": {"user": str(row.user_id)},
        "requested_by": "person",
        "requested_at": now(),
        "token_digest": new_id().bytes * 2,
    }
    return Purge.objects.create(**(values | fields))


def is_unharmed(owner: Actor) -> bool:
    with owner_scope(owner.owner_id):
        there = Memory.objects.count() == 1
    return there and owner.owner_id in keyring().vault.owners() and User.objects.filter(owner=owner.owner_id).exists()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"proof": bytes(64)},
        {"requested_by": "replay"},
        {"state": "running", "stage": "keys"},
        {"subject": "agent", "target": {"agent": str(new_id()), "within": None, "seal": True}},
    ],
    ids=["bare", "zeros", "replay", "half-way", "agent"],
)
def test_a_planted_purge_is_not_carried_out(alice: Actor, fields: dict[str, Any]) -> None:
    remember(actor=alice, draft=Draft(text="Precious."))
    row = planted(alice, **fields)

    assert purge_is_due()
    assert run_due() == 0

    assert is_unharmed(alice)
    row.refresh_from_db()
    assert (row.state, row.error_code, row.receipt) == (PurgeState.FAILED, "purge.unproven", None)
    assert named_in_ledger([alice.owner_id]) == {}
    assert not purge_is_due(at=now() + timedelta(days=1)), "it is not tried again"


def test_a_signature_of_another_key_is_none(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(actor=alice, draft=Draft(text="Precious."))
    row = planted(alice)
    with monkeypatch.context() as forging:
        forging.setattr(signing, "_installed", FORGER)
        row.proof = proof_of(row)
        row.save()
    with pytest.raises(PurgeUnproven):
        run_purge(purge_id=row.pk)
    assert is_unharmed(alice)


CHANGES: dict[str, Callable[[Actor], dict[str, Any]]] = {
    "owner": lambda victim: {"of_owner": victim.owner_id},
    "login": lambda victim: {"target": {"user": str(User.objects.get(owner=victim.owner_id).pk)}},
    "pseudonym": lambda victim: {"pseudonym": Owner.objects.get(pk=victim.owner_id).pseudonym},
    "subject": lambda victim: {"subject": "memory"},
    "asker": lambda victim: {"requested_by": "operator"},
    "moment": lambda victim: {"requested_at": now() + timedelta(days=1)},
    "token": lambda victim: {"token_digest": bytes(32)},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_purge_is_refused_that_was_changed(alice: Actor, mallory: Actor, change: Any) -> None:
    remember(actor=alice, draft=Draft(text="Precious."))
    mine = begin_purge(actor=mallory).purge
    Purge.objects.filter(pk=mine.pk).update(**change(alice))

    assert run_due() == 0

    assert Purge.objects.get().error_code == "purge.unproven"
    assert is_unharmed(alice)


def test_the_proof_of_one_purge_is_none_for_another(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Precious."))
    mine = begin_purge(actor=mallory).purge
    planted(alice, proof=bytes(mine.proof))

    assert run_due() == 1

    assert is_unharmed(alice)
    assert not Owner.objects.filter(pk=mallory.owner_id).exists()


def test_samples_of_the_row_name_no_login(alice: Actor, mallory: Actor) -> None:
    """The row's progress is not signed; whose login goes is."""
    remember(actor=alice, draft=Draft(text="Precious."))
    mine = begin_purge(actor=mallory).purge
    victim = User.objects.get(owner=alice.owner_id).pk
    Purge.objects.filter(pk=mine.pk).update(samples={"user": str(victim), "sealed": {}, "vectors": []})

    assert run_due() == 1

    assert is_unharmed(alice)
    assert not User.objects.filter(username="mallory").exists()


def test_a_purge_goes_on_when_the_owners_keys_are_gone(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Going."))
    made = begin_purge(actor=alice)

    class Killed(BaseException):
        pass

    def kill(step: str) -> None:
        if step == "verify.tables":
            raise Killed

    with pytest.raises(Killed):
        run_purge(purge_id=made.purge.pk, after_step=kill)
    assert alice.owner_id not in keyring().vault.owners()
    assert run_due(at=now() + SILENCE + timedelta(seconds=1)) == 1
    assert Purge.objects.get().state == PurgeState.DONE


@pytest.mark.parametrize("stage", ["erase", "reindex", "keys", "verify", "elsewhere"])
def test_a_stage_that_was_written_skips_nothing(alice: Actor, stage: str) -> None:
    """Neither the ledger nor the keys are passed over, whatever the row says about how far it is."""
    remember(actor=alice, draft=Draft(text="Going."))
    made = begin_purge(actor=alice)
    tables = [f"target {name}" for name in ("keys", "memories")]
    position = {"look": {"done": ["memory_memory", *tables]}, "search": {"complete": True, "after": str(new_id())}}
    Purge.objects.filter(pk=made.purge.pk).update(stage=stage, position=position)

    done = run_purge(purge_id=made.purge.pk)

    assert done.state == PurgeState.DONE
    assert alice.owner_id not in keyring().vault.owners()
    assert named_in_ledger([alice.owner_id])[alice.owner_id].everything
    assert not Owner.objects.filter(pk=alice.owner_id).exists()


def test_words_of_others_are_not_signed(alice: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Going."))
    made = begin_purge(actor=alice)
    Purge.objects.filter(pk=made.purge.pk).update(
        erased={"memories": "all of Bob's", "Bob": 7, "sessions": -3, "queue": True, "postings": 0.5},
        position={
            "samples": {"Bob": "was here"},
            "look": {"tables": "Bob"},
            "search": {"owners": "Bob"},
            "reindexed": {"not_rebuilt": "Bob", "complete": True},
            "keys": {"keys": "Bob", "Bob": 1},
        },
    )

    receipt = run_purge(purge_id=made.purge.pk).receipt

    assert receipt is not None
    assert "Bob" not in str(receipt)
    assert receipt["erased"]["memories"] == 1
    assert all(type(count) is int and count > 0 for count in receipt["erased"].values())


def test_words_of_others_are_not_signed_for_parts_either(alice: Actor) -> None:
    memory_id = remember(actor=alice, draft=Draft(text="Going.")).memory_id
    made = request_purge(
        owner_id=alice.owner_id,
        subject="memory",
        target={"memories": [str(memory_id)], "within": None, "seal": False},
        requested_by="person",
        expected={},
        at=now(),
    )
    Purge.objects.filter(pk=made.purge.pk).update(erased={"Bob was here": 7, "drawn": "Bob"})
    done = None
    try:
        done = run_purge(purge_id=made.purge.pk).receipt
    except TypeError:
        # Words in place of a count cannot be added to, and the purge stays without a receipt.
        assert Purge.objects.get().receipt is None
    assert "Bob" not in str(done)


class TestAfterRestores:
    def test_the_ledger_proves_what_the_row_does_not(self, alice: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Gone."))
        made = begin_purge(actor=alice)
        note_owner(owner_id=alice.owner_id, purge_id=made.purge.pk, at=now())
        Purge.objects.update(proof=FORGER.sign(b"", purpose="purge"))

        assert replay() == Replayed(owners=1)

        assert not Owner.objects.filter(pk=alice.owner_id).exists()
        states = Purge.objects.order_by("requested_at").values_list("requested_by", "state", "error_code")
        assert list(states) == [("person", "failed", "purge.superseded"), ("replay", "done", "")]

    def test_a_closed_owner_without_a_purge_is_erased(self, alice: Actor) -> None:
        note_owner(owner_id=alice.owner_id, purge_id=new_id(), at=now())
        Owner.objects.filter(pk=alice.owner_id).update(purging_at=now())
        assert replay() == Replayed(owners=1)
        assert not Owner.objects.filter(pk=alice.owner_id).exists()


class TestNewSigningKeys:
    @pytest.fixture
    def refused(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> UUID:
        """A purge that was asked for before the signing key was replaced."""
        made = begin_purge(actor=alice)
        monkeypatch.setattr(signing, "_installed", FORGER)
        assert run_due() == 0
        return made.purge.pk

    def test_an_operator_vouches(self, alice: Actor, refused: UUID, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            call_command("purge", "status")
        shown = capsys.readouterr().out
        assert "failed with purge.unproven" in shown
        assert "tried again" not in shown
        with pytest.raises(SystemExit):
            call_command("purge", "resume", str(refused))
        assert Owner.objects.filter(pk=alice.owner_id).exists()

        call_command("purge", "resume", str(refused), "--vouch")

        assert not Owner.objects.filter(pk=alice.owner_id).exists()

    def test_nothing_else_is_vouched_for(self, alice: Actor, mallory: Actor) -> None:
        remember(actor=alice, draft=Draft(text="Precious."))
        row = planted(alice)
        ended = planted(alice, state="failed", error_code="purge.superseded")
        with pytest.raises(Exception, match="not asked for"):
            call_command("purge", "resume", str(row.pk), "--vouch")
        with pytest.raises(SystemExit):
            call_command("purge", "resume", str(ended.pk), "--vouch")
        assert is_unharmed(alice)


class TestProgress:
    def test_what_was_kept_is_read(self) -> None:
        look = {"tables": 3, "read_whole": 1, "left": {"a": 1}, "done": ["a"]}
        assert kept(Look, look) == Look(tables=3, read_whole=1, left={"a": 1}, done=["a"])
        search = {"owners": 2, "found": 1, "seconds": 1, "after": "x", "complete": True}
        assert kept(Search, search) == Search(2, 1, 1, "x", True)
        assert kept(Rebuilding, {"done": ["i"], "not_rebuilt": "", "complete": True}).complete

    @pytest.mark.parametrize(
        "value",
        [
            None,
            [],
            {"tables": "1"},
            {"tables": -1},
            {"tables": True},
            {"left": []},
            {"left": {"a": "b"}},
            {"done": "a"},
            {"done": [1]},
            {"more": 1},
        ],
        ids=str,
    )
    def test_anything_else_begins_anew(self, value: Any) -> None:
        assert kept(Look, value) == Look()
        assert kept(Search, {"after": 1}) == kept(Search, {"seconds": "1"}) == kept(Search, {"complete": 1}) == Search()

    def test_counts(self) -> None:
        given = {"a": 1, "b": "1", "c": -1, "d": True, "e": 0}
        assert counts(given) == {"a": 1, "e": 0}
        assert counts(given, known=["a", "b"]) == {"a": 1}
        assert counts(None) == counts([1]) == {}


def test_it_is_this_installations_key(alice: Actor) -> None:
    purge = begin_purge(actor=alice).purge
    assert bytes(Purge.objects.get().proof) == proof_of(purge)
    assert len(proof_of(purge)) == 64
    assert signer().public_key != FORGER.public_key
