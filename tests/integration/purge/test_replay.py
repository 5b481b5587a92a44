"""What was erased does not come back with a backup: the ledger is not in the database, and is replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from memory.crypto.keyring import keyring
from memory.errors import KeysUnavailable
from memory.ids import new_id
from memory.models import (
    Agent,
    LexPosting,
    Memory,
    MemorySource,
    MemoryVector,
    Owner,
    Purge,
    User,
    owner_scope,
)
from memory.providers.composition import purge_ledger
from memory.providers.ledger_directory import FILE
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.forgetting import forget_by_provenance
from memory.services.graph.merging import merge_two
from memory.services.purge.ledger import note_erased, note_owner
from memory.services.purge.partial_requests import PartialRequest, begin_partial
from memory.services.purge.replay import Replayed, replay
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.retirement import archive_memory, delete_memory, erase_due
from tests.integration.consolidation.reviewing import fact, opened
from tests.integration.graph.conftest import entity

# A whole owner's purge rebuilds indexes on a connection of its own, so that nothing can be rolled back.
whole_owners = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


@contextmanager
def taken_back() -> Iterator[None]:
    """Undo in the database what the block does, as a restored backup does; keys and ledger stay as they are."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def own_ledger(settings: Any, tmp_path: Any) -> None:
    """Keep the ledger, and the keys, in a place of this test's own."""
    settings.KEYS_DIRECTORY = tmp_path / "keys"


def stored(actor: Actor, text: str, **fields: Any) -> UUID:
    return remember(actor=actor, draft=Draft(text=text, **fields)).memory_id


def texts(owner: Actor) -> set[str]:
    with owner_scope(owner.owner_id):
        return {row.text for row in Memory.objects.all()}


def purge(actor: Actor, **request: Any) -> None:
    made = begin_partial(actor=actor, request=PartialRequest(**request))
    assert run_purge(purge_id=made.purge.pk).state == "done"


def test_without_a_ledger_nothing_happens(alice: Actor) -> None:
    stored(alice, "Kept.")
    assert replay() == Replayed()
    assert texts(alice) == {"Kept."}


@whole_owners
def test_a_purged_owner_is_purged_again(alice: Actor, mallory: Actor) -> None:
    stored(alice, "Gone.")
    stored(mallory, "Kept.")
    # What a purge has done outside the database, beside a backup from before it.
    note_owner(owner_id=alice.owner_id, purge_id=new_id(), at=now())
    keyring().destroy(alice.owner_id)
    assert replay() == Replayed(owners=1)
    assert not Owner.objects.filter(pk=alice.owner_id).exists()
    assert not User.objects.filter(username="alice").exists()
    with owner_scope(alice.owner_id):
        assert not Memory.objects.exists()
    assert texts(mallory) == {"Kept."}
    row = Purge.objects.get()
    assert (row.requested_by, row.state, row.of_owner) == ("replay", "done", None)
    assert replay() == Replayed(), "a second time there is nothing left to do"


@whole_owners
def test_a_backup_from_the_middle_of_a_purge_is_finished(alice: Actor) -> None:
    stored(alice, "Gone.")
    made = begin_purge(actor=alice)
    note_owner(owner_id=alice.owner_id, purge_id=made.purge.pk, at=now())
    keyring().destroy(alice.owner_id)
    assert replay() == Replayed(owners=1)
    assert Purge.objects.get().pk == made.purge.pk
    assert not Owner.objects.filter(pk=alice.owner_id).exists()


def test_erased_memories_are_erased_again_and_the_rest_stays(alice: Actor) -> None:
    doomed, archived = stored(alice, "Purged."), stored(alice, "Archived by hand.")
    deleted = stored(alice, "Deleted by its person.")
    stored(alice, "Forgotten with its source.", source="user:al")
    both = stored(alice, "Said twice.", source="user:al")
    stored(alice, "Said twice.", source="user:bo")
    with taken_back():
        purge(alice, memories=[doomed])
        archive_memory(actor=alice, memory_id=archived)
        delete_memory(actor=alice, memory_id=deleted)
        erase_due(owner_id=alice.owner_id, at=now() + timedelta(seconds=11))
        forget_by_provenance(actor=alice, prefix="user:al", erase=True)
    assert len(texts(alice)) == 5
    assert replay() == Replayed(memories=3, sources=1)
    assert texts(alice) == {"Archived by hand.", "Said twice."}
    with owner_scope(alice.owner_id):
        assert [row.source for row in MemorySource.objects.filter(memory_id=both)] == ["user:bo"]
        assert Memory.objects.get(pk=both).source == "user:bo"
    assert replay() == Replayed()


def test_a_memory_whose_other_statements_came_later_goes_whole(alice: Actor) -> None:
    both = stored(alice, "Said twice.", source="user:al")
    with taken_back():
        stored(alice, "Said twice.", source="user:bo")
        purge(alice, source="user:al")
        with owner_scope(alice.owner_id):
            assert Memory.objects.filter(pk=both).exists()
    assert replay() == Replayed(memories=1)
    assert texts(alice) == set()


