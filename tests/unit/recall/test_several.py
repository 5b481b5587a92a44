"""Questions for several things, and questions for one."""

from __future__ import annotations

import pytest

from memory.recall.several import asks_for_several
from tests.unit.text.scaling import assert_linear

SEVERAL = [
    "What activities does Melanie enjoy?",
    "Which kinds of books has she read?",
    "In what places have they been hiking?",
    "What has Melanie painted?",
    "Where has Maria made friends?",
    "What are Nate's favourite desserts?",
    "What do Melanie's kids like?",
    "How many times did it rain?",
    "What do Jon and Gina both like?",
    "What do they have in common?",
    "Who else came?",
    "Welche Bücher hat sie gelesen?",
    "Wie viele Katzen hat er?",
    "¿Qué libros ha leído?",
    "Quels films aime-t-elle ?",
    "她有哪些爱好?",
    "他养了几只猫？",
    "Which tickets came out of the postmortem?",
    "Which notice periods apply to the flat?",
    "Which pressure transducers has AH1 had?",
    "What do the neighbours grow?",
    "What were her two conditions?",
    "Where have the children been swimming?",
    "¿Cuántos platos se rompieron?",
    "Combien d'enfants sont venus ?",
    "Wie viele Leute kamen?",
]
ONE = [
    "What is his name?",
    "When did Caroline move?",
    "What was the colour of the bus?",
    "Which bus goes to Sligo?",
    "Where does Oona live?",
    "Why was the meeting moved?",
    "What does this mean?",
    "Who plays the harp?",
    "Welcher Bus fährt nach Leipzig?",
    "¿Dónde vive Oona?",
    "¿Qué días de octubre vuela Marisol?",
    "What days is it open?",
    "Which function throws E-9120?",
    "Which header carries the signature?",
    "Which file holds the key?",
    "Which ticket was about replacing it?",
    "What motivates Joanna to write?",
    "What do you like?",
    "What are the opening hours?",
    "How many minutes did it take?",
    "How long has she been painting?",
    "What would the rent have been?",
    "Who mends the café's chairs?",
    "Who took Ann's keys?",
    "Was it open all the time?",
    "Wie viele Tage dauert es?",
    "¿Cuántos días dura?",
    "Combien de temps dure-t-il ?",
    "续签工签的费用是多少？",
    "每次多少钱？",
    "",
]


@pytest.mark.parametrize("question", SEVERAL)
def test_it_asks_for_several(question: str) -> None:
    assert asks_for_several(question)


@pytest.mark.parametrize("question", ONE, ids=range(len(ONE)))
def test_it_asks_for_one(question: str) -> None:
    assert not asks_for_several(question)


@pytest.mark.parametrize(
    "unit", ["what has ", "what do ", "what are a ", "what kinds of ", "which a b ", "how has the a ", "s's "]
)
def test_the_cost_grows_with_the_length(unit: str) -> None:
    assert_linear(asks_for_several, unit)
