"""When two statements say the same: true paraphrases in nearly the same words, and neighbours that must stay apart."""

from __future__ import annotations

import time

import pytest

from memory.consolidation.paraphrases import adds_detail, content, says_the_same

SAME = [
    ("The office is closed on Mondays", "On Mondays the office is closed."),
    ("Alice adopted a cat named Luna", "Alice has adopted a cat called Luna"),
    ("Alice loves Chinese food", "Alice really enjoys Chinese cuisine"),
    ("Alice loves Chinese food", "Chinese food is Alice's favourite"),
    ("Alice loves Chinese food", "Alice is a big fan of Chinese food!"),
    ("Bob does not eat meat", "Bob doesn't eat meat"),
    ("The two sensors are in room 101", "The 2 sensors are in Room 101."),
    ("Das Büro ist montags geschlossen", "Das Büro ist montags geschlossen."),
]
APART = [
    ("Room 101 is booked for Alice", "Room 102 is booked for Alice"),
    ("The 2023 tax return is filed", "The 2024 tax return is filed"),
    ("Flight UA123 leaves at noon", "Flight UA124 leaves at noon"),
    ("Dr John Richardson is my dentist", "Dr Jane Richardson is my dentist"),
    ("The Q3 revenue report is done", "The Q4 revenue report is done"),
    ("Alice likes Chinese food", "Alice hates Chinese food"),
    ("Alice likes Chinese food", "Alice doesn't like Chinese food"),
    ("Tom reports to Ann", "Ann reports to Tom"),
    ("User prefers tabs over spaces", "User prefers spaces over tabs"),
    ("The key is under the mat", "The key is behind the mat"),
    ("Lunch is before the meeting", "Lunch is after the meeting"),
    ("Bob bought a car", "Bob sold a car"),
    ("The deployment runs every Friday evening", "The deployment runs every Monday evening"),
    ("Alice lives in Pune", "Alice lived in Pune"),
    ("Alice might move to Berlin", "Alice moved to Berlin"),
    ("Only admins can delete projects", "All users can delete projects"),
    ("The dog bit the man", "The man bit the dog"),
    ("The US joined", "They joined us"),
    ("Bob owes 1.5 %", "Bob owes 15 %"),
    ("", ""),
    ("a the", "the a"),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=range(len(SAME)))
def test_the_same(one: str, other: str) -> None:
    assert says_the_same(one, other)
    assert says_the_same(other, one)


@pytest.mark.parametrize(("one", "other"), APART, ids=range(len(APART)))
def test_apart(one: str, other: str) -> None:
    assert not says_the_same(one, other)
    assert not says_the_same(other, one)


def test_what_a_paraphrase_of_a_claim_may_not_add() -> None:
    known = "User loves Chinese food."
    claim = ("user", "chinese food")
    assert not adds_detail("I am a huge fan of Chinese food", known, apart_from=claim)
    assert not adds_detail("Caroline adores Chinese food", "Caroline loves Chinese food", apart_from=claim)
    assert adds_detail("User has loved Chinese food since 2019", known, apart_from=claim)
    assert adds_detail("User loves Chinese food on Fridays in May", known, apart_from=claim)
    assert adds_detail("User loves Chinese food with Bob", known, apart_from=claim)
    assert adds_detail("User ate Chinese food three times", known, apart_from=claim)
    assert not adds_detail("User loves Chinese food.", "User has loved Chinese food since 2019", apart_from=claim)
    assert not adds_detail("Caroline loves Chinese food", known, apart_from=("caroline", "chinese food"))


def test_long_texts_are_told_apart_by_their_hash_alone() -> None:
    long = "word " * 50_000
    begun = time.process_time()
    assert content(long) == []
    assert not says_the_same(long, long)
    assert adds_detail(long, long)
    assert time.process_time() - begun < 5
