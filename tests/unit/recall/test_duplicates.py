"""The same statement is shown once; what only looks alike stays apart."""

from __future__ import annotations

from hashlib import sha256
from uuid import UUID

import pytest

from memory.recall.duplicates import Distinct, Saying, distinct


def saying(number: int, text: str, *, turn: bool = False, speaker: str | None = None) -> Saying:
    return Saying(UUID(int=number), text, sha256(" ".join(text.split()).encode()).digest(), turn, speaker)


def shown(*hits: Saying, turns_too: bool = False) -> list[tuple[int, list[int]]]:
    return [(one.memory_id.int, [other.int for other in one.also]) for one in distinct(hits, turns_too=turns_too)]


def same(first: str, second: str) -> bool:
    return len(distinct([saying(1, first), saying(2, second)])) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The user prefers dark mode.", "User prefers dark mode"),
        ("Ann said that she likes tea.", "Ann said she likes tea!"),
        ("Ann doesn’t like tea", "Ann doesn't like tea."),
        ("Notice period:  60 days", "notice period 60 days"),
        ("- Buy milk", "Buy milk"),
        ("安娜喜欢茶。", "安娜喜欢茶"),
        ("“Ann likes tea”", "Ann likes tea"),
        ("It rained. We stayed.", "it rained. we stayed!"),
    ],
)
def test_the_same_statement(first: str, second: str) -> None:
    assert same(first, second)
    assert same(second, first)


LONG = "Ann told us on the way home that she {} the small café near the old station in the north of Berlin very much"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The meeting is in Room 101.", "The meeting is in Room 102."),
        ("Ann likes tea", "Ann dislikes tea"),
        ("The door is open", "The door is not open"),
        ("Ann likes Bob", "Bob likes Ann"),
        ("The dog bit the man", "The man bit the dog"),
        ("Ann has few friends", "Ann has a few friends"),
        ("Ann works for US firms", "Ann works for us firms"),
        ("We met in May", "We met in may"),
        ("Ann is home.", "Ann is home?"),
        ("Ann writes C++", "Ann writes C#"),
        ("It is -5 outside", "It is 5 outside"),
        ("It costs 3.5", "It costs 35"),
        ("It costs $5", "It costs €5"),
        ("It costs 5%", "It costs 5"),
        ("Ann can come", "Ann can't come"),
        ("Ann met Bob before lunch", "Ann met Bob after lunch"),
        (LONG.format("likes"), LONG.format("dislikes")),
        (LONG.format("likes"), LONG.format("likes").replace("Berlin", "Boston")),
        (LONG.format("likes"), LONG.format("never likes")),
        ("喜欢", "不喜欢"),
        ("!!!", "???"),
        ("🎉", "😀"),
    ],
)
def test_a_word_a_number_or_an_order_makes_another_statement(first: str, second: str) -> None:
    assert not same(first, second)


def test_the_best_ranked_stays_and_names_the_others_in_order() -> None:
    hits = [
        saying(1, "Ann likes tea."), saying(2, "Bob likes tea."), saying(3, "Ann likes tea"),
        saying(4, "Ann  likes tea."), saying(5, "Bob likes tea!"),
    ]  # fmt: skip
    assert shown(*hits) == [(1, [3, 4]), (2, [5])]


def test_two_turns_are_two_and_a_turn_is_its_statement_only_to_the_letter() -> None:
    ok = [saying(number, "ok", turn=True, speaker="Ann") for number in (1, 2)]
    assert shown(*ok) == [(1, []), (2, [])]
    assert shown(saying(1, "I like tea.", turn=True, speaker="Ann"), saying(2, "I  like tea.")) == [(1, [2])]
    assert shown(saying(1, "I like tea."), saying(2, "I like tea.", turn=True)) == [(1, [2])]
    assert shown(saying(1, "I like tea"), saying(2, "I like tea.", turn=True)) == [(1, []), (2, [])]


def test_a_statement_takes_one_equal_turn_and_leaves_the_next() -> None:
    hits = [saying(1, "ok"), saying(2, "ok", turn=True), saying(3, "ok", turn=True)]
    assert shown(*hits) == [(1, [2]), (3, [])]
    turns_first = [saying(1, "ok", turn=True), saying(2, "ok", turn=True), saying(3, "ok")]
    assert shown(*turns_first) == [(1, [3]), (2, [])]


def test_a_block_of_context_shows_equal_turns_of_one_speaker_once() -> None:
    hits = [saying(number, "ok", turn=True, speaker=name) for number, name in enumerate(["Ann", "Ann", "Bob"])]
    assert shown(*hits, turns_too=True) == [(0, [1]), (2, [])]


def test_two_speakers_say_two_things() -> None:
    hits = [saying(1, "I like tea", speaker="Ann"), saying(2, "I like tea", speaker="Bob"), saying(3, "I like tea")]
    assert shown(*hits) == [(1, [3]), (2, [])]


def test_long_texts_are_the_same_by_their_hash_only() -> None:
    long = "word " * 2_000
    assert shown(saying(1, long), saying(2, f" {long}"), saying(3, f"{long}.")) == [(1, [2]), (3, [])]


def test_nothing_is_nothing() -> None:
    assert distinct([]) == []
    assert distinct([saying(1, "a")]) == [Distinct(UUID(int=1))]
