"""Which texts hold a quoted phrase as written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.recall import phrases
from memory.recall.phrases import MOST_PHRASES, SEARCHED_CHARACTERS, contains_phrase, phrases_of


@pytest.mark.parametrize(
    ("query", "text", "count"),
    [
        ('the "notice period"', "The Notice\n  period is 60 days", 1),
        ('the "notice period"', "The period of notice is 60 days", 0),
        ('the "notice period"', "Two notice periods", 0),
        ('"period"', "Periodic checks; the period ends", 1),
        ('"E-4012"', "Error e-4012: card refused", 1),
        ('"E-4012"', "Error E-40123", 0),
        ('"12"', "version 12_3 and 0.12.4", 1),
        ('"cafe creme"', "Un Café Crème, please", 1),
        ('"café crème"', "un cafe creme", 1),
        ("«été chaud»", "Un e\u0301te\u0301 chaud", 1),
        ('"don\'t panic"', "Don’t panic!", 1),
        ('"hello world"', "ｈｅｌｌｏ\u3000ｗｏｒｌｄ", 1),
        ("「汇率换算」", "外币汇率换算", 1),
        ('"iPhone"', "iPhoneを買った", 1),
        ('"किताब"', "मैंने किताबें खरीदी", 0),
        ('"किताब"', "मैंने एक किताब खरीदी", 1),
        ('"(a|b)*"', "the pattern (a|b)* matches", 1),
        ('"one two" "three four"', "three four and one two", 2),
        ('"one two" "three five"', "three four and one two", 1),
        ("notice period", "notice period", 0),
        ('"notice period', "notice period", 0),
    ],
)
def test_phrases_are_found_as_written(query: str, text: str, count: int) -> None:
    assert contains_phrase(text, phrases_of(query)) == count


def test_phrases_and_texts_are_bounded() -> None:
    assert len(phrases_of(" ".join(f'"word {number}"' for number in range(50)))) == MOST_PHRASES
    assert contains_phrase("x " * SEARCHED_CHARACTERS + "here it is", ["here it is"]) == 0
    assert contains_phrase("here it is" + " x" * SEARCHED_CHARACTERS, ["here it is"]) == 1


@given(st.text("aBé 1-,", max_size=40), st.text("ab1", min_size=1, max_size=2))
def test_a_word_is_found_only_between_its_edges(text: str, phrase: str) -> None:
    words = re.split(r"[ ,-]+", text.casefold().replace("é", "e"))
    assert contains_phrase(text, [phrase]) == (phrase in words)


@given(st.lists(st.sampled_from(["notice", "Kündigung", "e-4012", "дом", "किताब"]), min_size=1, max_size=5))
def test_whole_words_in_a_row_are_always_found(words: list[str]) -> None:
    phrase = " ".join(words)
    assert contains_phrase(f"before {phrase.upper()}, after", [phrase]) == 1
    assert contains_phrase(f"before{phrase}", [phrase]) == 0


def test_a_word_of_one_letter_costs_no_more_than_another(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    cuts = phrases._cuts

    def counted(text: str, at: int) -> bool:
        nonlocal looked
        looked += 1
        return cuts(text, at)

    monkeypatch.setattr(phrases, "_cuts", counted)
    assert contains_phrase("b" + "a" * 19_000, ["a" * 200]) == 0
    assert looked < 10


def test_a_long_phrase_is_looked_for_by_its_beginning() -> None:
    (found,) = phrases_of(f'"{"word " * 100}"')
    assert len(found) <= phrases.LONGEST_PHRASE
