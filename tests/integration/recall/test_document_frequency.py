"""Frequencies are exact for rare words and remembered, for a while, for common ones."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.crypto.keyring import keyring
from memory.models import owner_scope
from memory.recall import document_frequency
from memory.recall.document_frequency import DocumentFrequencies
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember, remember_many


@pytest.fixture
def frequencies(monkeypatch: pytest.MonkeyPatch) -> DocumentFrequencies:
    monkeypatch.setattr(document_frequency, "REMEMBERED_FROM", 3)
    return DocumentFrequencies(monotonic=lambda: clock[0])


clock = [0.0]


def test_common_words_are_counted_once(alice: Actor, mallory: Actor, frequencies: DocumentFrequencies) -> None:
    remember_many(actor=alice, drafts=[Draft(text=f"tea number{number}") for number in range(4)])
    ring = keyring().of(alice.owner_id)
    tea, rare, none = ring.word("tea"), ring.word("number3"), ring.word("nothing")
    with owner_scope(alice.owner_id), CaptureQueriesContext(connection) as captured:
        assert frequencies.of(alice.owner_id, [tea, rare, none], rows=4) == {tea: 4, rare: 1}
        assert frequencies.of(alice.owner_id, [tea], rows=4) == {tea: 4}
        assert len(captured) == 1
        assert frequencies.of(alice.owner_id, [rare], rows=4) == {rare: 1}
        assert len(captured) == 2
    with owner_scope(mallory.owner_id):
        assert frequencies.of(mallory.owner_id, [tea], rows=0) == {}


@pytest.mark.parametrize("reason", ["age", "growth", "forgotten"])
def test_what_has_aged_is_counted_again(alice: Actor, frequencies: DocumentFrequencies, reason: str) -> None:
    remember_many(actor=alice, drafts=[Draft(text=f"tea number{number}") for number in range(4)])
    tea = keyring().of(alice.owner_id).word("tea")
    with owner_scope(alice.owner_id):
        frequencies.of(alice.owner_id, [tea], rows=4)
    remember(actor=alice, draft=Draft(text="more tea"))
    rows = 4
    if reason == "age":
        clock[0] += document_frequency.REMEMBERED_FOR_SECONDS + 1
    elif reason == "growth":
        rows = 5
    else:
        frequencies.forget()
    with owner_scope(alice.owner_id):
        assert frequencies.of(alice.owner_id, [tea], rows=rows) == {tea: 5}


def test_no_more_is_remembered_than_fits(
    alice: Actor, frequencies: DocumentFrequencies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_frequency, "MOST_REMEMBERED", 1)
    remember_many(actor=alice, drafts=[Draft(text=f"tea pot number{number}") for number in range(4)])
    ring = keyring().of(alice.owner_id)
    terms = [ring.word("tea"), ring.word("pot")]
    with owner_scope(alice.owner_id):
        assert set(frequencies.of(alice.owner_id, terms, rows=4).values()) == {4}
        with CaptureQueriesContext(connection) as captured:
            frequencies.of(alice.owner_id, terms, rows=4)
    assert len(captured) == 1