def test_an_agent_is_erased_again(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    doomed, _ = make_agent(alice, "doomed")
    other, _ = make_agent(alice, "other")
    stored(doomed, "By the doomed.")
    stored(other, "By the other.")
    with taken_back():
        purge(alice, agent=doomed.agent_id)
    assert replay() == Replayed(agents=1)
    assert texts(alice) == {"By the other."}
    with owner_scope(alice.owner_id):
        assert list(Agent.objects.values_list("pk", flat=True)) == [other.agent_id]


def test_an_archive_that_time_erased_may_come_back(alice: Actor) -> None:
    """Time takes it again; the ledger is for what somebody wanted gone."""
    from memory.services.erasing import erase_memories

    memory_id = stored(alice, "Old.")
    with taken_back(), owner_scope(alice.owner_id):
        erase_memories([memory_id], at=now(), actor="system", reason="retention", with_live=False)
    assert replay() == Replayed()


def test_a_replay_adds_nothing_to_the_ledger(alice: Actor) -> None:
    doomed = stored(alice, "Purged.")
    with taken_back():
        purge(alice, memories=[doomed])
    before = list(purge_ledger().entries())
    replay()
    assert list(purge_ledger().entries()) == before


def test_one_failure_keeps_nobody_else_from_its_turn(alice: Actor, mallory: Actor) -> None:
    doomed, other = stored(alice, "Purged."), stored(mallory, "Purged too.")
    with taken_back():
        purge(alice, memories=[doomed])
        purge(mallory, memories=[other])
    keyring().destroy(alice.owner_id)
    done = replay()
    assert (done.memories, done.failed) == (1, {"keys.unavailable": 1})
    assert texts(mallory) == set()


def test_a_ledger_that_cannot_be_read_stops_everything(alice: Actor, settings: Any) -> None:
    doomed = stored(alice, "Purged.")
    with taken_back():
        purge(alice, memories=[doomed])
    with (settings.KEYS_DIRECTORY / FILE).open("a") as file:
        file.write("{}\n")
    with pytest.raises(KeysUnavailable, match=r"Line \d+ of the purge ledger is damaged"):
        replay()
    assert texts(alice) == {"Purged."}


def test_other_owners_entries_name_nothing_here(alice: Actor, mallory: Actor) -> None:
    """The same id of another owner is not meant; the salt and the owner's hash say whose it is."""
    memory_id = stored(alice, "Kept.")
    note_erased(owner_id=mallory.owner_id, purge_id=new_id(), subject="memory", ids=[memory_id], at=now())
    note_owner(owner_id=new_id(), purge_id=new_id(), at=now())
    assert replay() == Replayed()
    assert texts(alice) == {"Kept."}


def test_an_owner_is_noted_once(alice: Actor) -> None:
    purge_id = new_id()
    for _ in range(2):
        note_owner(owner_id=alice.owner_id, purge_id=purge_id, at=now())
    assert len(list(purge_ledger().entries())) == 1


def test_replayed_purges_have_receipts(alice: Actor) -> None:
    doomed = stored(alice, "Purged.")
    with taken_back():
        purge(alice, memories=[doomed])
    replay()
    row = Purge.objects.get()
    assert (row.requested_by, row.state) == ("replay", "done")
    assert row.receipt is not None
    assert row.receipt["erased"] == {"memories": 1}


def test_a_backup_whose_text_key_is_destroyed_is_purged_all_the_same(alice: Actor) -> None:
    """After "seal now" nothing of an older backup opens; rows, vectors and postings have to go even so."""
    doomed, other = stored(alice, "Robert, called Bob, moved."), stored(alice, "Robert moved.")
    robert = entity(alice, "Robert", aliases=["Bob"], memory_id=doomed)
    assert entity(alice, "Robert", memory_id=other) == robert
    bob = entity(alice, "Bobby", memory_id=doomed)
    merge_two(actor=alice, kept_id=robert, merged_id=bob)
    recall(actor=alice, request=RecallRequest(query="Robert moved"))
    opened(alice, payload=fact("Robert moved."), evidence=[(doomed, "moved"), (other, "moved")])
    note_erased(owner_id=alice.owner_id, purge_id=new_id(), subject="memory", ids=[doomed], at=now())
    keyring().vault.add_version(alice.owner_id, after=1, at=now())
    keyring().vault.destroy_versions(alice.owner_id, below=2)
    keyring().forget(alice.owner_id)
    with owner_scope(alice.owner_id), pytest.raises(KeysUnavailable):
        Memory.objects.get(pk=doomed).text  # noqa: B018
    assert replay() == Replayed(memories=1)
    with owner_scope(alice.owner_id):
        assert list(Memory.objects.values_list("pk", flat=True)) == [other]
        assert set(LexPosting.objects.values_list("memory_id", flat=True)) == {other}
        assert set(MemoryVector.objects.values_list("memory_id", flat=True)) == {other}
