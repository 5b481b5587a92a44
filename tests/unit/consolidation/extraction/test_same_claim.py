"""One thing that is said in many ways gives one claim; what only sounds like it gives another, or none."""

from __future__ import annotations

import pytest

from memory.consolidation.extraction.contractions import written_out
from tests.unit.consolidation.extraction.drawing import claims, draw, relations, texts

WAYS = {
    ("Ana's sister", "lives_in", "lisbon", 1, True): [
        "My sister lives in Lisbon.",
        "My sister's been living in Lisbon for years.",
        "My sister is based in Lisbon",
        "My sister's living in Lisbon now.",
        "By the way, my sister still lives in Lisbon, you know.",
        "My sister has lived in Lisbon for ages.",
    ],
    ("Ana", "likes", "chinese food", 1, False): [
        "I love Chinese food",
        "I'm a big fan of Chinese food!",
        "Chinese food is my favourite.",
        "Honestly, Chinese food is by far my all-time favorite thing",
        "I really enjoy Chinese food a lot.",
    ],
    ("Ana", "works_at", "acme corp", 1, True): [
        "I work at Acme Corp.",
        "I'm employed by Acme Corp",
        "I've been working for Acme Corp.",
        "I'm working at Acme Corp these days",
    ],
    ("Ana", "allergic_to", "peanut", 1, False): [
        "I'm allergic to peanuts.",
        "I have a peanut allergy",
        "I've got a severe peanut allergy.",
        "I've got an allergy to peanuts, by the way.",
    ],
    ("Ana", "birthday", "05-03", 1, True): [
        "My birthday is on the 3rd of May",
        "My birthday falls on May 3.",
        "I was born on 3 May",
    ],
    ("Ana", "has_pet", "dog rex", 1, False): [
        "My dog is called Rex.",
        "I have a dog named Rex.",
        "I've got a dog named Rex",
        "Just adopted a dog called Rex!",
        "We have a dog called Rex.",
        "I adopted a puppy named Rex.",
    ],
    ("Ana", "likes", "tea", 1, False): ["I prefer tea to coffee", "I like tea better than coffee.", "I love tea"],
}


@pytest.mark.parametrize(("said", "claim"), [(said, claim) for claim, ways in WAYS.items() for said in ways], ids=str)
def test_one_claim(said: str, claim: tuple[str, str, str, int, bool]) -> None:
    assert claims(draw(said)) == [claim]


@pytest.mark.parametrize(
    "said",
    [
        "My sister's living room is in Lisbon.",
        "My sister's dog is in Lisbon.",
        "She's my favourite.",
        "That is my favourite.",
        "My favourite is the red one over there.",
        "I was employed by Acme Corp until May.",
        "She adopted a dog named Rex.",
        "I think Tom adopted a dog named Rex",
        "There is a new dog named Rex.",
        "I'll be living in Lisbon",
    ],
    ids=str,
)
def test_no_claim(said: str) -> None:
    assert claims(draw(said)) == []


def test_a_pet_is_whose_it_is() -> None:
    drawn = draw("My sister has a dog named Rex.")
    assert texts(drawn) == ["Ana's sister has a dog named Rex."]
    assert relations(drawn) == {("Ana", "has_sister", "Ana's sister", False)}
    assert relations(draw("Tom has a cat called Luna.")) == set()


@pytest.mark.parametrize(
    ("clause", "written"),
    [
        ("He's been ill", "He has been ill"),
        ("She's moved to Rome", "She has moved to Rome"),
        ("She's allergic to nuts", "She is allergic to nuts"),
        ("I've got a cat", "I have got a cat"),
        ("my brother's just moved to Rome", "my brother has just moved to Rome"),
        ("my brother's house is old", "my brother's house is old"),
        ("we're here", "we are here"),
        ("I'll go", "I'll go"),
    ],
    ids=str,
)
def test_contractions(clause: str, written: str) -> None:
    assert written_out(clause) == written
