"""Summaries that only retell a more specific hit do not take a place beside it."""

from __future__ import annotations

from uuid import UUID

from memory.recall.duplicates import Distinct
from memory.recall.resting import Found, without_retold

SESSION, DAY, WEEK = 1, 2, 3


def left(
    *hits: tuple[int, str, int | None], sources: dict[int, set[int]], also: dict[int, list[int]] | None = None
) -> list[tuple[int, list[int]]]:
    """Give the hits that stay, with those they name; a hit is a number, the question's words in it and its breadth."""
    shown = [Distinct(UUID(int=one), [UUID(int=other) for other in (also or {}).get(one, [])]) for one, _, _ in hits]
    found = {UUID(int=one): Found(frozenset(words.split()), breadth) for one, words, breadth in hits}
    rests = {
        UUID(int=one): {UUID(int=other) for other in sources.get(one, set())} for one, _, breadth in hits if breadth
    }
    return [(one.memory_id.int, [o.int for o in one.also]) for one in without_retold(shown, found, rests)]


def test_the_turn_stands_and_names_what_retells_it() -> None:
    hits = ((10, "roof barn", WEEK), (2, "roof barn", None), (3, "roof barn", SESSION), (4, "roof", DAY))
    sources = {3: {1, 2}, 4: {1, 2}, 10: {1, 2, 4}}
    assert left(*hits, (5, "roof", None), sources=sources) == [(2, [10, 3, 4]), (5, [])]


def test_without_the_turn_the_narrowest_summary_stands() -> None:
    hits = ((4, "roof", DAY), (10, "roof", WEEK), (3, "roof", SESSION))
    assert left(*hits, sources={3: {1}, 4: {1, 2}, 10: {1, 2, 4}}, also={10: [7]}) == [(3, [4, 10, 7])]


def test_a_summary_that_answers_more_stays() -> None:
    hits = ((3, "roof harbour", SESSION), (2, "roof", None))
    assert left(*hits, sources={3: {1, 2}}) == [(3, []), (2, [])]
    assert left(*hits, (1, "harbour", None), sources={3: {1, 2}}) == [(2, [3]), (1, [])]


def test_where_no_word_tells_the_better_one_stays() -> None:
    assert left((3, "", SESSION), (2, "", None), sources={3: {2}}) == [(3, []), (2, [])]
    assert left((2, "", None), (3, "", SESSION), sources={3: {2}}) == [(2, [3])]


def test_what_shares_no_source_and_what_is_no_summary_stays() -> None:
    hits = ((3, "roof", SESSION), (4, "roof", DAY), (2, "roof", None), (6, "roof", DAY))
    assert left(*hits, sources={3: {1}, 4: {5}, 6: {5}}) == [(3, []), (4, []), (2, []), (6, [])]
