"""What changed between two texts, and joining two changes of one text.

The shortest script of edits by Myers' greedy algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986),
which costs no more than the differences are many. Beyond a bound the whole stretch between a common beginning and a
common end counts as changed, so that no text can keep a process busy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MOST_EDITS: Final = 400
"""Removed and added entries that are looked for one by one."""

MOST_ENTRIES: Final = 20_000
"""Entries of both texts together between the common beginning and the common end."""

MOST_WORDS: Final = 2_000
"""Words of two lines together that are compared word by word."""

MOST_WORDS_IN_ALL: Final = 10_000
"""Words of all lines of a comparison that are compared word by word; further lines are told apart as a whole."""

MOST_LINES: Final = 2_000
"""Lines of a comparison."""

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")


class Side(StrEnum):
    """Whether something stands in both texts or in one."""

    BOTH = "both"
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch `before[start:end]` that became `after[new_start:new_end]`; one of both may be empty."""

    start: int
    end: int
    new_start: int
    new_end: int

    @property
    def size(self) -> int:
        """Count what went and what came."""
        return self.end - self.start + self.new_end - self.new_start


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line, and on which side it stands."""

    side: Side
    text: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a comparison; `before` and `after` are its numbers from 1 where it stands there."""

    side: Side
    pieces: tuple[Piece, ...]
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two texts beside each other.

    Attributes:
        stretches: of lines; what lies between them is alike. None where the texts have the same lines.
        more: how many removed and added lines these leave out.
    """

    stretches: list[list[DiffLine]]
    more: int


@dataclass(frozen=True, slots=True)
class Merge:
    """Two changes of one text joined; `conflicts` counts the places where both changed the same, which hold both."""

    text: str
    conflicts: int


def changes(before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """Find what changed between two sequences, in order and apart from one another."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    tail = 0
    while tail < min(len(before), len(after)) - start and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old, new = before[start : len(before) - tail], after[start : len(after) - tail]
    if not old and not new:
        return []
    steps = _steps(old, new) if len(old) + len(new) <= MOST_ENTRIES else None
    if steps is None:
        return [Change(start, start + len(old), start, start + len(new))]
    return list(_stretches(steps, start))


def _steps(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, bool]] | None:
    """Give the single edits in order: the places before each, and whether it removes; None where there are too many."""
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for distance in range(min(len(old) + len(new), MOST_EDITS) + 1):
        trace.append(dict(furthest))
        for diagonal in range(-distance, distance + 1, 2):
            down = diagonal == -distance or (diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1])
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            if x >= len(old) and y >= len(new):
                return _walked_back(trace, len(old), len(new))
    return None


def _walked_back(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int, bool]]:
    found = []
    for distance in range(len(trace) - 1, 0, -1):
        furthest, diagonal = trace[distance], x - y
        down = diagonal == -distance or (diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1])
        diagonal = diagonal + 1 if down else diagonal - 1
        x, y = furthest[diagonal], furthest[diagonal] - diagonal
        found.append((x, y, not down))
    return found[::-1]


def _stretches(steps: list[tuple[int, int, bool]], offset: int) -> Iterator[Change]:
    """Put edits that follow one another at once into one stretch."""
    start = end = new_start = new_end = -1
    for x, y, removes in steps:
        if (x, y) != (end, new_end):
            if end >= 0:
                yield Change(start + offset, end + offset, new_start + offset, new_end + offset)
            start, new_start = x, y
        end, new_end = (x + 1, y) if removes else (x, y + 1)
    if end >= 0:
        yield Change(start + offset, end + offset, new_start + offset, new_end + offset)


def compare_lines(before: str, after: str, *, context: int = 3) -> Comparison:
    """Compare two texts line by line, and changed lines word by word; the first 2,000 lines of that are given.

    Args:
        before, after: the texts.
        context: unchanged lines that are shown round each change.
    """
    old, new = before.splitlines(), after.splitlines()
    found: list[list[DiffLine]] = []
    shown = shift = more = 0
    words = _Budget(MOST_WORDS_IN_ALL)
    for one in changes(old, new):
        room = MOST_LINES - sum(map(len, found)) - 2 * context
        if more or room < 2:
            more += one.size
            continue
        first = max(one.start - context, shown)
        if found and first > shown:
            found[-1] += [_alike(old, at, shift) for at in range(shown, min(shown + context, first))]
            first = max(first, shown + context)
        if not found or one.start - context > shown + context:
            found.append([])
        found[-1] += [_alike(old, at, shift) for at in range(first, one.start)]
        part = _beginning(one, room)
        found[-1] += _changed(old, new, part, words)
        more = one.size - part.size
        shown, shift = one.end, one.new_end - one.end
    if found and not more:
        found[-1] += [_alike(old, at, shift) for at in range(shown, min(shown + context, len(old)))]
    return Comparison(found, more)


