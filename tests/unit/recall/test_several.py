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
    "",
]


@pytest.mark.parametrize("question", SEVERAL)
def test_it_asks_for_several(question: str) -> None:
    assert asks_for_several(question)


@pytest.mark.parametrize("question", ONE, ids=range(len(ONE)))
def test_it_asks_for_one(question: str) -> None:
    assert not asks_for_several(question)


@pytest.mark.parametrize("unit", ["what has ", "ax'b ", "what kinds of ", "which a b ", "how has the a ", "s's "])
def test_the_cost_grows_with_the_length(unit: str) -> None:
    assert_linear(asks_for_several, unit)
