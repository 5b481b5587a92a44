"""A whole owner is purged: nothing is left, and nobody else loses anything."""

from __future__ import annotations

import pytest

from memory.models import Owner, Purge, PurgeState
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.requests import begin_purge
from memory.services.purge.runner import run_purge
from memory.services.remember import remember

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def test_small(alice: Actor, mallory: Actor) -> None:
    remember(actor=alice, draft=Draft(text="Ann lives in Rome."))
    made = begin_purge(actor=alice)

    steps: list[str] = []
    done = run_purge(purge_id=made.purge.pk, after_step=steps.append)

    assert done.state == PurgeState.DONE
    assert verify_receipt(done.receipt)
    assert not Owner.objects.filter(pk=alice.owner_id).exists()
    assert Purge.objects.get().of_owner is None
