"""Comparing texts by lines and words, and joining two changes of one text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.text import differences
from memory.text.differences import Side, changes, compare_lines, merge

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=14)
TEXTS = LINES.map(lambda lines: "".join(f"{line}\n" for line in lines))


def applied(before: list[str], after: list[str]) -> list[str]:
    made, at = [], 0
    for one in changes(before, after):
        made += [*before[at : one.start], *after[one.new_start : one.new_end]]
        at = one.end
    return [*made, *before[at:]]


@given(LINES, LINES)
@settings(max_examples=300)
def test_changes_make_the_new_text_of_the_old(before: list[str], after: list[str]) -> None:
    assert applied(before, after) == after
    found = changes(before, after)
    assert all(one.end < two.start or one.new_end < two.new_start for one, two in zip(found, found[1:], strict=False))


@given(LINES, LINES)
@settings(max_examples=200)
def test_the_comparison_holds_every_changed_line(before: list[str], after: list[str]) -> None:
    old, new = ["\n".join(lines) for lines in (before, after)]
    shown = [line for stretch in compare_lines(old, new).stretches for line in stretch]
    for line in shown:
        text = "".join(piece.text for piece in line.pieces)
        if line.before is not None:
            assert old.splitlines()[line.before - 1] == text
        if line.after is not None:
            assert new.splitlines()[line.after - 1] == text
    places = [line.before for line in shown if line.before is not None]
    assert places == sorted(set(places))
    gone = sum(1 for line in shown if line.side is Side.BEFORE)
    come = sum(1 for line in shown if line.side is Side.AFTER)
    assert len(old.splitlines()) - gone == len(new.splitlines()) - come


def test_only_the_surroundings_of_changes_are_shown() -> None:
    before = "\n".join(str(number) for number in range(100))
    after = before.replace("\n20\n", "\ntwenty\n").replace("\n70\n", "\n")
    first, second = compare_lines(before, after).stretches
    assert [line.before for line in first] == [18, 19, 20, 21, None, 22, 23, 24]
    assert [line.after for line in second][-3:] == [71, 72, 73]


def test_a_changed_line_is_compared_word_by_word() -> None:
    (lines,) = compare_lines("I am kind and brief.", "I am kind and thorough.").stretches
    assert [piece.text for piece in lines[0].pieces if piece.side is Side.BEFORE] == ["brief"]
    assert [piece.text for piece in lines[1].pieces if piece.side is Side.AFTER] == ["thorough"]


@pytest.mark.parametrize(
    ("went", "came", "removed", "added"),
    [
        (120_000, 120_000, 997, 997),
        (120_000, 0, 1994, 0),
        (0, 120_000, 0, 1994),
        (10, 120_000, 10, 1984),
        (120_000, 10, 1984, 10),
        (997, 997, 997, 997),
    ],
)
def test_a_comparison_has_an_end(went: int, came: int, removed: int, added: int) -> None:
    found = compare_lines("a\n" * went, "b\n" * came)
    sides = [line.side for stretch in found.stretches for line in stretch]
    assert (sides.count(Side.BEFORE), sides.count(Side.AFTER)) == (removed, added)
    assert found.more == went + came - removed - added


def test_changes_beyond_the_end_are_counted() -> None:
    before = "\n".join(str(number) for number in range(9000))
    after = "\n".join(str(number) for number in range(9000) if number % 20 or number >= 7600)
    found = compare_lines(before, after)
    shown = [line for stretch in found.stretches for line in stretch]
    assert differences.MOST_LINES - 10 < len(shown) <= differences.MOST_LINES
    assert sum(line.side is Side.BEFORE for line in shown) + found.more == 380
    assert found.more > 0


def test_words_of_so_many_lines_only_are_compared() -> None:
    before = "\n".join(f"the {number} of many" for number in range(1000, 1900))
    after = before.replace("many", "all")
    (lines,) = compare_lines(before, after).stretches
    compared = [line for line in lines if len(line.pieces) > 1]
    assert len(compared) == 2 * (differences.MOST_WORDS_IN_ALL // 14)


@given(TEXTS, TEXTS)
@settings(max_examples=200)
def test_one_change_alone_is_taken_as_it_is(base: str, changed: str) -> None:
    for joined in (merge(base, base, changed), merge(base, changed, base), merge(base, changed, changed)):
        assert (joined.text, joined.conflicts) == (changed, 0)


def test_changes_of_different_places_are_joined() -> None:
    base = "one\ntwo\nthree\nfour\nfive\n"
    joined = merge(base, base.replace("one", "ONE"), base.replace("five", "FIVE\nsix"))
    assert (joined.text, joined.conflicts) == ("ONE\ntwo\nthree\nfour\nFIVE\nsix\n", 0)


def test_changes_of_the_same_place_keep_both() -> None:
    joined = merge("a\nb\nc\n", "a\ntheirs\nc\n", "a\nyours\nc\n")
    assert joined.conflicts == 1
    assert joined.text == "a\n<<<<<<< yours\nyours\n=======\ntheirs\n>>>>>>> theirs\nc\n"


@given(TEXTS, TEXTS, TEXTS)
@settings(max_examples=300)
def test_nothing_that_one_side_added_is_lost(base: str, theirs: str, yours: str) -> None:
    joined = merge(base, theirs, yours).text.splitlines()
    for text in (theirs, yours):
        for line in {line for line in text.splitlines() if line not in base.splitlines()}:
            assert line in joined


@pytest.mark.parametrize("size", [differences.MOST_EDITS + 1, differences.MOST_ENTRIES])
def test_texts_without_anything_in_common_count_as_one_change(size: int) -> None:
    before, after = [f"a{n}" for n in range(size)], [f"b{n}" for n in range(size)]
    (one,) = changes(["x", *before, "y"], ["x", *after, "y"])
    assert (one.start, one.end, one.new_start, one.new_end) == (1, size + 1, 1, size + 1)
