from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.text.signals import MAX_NAMES, is_question, names, query_signals, speaker_words, text_signals
from memory.text.tokens import analyse


@pytest.mark.parametrize(
    "text",
    [
        "How are you?",
        "Really? 😀",
        'He said "why?"',
        "¿Qué tal?",
        "你好吗？",
        "how are you",
        "What's your name",
        "did Caroline go",
        "which book did she read",
        "Can you help me.",
        "how many are left",
        "Don't you like it",
        "why",
    ],
)
def test_questions(text: str) -> None:
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "What a day!",
        "How cool!",
        "When I was young, I ran.",
        "Have a nice day.",
        "Will Smith is an actor.",
        "May Company is a shop",
        "Why? Because I can.",
        "I know what you mean.",
        "done;",
        "",
        "?.-x",
    ],
)
def test_statements(text: str) -> None:
    assert not is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "on Monday",
        "see you tomorrow",
        "yesterday we ran",
        "last week",
        "7 May 2023",
        "May 7",
        "in March",
        "by May",
        "in 1999",
        "the 1990s",
        "at 5pm",
        "at 17:30",
        "2026-01-02",
        "02.01.2026",
        "3 years ago",
        "two weeks later",
        "next summer",
        "Jan 5",
        "10 days",
        "vorgestern",
        "le mois dernier",
        "ayer",
        "昨天",
        "2023年",
    ],
)
def test_words_of_time(text: str) -> None:
    assert text_signals(text).has_time


@pytest.mark.parametrize(
    "text",
    [
        "She marched on",
        "May Company is a shop",
        "I may go",
        "version 1.2.3",
        "it may have been",
        "a second chance",
        "E-4012",
        "room 12019",
        "the march of progress",
        "I like this",
        "",
    ],
)
def test_no_words_of_time(text: str) -> None:
    assert not text_signals(text).has_time


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("I have two dogs", True),
        ("3 cats", True),
        ("٣", True),
        ("三只猫", True),
        ("one of us", False),
        ("weighty", False),
    ],
)
def test_numbers(text: str, has: bool) -> None:
    assert text_signals(text).has_number is has


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hey Caroline! How is Melanie's dog?", ("caroline", "melanie")),
        ("Thanks! I met Émile on Friday in May.", ("emile",)),
        ("The US and NASA", ("us", "nasa")),
        ("We heard The Who", ("who",)),
        ("Jean-Luc lives in New York. New York is big.", ("jean-luc", "new", "york")),
        ("SHOUTING AT CAROLINE", ()),
        ("nothing here, I said", ()),
        ("При встрече с Анной", ("при", "анной")),
        ("mail Bob@Example.com", ("bob",)),
    ],
)
def test_names(text: str, found: tuple[str, ...]) -> None:
    assert names(text) == found


def test_speaker_words_match_names_in_questions() -> None:
    assert speaker_words("Caroline O’Neil-Smith") == ("caroline", "o", "neil", "smith")
    assert speaker_words(None) == speaker_words("") == ()
    turn = text_signals("Melanie: what a day", speaker="Melanie")
    assert set(turn.speaker) & set(query_signals("What did Melanie say?").names)


def test_a_speaker_before_the_text_does_not_hide_a_question() -> None:
    assert text_signals("Melanie: how are you", speaker="Melanie").is_question
    assert not text_signals("Melanie: how are you").is_question


def test_counts_come_from_the_terms() -> None:
    text = "Dogs and a dog chase the dog in E-4012"
    signals = text_signals(text)
    assert (signals.token_count, signals.highest_tf) == (10, 3)
    assert text_signals(text, analysis=analyse(text)) == signals
    assert (text_signals("").token_count, text_signals("").highest_tf) == (0, 0)


@pytest.mark.parametrize(
    ("query", "flags"),
    [
        ("When did Caroline go?", {"asks_when"}),
        ("What year was it?", {"asks_when"}),
        ("How long ago was her birthday?", {"asks_when", "has_time"}),
        ("How many times did she go", {"asks_how_many"}),
        ("How much is it", {"asks_how_many"}),
        ("How long has Mel been married?", {"asks_how_long"}),
        ("How many weeks did it take", {"asks_how_many", "asks_how_long", "has_time"}),
        ("Who is Jon's friend?", set()),
        ("Where does Al live", set()),
        ("Wann kommt Al", {"asks_when"}),
        ("¿Cuántos años tiene?", {"asks_how_many"}),
        ("什么时候去", {"asks_when"}),
        ("有多少人", {"asks_how_many"}),
        ("favourite colour", set()),
    ],
)
def test_what_a_question_asks_for(query: str, flags: set[str]) -> None:
    signals = query_signals(query)
    fields = ("asks_when", "asks_how_many", "asks_how_long", "has_time")
    assert {name for name in fields if getattr(signals, name)} == flags


@given(st.text(max_size=200) | st.text(st.sampled_from("aA1 .?'’-:May三年\n"), max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_has_sound_signals(text: str) -> None:
    signals = text_signals(text, speaker=text[:20])
    assert signals == text_signals(text, speaker=text[:20])
    assert (signals.highest_tf > 0) == (signals.token_count > 0)
    assert len(signals.names) == len(set(signals.names)) <= MAX_NAMES
    assert all(name and name == name.casefold() for name in signals.names)
    query_signals(text)
