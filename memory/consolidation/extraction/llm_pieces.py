"""Pack passages into prompts: whole ones together, a long one in pieces, and nothing of any text left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory.ports import Passage

MOST_PIECES: Final = 40
"""Texts of one prompt, so that many short ones do not ask for an answer that breaks off."""

CONTEXT_CHARACTERS: Final = 300
SMALLEST_PIECE: Final = 400
# Where a text may be divided, best first; what stands before the place stays with it.
_BOUNDARIES: Final = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"(?:[.!?…][\"'”’)\]]*\s+|[。！？]+\s*)"),
    re.compile(r"\n\s*"),
    re.compile(r"[,;:，、；]\s*"),
    re.compile(r"\s+"),
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage, or the part of a long one; `before` is what was said just before it."""

    passage: Passage
    text: str
    before: str


def packed(passages: Sequence[Passage], *, characters: int) -> Iterator[list[Piece]]:
    """Give the pieces of passages in order, in groups of at most so many characters.

    Args:
        passages: which.
        characters: most characters of one group; a passage that has more is divided, at the end of a sentence where
            there is one.
    """
    group: list[Piece] = []
    room = characters
    for passage in passages:
        for piece in pieces_of(passage, characters=characters):
            if group and (len(piece.text) > room or len(group) == MOST_PIECES):
                yield group
                group, room = [], characters
            group.append(piece)
            room -= len(piece.text)
    if group:
        yield group


def pieces_of(passage: Passage, *, characters: int) -> list[Piece]:
    """Divide a passage; its pieces in order are its text again."""
    pieces: list[Piece] = []
    before = passage.before[-CONTEXT_CHARACTERS:]
    for text in divided(passage.text, characters=characters):
        pieces.append(Piece(passage, text, before))
        before = text[-CONTEXT_CHARACTERS:]
    return pieces


def halves(group: Sequence[Piece]) -> list[list[Piece]]:
    """Divide a group in two, or its only piece where that is long enough; nothing when it cannot be divided."""
    if len(group) > 1:
        middle = len(group) // 2
        return [list(group[:middle]), list(group[middle:])]
    (piece,) = group
    if len(piece.text) < 2 * SMALLEST_PIECE:
        return []
    parts = divided(piece.text, characters=-(-len(piece.text) // 2))
    befores = [piece.before, *(part[-CONTEXT_CHARACTERS:] for part in parts)]
    return [[Piece(piece.passage, part, before)] for part, before in zip(parts, befores, strict=False)]


def divided(text: str, *, characters: int) -> list[str]:
    """Cut a text into parts of at most so many characters, at the best boundary in the second half of each."""
    parts: list[str] = []
    position = 0
    while len(text) - position > characters:
        end = _boundary(text, position + characters // 2, position + characters)
        parts.append(text[position:end])
        position = end
    return [*parts, text[position:]]


def _boundary(text: str, first: int, last: int) -> int:
    for pattern in _BOUNDARIES:
        places = [found.end() for found in pattern.finditer(text, first, last)]
        if places:
            return places[-1]
    return last
