"""Where phrases stand in a text, and the text without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory.privacy import pii
from memory.text.scripts import UNSPACED

MOST_PLACES: Final = 200
# A sentence may be personal as a whole.
SHORT: Final = 400
_WORD: Final = re.compile(rf"[^\W{UNSPACED}]")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The characters `text[start:end]`, which tell something of a kind by meaning."""

    start: int
    end: int
    kind: str


def places_of(text: str, phrases: Iterable[str], *, kind: str) -> tuple[Place, ...]:
    """Find where phrases stand, letter by letter and as whole words.

    Args:
        text: the stored text.
        phrases: what a model gave; one that does not occur is passed over, so that a model cannot make up a place.
        kind: what they tell.

    Returns:
        Places in order and without overlap: the longest ones, at most 200, and in a text of more than 400 characters no
        more than half of it, so that a model cannot take a text out of the search by naming all of it.
    """
    found = sorted({span for phrase in phrases for span in _spans(text, phrase)})
    joined: list[tuple[int, int]] = []
    for start, end in found:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    longest = sorted(joined, key=lambda span: (span[0] - span[1], span))[:MOST_PLACES]
    return tuple(Place(start, end, kind) for start, end in sorted(_within_share(longest, len(text))))


def _within_share(spans: Iterable[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    left = length if length <= SHORT else length // 2
    for start, end in spans:
        if end - start <= left:
            left -= end - start
            yield start, end


def without(text: str, places: Sequence[Place]) -> str:
    """Replace places by their kind in brackets, as in `[HEALTH]`, and what the patterns find by theirs.

    A place that overlaps what a pattern finds takes it in, so that no half of a value stays. Places that do not fit the
    text, because they were noted for another one, are passed over.
    """
    fitting = sorted(place for place in places if 0 <= place.start < place.end <= len(text))
    if not fitting:
        return pii.redact(text)
    matches = [(match.start, match.end) for match in pii.scan(text).matches]
    pieces: list[str] = []
    position = 0
    for place in fitting:
        start, end = _widened(place.start, place.end, matches)
        start = max(start, position)
        if start < end:
            pieces += [text[position:start], f"[{place.kind.upper()}]"]
            position = end
    return pii.redact("".join([*pieces, text[position:]]))


def _widened(start: int, end: int, matches: Sequence[tuple[int, int]]) -> tuple[int, int]:
    for first, last in matches:
        if first < end and start < last:
            start, end = min(start, first), max(end, last)
    return start, end


def _spans(text: str, phrase: str) -> Iterator[tuple[int, int]]:
    if not phrase.strip():
        return
    at = text.find(phrase)
    while at >= 0:
        end = at + len(phrase)
        if not (_joined(text, at) or _joined(text, end)):
            yield at, end
        at = text.find(phrase, at + 1)


def _joined(text: str, at: int) -> bool:
    """Tell whether a word goes on across a place between two characters."""
    return 0 < at < len(text) and bool(_WORD.match(text[at - 1]) and _WORD.match(text[at]))
