"""A database that lacks what the ledger of purges names is noticed, whatever way it was restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from memory.crypto.keyring import keyring
from memory.ids import new_id
from memory.models import Memory, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.forgetting import forget_by_provenance
from memory.services.purge.ledger import note_owner
from memory.services.purge.older_database import is_older_than_ledger
from memory.services.purge.partial_requests import PartialRequest, begin_partial
from memory.services.purge.replay import replay
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from memory.services.retirement import UNDO, delete_memory, erase_due

whole_owners = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


@contextmanager
def taken_back() -> Iterator[None]:
    """Undo in the database what the block does, as a restored backup does; keys and ledger stay as they are."""
    with transaction.atomic():
        yield
        assert not is_older_than_ledger(), "the database that something was erased in knows it"
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def own_ledger(settings: Any, tmp_path: Any) -> None:
    """Keep the ledger, and the keys, in a place of this test's own."""
    settings.KEYS_DIRECTORY = tmp_path / "keys"


def stored(actor: Actor, text: str, **fields: Any) -> UUID:
    return remember(actor=actor, draft=Draft(text=text, **fields)).memory_id


def erased(actor: Actor, memory_id: UUID) -> None:
    delete_memory(actor=actor, memory_id=memory_id)
    assert erase_due(owner_id=actor.owner_id, at=now() + 2 * UNDO)[0] == 1


def purged(actor: Actor, **request: Any) -> None:
    made = begin_partial(actor=actor, request=PartialRequest(**request))
    assert run_purge(purge_id=made.purge.pk).state == "done"


def knows_again(owner: Actor, left: int) -> None:
    """Replay, and see that this is needed once."""
    assert is_older_than_ledger()
    assert replay().failed == {}
    with owner_scope(owner.owner_id):
        assert Memory.objects.count() == left
    assert not is_older_than_ledger()


def test_without_a_ledger_it_is_not(alice: Actor) -> None:
    stored(alice, "Kept.")
    with CaptureQueriesContext(connection) as asked:
        assert not is_older_than_ledger()
    assert len(asked) == 0


def test_a_database_without_what_a_person_deleted(alice: Actor, mallory: Actor) -> None:
    doomed = stored(alice, "Deleted.")
    stored(mallory, "Kept.")
    with taken_back():
        erased(alice, doomed)
    knows_again(alice, left=0)
    knows_later = stored(alice, "Deleted later.")
    with taken_back():
        erased(alice, knows_later)
    knows_again(alice, left=0)


def test_a_database_without_a_purge_of_a_memory(alice: Actor) -> None:
    doomed = stored(alice, "Purged.")
    with taken_back():
        purged(alice, memories=[doomed])
    knows_again(alice, left=0)


def test_a_database_without_a_source_that_was_forgotten(alice: Actor) -> None:
    stored(alice, "Said twice.", source="user:al")
    stored(alice, "Said twice.", source="user:bo")
    with taken_back():
        forget_by_provenance(actor=alice, prefix="user:al", erase=True)
    knows_again(alice, left=1)


def test_the_newest_erasing_of_an_owner_speaks_for_those_before(alice: Actor) -> None:
    first, second = stored(alice, "First."), stored(alice, "Second.")
    erased(alice, first)
    assert not is_older_than_ledger()
    with taken_back():
        erased(alice, second)
    knows_again(alice, left=0)


def test_a_stranger_of_the_ledger_is_nobody_here(alice: Actor) -> None:
    note_owner(owner_id=new_id(), purge_id=new_id(), at=now())
    assert not is_older_than_ledger()


def test_an_owner_who_was_purged_and_is_there(alice: Actor) -> None:
    note_owner(owner_id=alice.owner_id, purge_id=new_id(), at=now())
    assert is_older_than_ledger()


@whole_owners
def test_a_purge_that_is_only_begun_here_has_to_be_finished(alice: Actor, mallory: Actor) -> None:
    made = begin_purge(actor=alice)
    assert not is_older_than_ledger()
    note_owner(owner_id=alice.owner_id, purge_id=made.purge.pk, at=now())
    keyring().destroy(alice.owner_id)
    assert is_older_than_ledger()
    assert replay().owners == 1
    assert not is_older_than_ledger()
