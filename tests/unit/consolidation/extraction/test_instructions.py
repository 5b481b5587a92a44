"""Instructions, reminders, decisions, commands, and what an assistant found out."""

from __future__ import annotations

import pytest

from tests.unit.consolidation.extraction.drawing import draw, names, texts


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Please never use emojis in answers.", "Ana asks never to use emojis in answers."),
        ("Always show me the diff before committing.", "Ana asks always to show them the diff before committing."),
        ("From now on, please answer in German.", "Ana asks from now on to answer in German."),
        (
            "When you show me code, please explain it step by step.",
            "Ana asks, when the assistant shows them code, to explain it step by step.",
        ),
        ("Make sure to quote the ticket number.", "Ana asks to quote the ticket number."),
    ],
    ids=str,
)
def test_what_an_assistant_is_to_do_is_an_instruction(said: str, told: str) -> None:
    (fact,) = draw(said).facts
    assert (fact.text, fact.kind, fact.category, fact.importance) == (told, "instruction", "instruction", 0.8)


def test_a_reminder_is_the_fact_that_it_holds() -> None:
    assert texts(draw("Remember that my passport expires in May.")) == ["Ana's passport expires in May."]
    assert texts(draw("Don't forget that I live in Leipzig.")) == ["Ana lives in Leipzig."]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("We decided to use PostgreSQL.", "Ana and others decided to use PostgreSQL."),
        ("Then Dramatiq it is, mostly for the retries.", "Ana decided on Dramatiq."),
        ("Let's go with Redis for the queue.", "Ana and others decided on Redis for the queue."),
        ("I chose the MIT licence.", "Ana chose the MIT licence."),
    ],
    ids=str,
)
def test_decisions(said: str, told: str) -> None:
    (fact,) = draw(said).facts
    assert (fact.text, fact.kind, fact.importance) == (told, "decision", 0.8)


def test_slash_commands() -> None:
    (fact,) = draw("/remember the door code is 4711").facts
    assert (fact.text, fact.kind, fact.importance) == ("The door code is 4711.", "fact", 0.7)
    assert texts(draw("/recall I live in Leipzig")) == []
    assert texts(draw("/remember I live in Leipzig", role="assistant")) == []


FINDING = (
    "I looked through the logs of the last night. The root cause is the connection pool of `ledgerd`: it was limited "
    "to five connections. Do you want me to raise it?"
)


def test_an_assistant_gives_a_finding_and_what_it_names() -> None:
    drawn = draw(FINDING, role="assistant", speaker="Helper")
    (fact,) = drawn.facts
    assert fact.text == (
        "Agent finding: The root cause is the connection pool of `ledgerd`: it was limited to five connections."
    )
    assert (fact.category, fact.importance) == ("insight", 0.4)
    assert names(drawn) == {"ledgerd": "concept"}
    assert (drawn.events, drawn.causes) == ((), ())


@pytest.mark.parametrize(
    "said", ["The root cause is the pool.", "I love Chinese food, and I live in Leipzig with my dog. " * 4]
)
def test_other_turns_of_an_assistant_give_no_statement(said: str) -> None:
    assert texts(draw(said, role="assistant")) == []


def test_topics_and_bands() -> None:
    (liking,) = draw("I love pottery.").facts
    assert (liking.kind, liking.category, liking.topics) == ("preference", "preference", ("art",))
    (home,) = draw("I live in Leipzig.").facts
    assert 0.8 <= home.importance <= 1.0
    assert 0.4 <= liking.importance <= 0.7
