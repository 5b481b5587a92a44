"""Which pieces of a text are marked as matched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.palace.marking import EXCERPT_CHARACTERS, excerpt, marked
from memory.text.tokens import query_terms


def words_marked(text: str, query: str) -> list[str]:
    return [piece.text for piece in marked(text, set(query_terms(query))) if piece.marked]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("We moved the databases to Lisbon.", "database move", ["moved", "databases"]),
        ("Error E-4012 came back", "E-4012", ["E", "4012"]),
        ("Write to caroline@example.org today", "example", ["example"]),
        ("Caroline's café", "caroline cafe", ["Caroline's", "café"]),
        ("明日は東京駅で会いましょう", "東京", ["東京"]),
        ("nothing in common", "lisbon", []),
        ("Die Kündigungsfristen sind lang", "Welche Kündigungsfrist gilt?", ["Kündigungsfristen"]),
        (
            "<b>bold</b> words",
            "bold",
            [
                "bold",
            ],
        ),
    ],
)
def test_marks_the_words_whose_terms_matched(text: str, query: str, expected: list[str]) -> None:
    assert words_marked(text, query)[: len(expected)] == expected
    assert bool(words_marked(text, query)) == bool(expected)


@given(st.text(max_size=300), st.sets(st.sampled_from(["a", "move", "東京", "4012", "example"])))
def test_pieces_are_the_text_and_nothing_else(text: str, terms: set[str]) -> None:
    assert "".join(piece.text for piece in marked(text, terms)) == text


def test_the_excerpt_goes_to_the_first_match() -> None:
    text = "filler words here. " * 200 + "The lighthouse stands there. " + "more filler. " * 200
    shown = excerpt(text, {"lighthous"})
    whole = "".join(piece.text for piece in shown.pieces)
    assert "lighthouse" in shown.words
    assert whole.startswith("… ")
    assert whole.endswith(" …")
    assert len(whole) <= EXCERPT_CHARACTERS + 4


def test_a_short_text_is_shown_whole() -> None:
    assert [piece.text for piece in excerpt("two\n words", set()).pieces] == ["two words"]


@given(st.text(alphabet="ab \n東", max_size=2000))
def test_an_excerpt_is_never_long(text: str) -> None:
    assert sum(len(piece.text) for piece in excerpt(text, {"a", "東"}).pieces) <= EXCERPT_CHARACTERS + 4
