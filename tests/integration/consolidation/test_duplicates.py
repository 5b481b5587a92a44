"""One fact is one memory, however often and in whatever words it is said; what differs stays apart."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memory.models import Memory, MemoryAccess, MemoryClaim, owner_scope
from memory.ports import ExtractedFact
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember, remember_many
from memory.services.retirement import archive_memory
from tests.integration.consolidation.scripted import (
    MAY,
    Everything,
    Scripted,
    consolidate,
    facts_of,
    home,
    preference,
    texts_of,
    turns_of,
)
from tests.integration.consolidation.stage import say

pytestmark = pytest.mark.django_db

WAYS = ["User loves Chinese food.", "User really enjoys Chinese food.", "Chinese food is what the user adores."] + [
    "User is fond of Chinese food.",
    "User can never get enough of Chinese food.",
]


@pytest.mark.parametrize("together", [True, False], ids=["one run", "five runs"])
def test_one_fact_in_five_sessions_is_one_memory_with_five_sources(alice: Actor, together: bool) -> None:
    turns = []
    for day, text in enumerate(WAYS):
        _, said = say(alice, f"session {day}", ("user", text), at=MAY + timedelta(days=day))
        turns += said
        if not together:
            consolidate(alice, Scripted({text: [preference(text, "Chinese food")]}))
    if together:
        consolidate(alice, Scripted({text: [preference(text, "Chinese food")] for text in WAYS}))
    (fact,) = facts_of(alice)
    assert sorted(filter(None, turns_of(alice, fact.pk))) == sorted(turns)
    assert len(turns_of(alice, fact.pk)) == 5
    with owner_scope(alice.owner_id):
        assert MemoryClaim.objects.count() == 1
        uses = MemoryAccess.objects.get(memory_id=fact.pk).access_count
    assert uses == 4


def test_the_same_words_without_a_claim_are_one(alice: Actor) -> None:
    for day, text in enumerate(["The office is closed on Mondays.", "On Mondays the office is closed."]):
        say(alice, f"session {day}", ("user", text), at=MAY + timedelta(days=day))
        consolidate(alice, Everything())
    (fact,) = facts_of(alice)
    assert len(turns_of(alice, fact.pk)) == 2


def test_without_vectors_equal_claims_and_texts_are_still_found(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.services.consolidation.facts.embed_texts", lambda texts, owner_id: None)
    for day, text in enumerate(["It is green.", "It is green.", "The grass is green."]):
        say(alice, f"session {day}", ("user", text), at=MAY + timedelta(days=day))
        consolidate(alice, Everything())
    assert texts_of(alice) == ["It is green.", "The grass is green."]


NEIGHBOURS = [
    ("Room 101 is booked for Alice.", "Room 102 is booked for Alice."),
    ("The 2023 tax return is filed.", "The 2024 tax return is filed."),
    ("Flight UA123 leaves at noon.", "Flight UA124 leaves at noon."),
    ("Dr John Richardson is my dentist.", "Dr Jane Richardson is my dentist."),
    ("The Q3 revenue report is done.", "The Q4 revenue report is done."),
    ("Tom reports to Ann.", "Ann reports to Tom."),
    ("Alice likes chess.", "Alice hates chess."),
    ("Alice is here.", "Alice is not here."),
]


@pytest.mark.parametrize("pair", NEIGHBOURS, ids=range(len(NEIGHBOURS)))
def test_neighbours_stay_apart(alice: Actor, pair: tuple[str, str]) -> None:
    say(alice, "one", ("user", pair[0]), at=MAY)
    say(alice, "two", ("user", pair[1]), at=MAY)
    consolidate(alice, Everything())
    assert texts_of(alice) == sorted(pair)


def test_the_same_claim_with_a_new_number_is_another_fact(alice: Actor) -> None:
    facts = [home("User lives in Pune.", "Pune"), home("User has lived in Pune since 2019.", "Pune")]
    for day, fact in enumerate(facts):
        say(alice, f"session {day}", ("user", fact.text), at=MAY + timedelta(days=day))
    consolidate(alice, Scripted({fact.text: [fact] for fact in facts}))
    assert texts_of(alice) == ["User has lived in Pune since 2019.", "User lives in Pune."]


def test_what_an_agent_stored_gets_the_turn_as_a_source(alice: Actor) -> None:
    stored = remember(actor=alice, draft=Draft(text="The boiler is serviced in March.", kind="fact"))
    _, (turn,) = say(alice, "chat", ("user", "The boiler is serviced in March."), at=MAY)
    consolidate(alice, Everything())
    assert facts_of(alice) == []
    assert set(turns_of(alice, stored.memory_id)) == {turn, None}


def test_a_fact_that_was_archived_is_drawn_again(alice: Actor) -> None:
    say(alice, "one", ("user", "It is green."), at=MAY)
    consolidate(alice, Everything())
    archive_memory(actor=alice, memory_id=facts_of(alice)[0].pk)
    say(alice, "two", ("user", "It is green."), at=MAY)
    consolidate(alice, Everything())
    assert texts_of(alice) == ["It is green."]


def test_scopes_are_apart(alice: Actor, make_agent: Any) -> None:
    agent, _ = make_agent(alice)
    say(agent, "private", ("user", "It is green."), at=MAY, scope="agent")
    say(alice, "shared", ("user", "It is green."), at=MAY)
    consolidate(alice, Everything())
    assert sorted(row.visibility for row in facts_of(alice)) == ["agent", "owner"]


def test_a_small_owners_duplicates_are_found_beside_a_large_one(alice: Actor, mallory: Actor) -> None:
    """3,000 facts of one owner and 30 of another in one table: the nearest of all would be the large one's."""
    colours = [f"colour{number}" for number in range(30)]
    first = [f"The office in {colour} street is closed on Mondays." for colour in colours]
    again = [f"On Mondays the office in {colour} street is closed." for colour in colours]
    large = [
        f"On Mondays the office in {colour} street number {number} is closed."
        for colour in colours
        for number in range(100)
    ]
    for start in range(0, len(large), 500):
        remember_many(
            actor=mallory, drafts=[Draft(text=text, kind="fact") for text in large[start : start + 500]], scope="owner"
        )
    say(alice, "first", *[("user", text) for text in first], at=MAY)
    consolidate(alice, Everything())
    assert len(facts_of(alice)) == 30
    say(alice, "again", *[("user", text) for text in again], at=MAY)
    reports, _ = consolidate(alice, Everything())
    assert texts_of(alice) == sorted(first)
    assert reports["facts"].counts["known"] == 30
    assert all(len(turns_of(alice, row.pk)) == 2 for row in facts_of(alice))


def test_a_fact_longer_than_its_bound_is_cut(alice: Actor) -> None:
    say(alice, "one", ("user", "long"), at=MAY)
    consolidate(alice, Scripted({"long": [ExtractedFact(text="word " * 100)]}))
    (fact,) = facts_of(alice)
    assert fact.text.endswith("word…")
    assert len(fact.text) <= 281
    with owner_scope(alice.owner_id):
        assert Memory.objects.get(pk=turns_of(alice, fact.pk)[0]).text == "long"
