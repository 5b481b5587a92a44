"""Compound questions are split where their form leaves no doubt, and only there."""

from __future__ import annotations

from uuid import UUID

import pytest

from memory.recall.decomposition import LONGEST, decompose, interleave


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("When did Ann move and who helped her?", ["When did Ann move", "who helped Ann?"]),
        ("What are Tom's allergies and his shoe size?", ["What are Tom's allergies?", "What are Tom's shoe size?"]),
        (
            "What is my sister's phone number and my brother's address?",
            ["What is my sister's phone number?", "What is my brother's address?"],
        ),
        ("compare X and Y", ["X", "Y"]),
        ("Compare Postgres with MySQL.", ["Postgres", "MySQL"]),
        ("Postgres vs. MySQL?", ["Postgres", "MySQL"]),
        ("Compare Simon and Garfunkel with the Beatles", ["Simon and Garfunkel", "the Beatles"]),
        ("What is the difference between the blue and the red plan?", ["the blue", "the red plan"]),
        ("Was ist der Unterschied zwischen Miete und Pacht?", ["Miete", "Pacht"]),
        (
            "Where does Tom live? What does he do? Who is his wife?",
            ["Where does Tom live?", "What does Tom do?", "Who is Tom's wife?"],
        ),
        (
            "I moved to Berlin. Where is my doctor? When does she open?",
            ["Where is my doctor?", "When does she open?"],
        ),
        ("Do you remember when Ann moved and where she lives now?",
         ["Do you remember when Ann moved", "where Ann lives now?"]),
        ("Where did Mary Ann go and how long did she stay?",
         ["Where did Mary Ann go", "how long did Mary Ann stay?"]),
        ("When does it open, and how much is a ticket, and who sells it and where do I park?",
         ["When does it open", "how much is a ticket", "who sells it"]),
        ("Wann ist Ann umgezogen und wer hat ihr geholfen?", ["Wann ist Ann umgezogen", "wer hat ihr geholfen?"]),
        ("¿Cuándo se mudó Ann y quién la ayudó?", ["¿Cuándo se mudó Ann", "quién la ayudó?"]),
        ("Quand Ann a-t-elle déménagé et qui l'a aidée ?", ["Quand Ann a-t-elle déménagé", "qui l'a aidée ?"]),
        ("安娜什么时候搬家？谁帮了她？", ["安娜什么时候搬家？", "谁帮了她？"]),
    ],
)  # fmt: skip
def test_several_things_are_asked_one_by_one(query: str, parts: list[str]) -> None:
    assert decompose(query) == parts


@pytest.mark.parametrize(
    "query",
    [
        "What is Redis?",
        "Who are Simon and Garfunkel?",
        "What is Simon and Garfunkel's best song?",
        "What are Simon's and Garfunkel's best songs?",
        "What are my mother's and my father's birthdays?",
        "Where is the salt and pepper?",
        "rock and roll",
        "What happened between March and May?",
        "What is the difference between March and May?",
        "Compare Tom's salary in 2023 and 2024",
        "What did we do between Monday and Friday?",
        "When and where did Ann move?",
        "how and why did it fail",
        "In which year did Ann move and why?",
        "What does Ann eat and drink?",
        "Who did what and when did they do it?",
        "Tell me about the who and what they play",
        "the war and what came after",
        'Who said "when do we meet and who comes"?',
        "Simon met Ann in Paris and what did they eat",
        "comparison of apples and oranges and pears",
        "Dr. Smith met Mrs. Jones. They talked.",
        "???",
        "",
    ],
)
def test_one_thing_stays_whole(query: str) -> None:
    assert decompose(query) == [query]


def test_a_question_after_a_statement_is_no_reason_to_split() -> None:
    assert decompose("I moved to Berlin. Where is my doctor?") == ["I moved to Berlin. Where is my doctor?"]


def test_a_long_message_is_no_question() -> None:
    query = "When did Ann move and who helped her? " * (LONGEST // 30)
    assert decompose(query) == [query]


IDS = [UUID(int=number) for number in range(10)]


def merged(*rankings: list[int], limit: int = 10) -> list[tuple[int, tuple[int, ...]]]:
    found = interleave([[IDS[number] for number in ranking] for ranking in rankings], limit=limit)
    return [(one.memory_id.int, one.queries) for one in found]


def test_each_part_gets_its_best_shown_by_turns() -> None:
    assert merged([0, 1, 2, 3], [4, 0, 5], [6, 4]) == [
        (0, (0, 1)), (4, (1, 2)), (6, (2,)), (1, (0,)), (2, (0,)), (5, (1,)), (3, (0,)),
    ]  # fmt: skip


def test_the_limit_holds_and_nothing_is_nothing() -> None:
    assert merged([0, 1], [2, 3], limit=3) == [(0, (0,)), (2, (1,)), (1, (0,))]
    assert merged() == []
    assert merged([], []) == []
    assert merged([], [3]) == [(3, (1,))]
