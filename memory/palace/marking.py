"""Showing which words of a text a query matched: plain pieces that templates escape, never markup."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from memory.text.languages import languages_of
from memory.text.scripts import MARKS, UNSPACED
from memory.text.tokens import terms_of_word

EXCERPT_CHARACTERS: Final = 320
LEAD_CHARACTERS: Final = 90
# A match further down is not looked for: the list shows an excerpt, and the memory's own page shows everything.
SEARCHED_CHARACTERS: Final = 64 * 1024
MOST_WORDS_NAMED: Final = 6

_CHAR = rf"(?:[^\W{UNSPACED}]|[{MARKS}])"
_PIECE = re.compile(rf"([{UNSPACED}]+)|{_CHAR}+(?:['’./@:+#&=~%\\-]+{_CHAR}+)*[+#]*")
_PART = re.compile(rf"{_CHAR}+(?:['’]{_CHAR}+)*")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text that is marked as matched, or not."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A short part of a text with its matched words, `…` standing for what was left out."""

    pieces: list[Piece]
    words: list[str]


def excerpt(text: str, terms: Collection[str]) -> Excerpt:
    """Cut a text down to the surroundings of the first matched word and mark the matched ones.

    Args:
        text: the text to show; line breaks and runs of white space become single spaces.
        terms: the matched terms as the index knows them (folded and stemmed).
    """
    flat = " ".join(text[:SEARCHED_CHARACTERS].split())
    first = next(_matches(flat, terms), None) if terms else None
    start = _word_start(flat, max(0, first[0] - LEAD_CHARACTERS)) if first and first[0] > LEAD_CHARACTERS else 0
    end = _word_end(flat, start + EXCERPT_CHARACTERS)
    shown = flat[start:end]
    cut_short = end < len(flat) or len(text) > SEARCHED_CHARACTERS
    pieces = [*([Piece("… ")] if start else []), *marked(shown, terms), *([Piece(" …")] if cut_short else [])]
    words = dict.fromkeys(piece.text.casefold() for piece in pieces if piece.marked)
    return Excerpt(pieces, list(words)[:MOST_WORDS_NAMED])


def marked(text: str, terms: Collection[str]) -> list[Piece]:
    """Split a text into pieces, marking the words that give one of the terms."""
    pieces: list[Piece] = []
    at = 0
    for start, end in _matches(text, terms) if terms else ():
        if start > at:
            pieces.append(Piece(text[at:start]))
        pieces.append(Piece(text[start:end], marked=True))
        at = end
    if at < len(text):
        pieces.append(Piece(text[at:]))
    return pieces


def _matches(text: str, terms: Collection[str]) -> Iterator[tuple[int, int]]:
    languages = languages_of(text)
    for match in _PIECE.finditer(text):
        if match.group(1):
            yield from _gram_matches(match.group(), match.start(), terms)
        elif _is_one_word(match.group()):
            if _gives(match.group(), terms, languages):
                yield match.span()
        else:
            yield from _compound_matches(match.group(), match.start(), terms, languages)


def _compound_matches(
    chunk: str, offset: int, terms: Collection[str], languages: tuple[str, ...]
) -> Iterator[tuple[int, int]]:
    """Mark the whole of a compound such as an address where it matched as a whole, else those parts that did."""
    parts = [part for part in _PART.finditer(chunk) if _gives(part.group(), terms, languages)]
    if parts:
        yield from ((offset + part.start(), offset + part.end()) for part in parts)
    elif _gives(chunk, terms, languages):
        yield offset, offset + len(chunk)


def _gram_matches(run: str, offset: int, terms: Collection[str]) -> Iterator[tuple[int, int]]:
    """Mark characters of an unspaced script that belong to a matched pair, neighbouring ones together."""
    hit = [False] * len(run)
    folded = run.casefold()
    for at in range(len(run)):
        if folded[at] in terms:
            hit[at] = True
        if folded[at : at + 2] in terms and at + 1 < len(run):
            hit[at] = hit[at + 1] = True
    at = 0
    while at < len(run):
        end = at
        while end < len(run) and hit[end]:
            end += 1
        if end > at:
            yield offset + at, offset + end
        at = max(end, at + 1)


def _gives(word: str, terms: Collection[str], languages: tuple[str, ...]) -> bool:
    return any(term in terms for term in terms_of_word(word, languages))


def _is_one_word(chunk: str) -> bool:
    return _PART.fullmatch(chunk) is not None


def _word_start(text: str, at: int) -> int:
    space = text.find(" ", at, at + 40)
    return at if space < 0 else space + 1


def _word_end(text: str, at: int) -> int:
    if at >= len(text):
        return len(text)
    space = text.rfind(" ", at - 40, at)
    return at if space < 0 else space
