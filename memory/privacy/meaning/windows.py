"""Which parts of a text a language model is shown: all of a short one, windows spread over a long one."""

from __future__ import annotations

import math
import re
from typing import Final

WINDOW_CHARACTERS: Final = 1_000
MOST_WINDOWS: Final = 8
OVERLAP: Final = 100
"""Characters that neighbouring windows share where a text is shown whole, so that no phrase is cut in two."""
_MOST_MOVED: Final = 60
_PLACEHOLDER: Final = re.compile(r"\[[A-Z_]{2,32}_[0-9]{1,6}\]")


def windows(text: str) -> list[str]:
    """Cut the parts of a text that are shown.

    Args:
        text: with placeholders for what the patterns know: cutting first could leave half of a value in a window, where
            no pattern sees it.

    Returns:
        The text where it has at most 1,000 characters; else up to eight windows of about that size: the first holds its
        beginning, the last its end, and up to some 7,300 characters they leave nothing out. No placeholder is cut, and
        where there are blanks no word is.
    """
    if len(text) <= WINDOW_CHARACTERS:
        return [text]
    count = min(MOST_WINDOWS, math.ceil((len(text) - OVERLAP) / (WINDOW_CHARACTERS - OVERLAP)))
    step = (len(text) - WINDOW_CHARACTERS) / (count - 1)
    held = [match.span() for match in _PLACEHOLDER.finditer(text)]
    shown = []
    for number in range(count):
        start = round(number * step)
        end = min(start + WINDOW_CHARACTERS, len(text))
        shown.append(text[_back(text, start, held) : _on(text, end, held)])
    return shown


def _back(text: str, at: int, held: list[tuple[int, int]]) -> int:
    """Move a start back to the beginning of its word, and out of a placeholder."""
    if at > 0:
        first = max(0, at - _MOST_MOVED)
        nearest = 0 if first == 0 else at
        at = max((place + 1 for place in range(first, at) if text[place].isspace()), default=nearest)
    return next((start for start, end in held if start < at < end), at)


def _on(text: str, at: int, held: list[tuple[int, int]]) -> int:
    """Move an end on to the end of its word, and out of a placeholder."""
    if at < len(text):
        last = min(len(text), at + _MOST_MOVED)
        nearest = len(text) if last == len(text) else at
        at = next((place for place in range(at, last) if text[place].isspace()), nearest)
    return next((end for start, end in held if start < at < end), at)
