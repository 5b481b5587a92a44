"""A folded view of a text that patterns can match, with the way back to the text as written.

Full-width letters and digits, digits of other scripts, dashes of every length and zero-width characters hide nothing
then.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable
from typing import Final

LONGEST_FORM: Final = 6
"""Characters; one that stands for more (U+FDFA for 18) stays as written, so that a view is at most sixfold its text."""

ZERO_WIDTH: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff"
)
_TAGS: Final = "\U000e0000-\U000e007f\U000e0100-\U000e01ef"
_INVISIBLE = re.compile(f"[{ZERO_WIDTH}{_TAGS}]")
_DASHES = re.compile("[\u2010-\u2015\u2212\u2043\ufe58\ufe63\uff0d]")
_OTHER_DIGITS = re.compile(r"[^\D0-9]")
_SUBSTITUTES: Final = {
    "\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"',
    "\u2028": "\n", "\u2029": "\n", "\u0085": "\n",
}  # fmt: skip
_SUBSTITUTED = re.compile("[" + "".join(_SUBSTITUTES) + "]")


class FoldedView:
    """A text after folding; `text` is what patterns see, `span` leads back."""

    __slots__ = ("_ends", "_starts", "text")

    def __init__(self, original: str, fold: Callable[[str], str] | None = None) -> None:
        """Fold a text; cost is linear, and next to nothing for plain ASCII.

        Args:
            original: any text.
            fold: what becomes of one character that is not ASCII, at most six characters; `fold_character` when left
                out.
        """
        self._starts: array[int] | None = None
        self._ends: array[int] | None = None
        self.text = original
        if not (original.isascii() if fold else _is_plain(original)):
            self._fold(original, fold or fold_character)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Give the place in the original of a non-empty span of the view, with what is invisible inside it."""
        if self._starts is None or self._ends is None:
            return start, end
        return self._starts[start], self._ends[end - 1]

    def _fold(self, original: str, fold: Callable[[str], str]) -> None:
        pieces: list[str] = []
        starts, ends = array("l"), array("l")
        for index, char in enumerate(original):
            folded = char if char.isascii() else fold(char)
            if folded:
                pieces.append(folded)
                starts.extend([index] * len(folded))
                ends.extend([index + 1] * len(folded))
        self.text = "".join(pieces)
        self._starts, self._ends = starts, ends


def fold_character(char: str) -> str:
    """Fold one character: compatibility form, plain digit, plain dash or quote, nothing for an invisible one."""
    if _INVISIBLE.match(char):
        return ""
    if _DASHES.match(char):
        return "-"
    if char in _SUBSTITUTES:
        return _SUBSTITUTES[char]
    folded = unicodedata.normalize("NFKC", char)
    if len(folded) == 1 and folded.isdecimal():
        return str(unicodedata.decimal(folded))
    # A pious formula in one character hides no data; cutting the view instead would hide whatever comes after.
    return folded if len(folded) <= LONGEST_FORM else char


def _is_plain(text: str) -> bool:
    if text.isascii():
        return True
    return unicodedata.is_normalized("NFKC", text) and not (
        _INVISIBLE.search(text) or _DASHES.search(text) or _OTHER_DIGITS.search(text) or _SUBSTITUTED.search(text)
    )
