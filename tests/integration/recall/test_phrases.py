"""Quoted phrases on stored candidates."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.db import connection

from memory.models import owner_scope
from memory.recall import phrases
from memory.recall.phrases import phrase_counts
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember_many

pytestmark = pytest.mark.django_db


def stored(actor: Actor, *texts: str) -> list[UUID]:
    items = remember_many(actor=actor, drafts=[Draft(text=text) for text in texts])
    return [item.stored.memory_id for item in items if item.stored is not None]


def test_counts_of_candidates(alice: Actor, mallory: Actor) -> None:
    ids = stored(alice, "The notice period is 60 days.", "The period of notice is over.", "Notice period, and no more.")
    with owner_scope(alice.owner_id):
        assert phrase_counts(ids, ["notice period"]) == {ids[0]: 1, ids[2]: 1}
        assert phrase_counts(ids, ["notice period", "60 days"])[ids[0]] == 2
        assert phrase_counts([uuid4()], ["notice period"]) == {}
    with owner_scope(mallory.owner_id):
        assert phrase_counts(ids, ["notice period"]) == {}


def test_only_the_first_candidates_are_opened(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = stored(alice, "First notice period.", "Second notice period.", "Third notice period.")
    monkeypatch.setattr(phrases, "MOST_OPENED", 2)
    with owner_scope(alice.owner_id):
        assert set(phrase_counts(ids, ["notice period"])) == set(ids[:2])
        assert phrase_counts(ids, []) == {}


def test_a_text_that_does_not_open_counts_for_nothing(alice: Actor, caplog: pytest.LogCaptureFixture) -> None:
    ids = stored(alice, "First notice period.", "Second notice period.")
    with owner_scope(alice.owner_id):
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE memory_memory SET text = other.text FROM memory_memory other "
                "WHERE memory_memory.id = %s AND other.id = %s AND memory_memory.owner_id = other.owner_id",
                ids,
            )
        assert phrase_counts(ids, ["notice period"]) == {ids[1]: 1}
    assert str(ids[0]) in caplog.text
    assert "notice" not in caplog.text