def _beginning(one: Change, room: int) -> Change:
    """Give as much of a change as there is room for, in equal parts of both texts where both have more."""
    went, came = one.end - one.start, one.new_end - one.new_start
    removed = min(went, max(room // 2, room - came))
    return Change(one.start, one.start + removed, one.new_start, one.new_start + min(came, room - removed))


def merge(base: str, theirs: str, yours: str) -> Merge:
    """Join two changes of one text, line by line; where both changed the same lines, both stand between marks."""
    old, one, other = (text.splitlines(keepends=True) for text in (base, theirs, yours))
    left, right = changes(old, one), changes(old, other)
    out: list[str] = []
    at = conflicts = 0
    while left or right:
        start, end, mine, his = _together(left, right)
        out += old[at:start]
        their_lines = _applied(old, one, mine, start, end)
        your_lines = _applied(old, other, his, start, end)
        if not his or their_lines == your_lines:
            out += their_lines
        elif not mine:
            out += your_lines
        else:
            conflicts += 1
            out += ["<<<<<<< yours\n", *_ended(your_lines), "=======\n", *_ended(their_lines), ">>>>>>> theirs\n"]
        at = end
    return Merge("".join([*out, *old[at:]]), conflicts)


def _together(left: list[Change], right: list[Change]) -> tuple[int, int, list[Change], list[Change]]:
    """Take the next changes of both sides that touch one another, and the stretch of the old text that they cover."""
    sides = (left, right)
    taken: tuple[list[Change], list[Change]] = ([], [])
    start = min(side[0].start for side in sides if side)
    end = -1
    growing = True
    while growing:
        growing = False
        for side, found in zip(sides, taken, strict=True):
            while side and (side[0].start <= end or (end < 0 and side[0].start == start)):
                found.append(side.pop(0))
                end = max(end, found[-1].end)
                growing = True
    return start, end, taken[0], taken[1]


def _applied(old: Sequence[str], new: Sequence[str], made: Sequence[Change], start: int, end: int) -> list[str]:
    """Give a stretch of the old text with some changes made."""
    lines: list[str] = []
    at = start
    for one in made:
        lines += [*old[at : one.start], *new[one.new_start : one.new_end]]
        at = one.end
    return [*lines, *old[at:end]]


def _ended(lines: Sequence[str]) -> list[str]:
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]


def _alike(old: Sequence[str], at: int, shift: int) -> DiffLine:
    return DiffLine(Side.BOTH, (Piece(Side.BOTH, old[at]),), at + 1, at + shift + 1)


@dataclass(slots=True)
class _Budget:
    """Words that may still be compared."""

    words: int


def _changed(old: Sequence[str], new: Sequence[str], one: Change, budget: _Budget) -> Iterator[DiffLine]:
    """Give the lines that went and those that came; lines that stand for one another are compared word by word."""
    pairs = one.end - one.start == one.new_end - one.new_start
    went: list[tuple[Piece, ...]] = []
    came: list[tuple[Piece, ...]] = []
    for place in range(max(one.end - one.start, one.new_end - one.new_start)):
        first = old[one.start + place] if one.start + place < one.end else None
        second = new[one.new_start + place] if one.new_start + place < one.new_end else None
        words = _words(first, second, budget) if pairs and first is not None and second is not None else None
        if first is not None:
            went.append(words[0] if words else (Piece(Side.BEFORE, first),))
        if second is not None:
            came.append(words[1] if words else (Piece(Side.AFTER, second),))
    for place, pieces in enumerate(went):
        yield DiffLine(Side.BEFORE, pieces, one.start + place + 1, None)
    for place, pieces in enumerate(came):
        yield DiffLine(Side.AFTER, pieces, None, one.new_start + place + 1)


def _words(first: str, second: str, budget: _Budget) -> tuple[tuple[Piece, ...], tuple[Piece, ...]] | None:
    """Compare two lines word by word; None where they are too long, or have nothing in common that helps."""
    old, new = _WORDS.findall(first), _WORDS.findall(second)
    if len(old) + len(new) > min(MOST_WORDS, budget.words):
        return None
    budget.words -= len(old) + len(new)
    found = changes(old, new)
    if sum(one.end - one.start for one in found) == len(old):
        return None
    before: list[Piece] = []
    after: list[Piece] = []
    at = 0
    for one in [*found, Change(len(old), len(old), len(new), len(new))]:
        same = "".join(old[at : one.start])
        before += [Piece(Side.BOTH, same), Piece(Side.BEFORE, "".join(old[one.start : one.end]))]
        after += [Piece(Side.BOTH, same), Piece(Side.AFTER, "".join(new[one.new_start : one.new_end]))]
        at = one.end
    return tuple(one for one in before if one.text), tuple(one for one in after if one.text)
