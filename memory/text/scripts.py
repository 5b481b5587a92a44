"""Character classes of the tokeniser: scripts without spaces, combining marks, emoji, and the folding of diacritics."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import chain
from typing import Final

HAN: Final = r"\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA: Final = r"\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff"
HANGUL: Final = r"\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Thai, Lao, Myanmar and Khmer letters with their vowel and tone signs, without digits and punctuation.
SOUTH_EAST_ASIAN: Final = (
    r"\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u108f\u109a-\u109d\u1780-\u17d3\u17dd\ua9e0-\ua9ef"
)
UNSPACED: Final = HAN + KANA + HANGUL + SOUTH_EAST_ASIAN
"""Body of a character class: the characters that are indexed as bigrams."""

EMOJI: Final = (
    r"\u203c\u2049\u2139\u2194-\u21aa\u231a-\u23ff\u25aa-\u25fe\u2600-\u27bf\u2b05-\u2b55"
    r"\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
"""Body of a character class: pictographs, without skin tones (they modify the one before them)."""

_BLOCKS_WITH_MARKS: Final = (
    (0x0300, 0x3100),
    (0xA600, 0xAC00),
    (0xFB00, 0xFE00),
    (0xFE20, 0xFE30),
    (0x10000, 0x12000),
    (0x16000, 0x17000),
    (0x1D100, 0x1D300),
    (0x1E000, 0x1E960),
)


def _ranges(code_points: Iterable[int]) -> str:
    """Write sorted code points as the body of a character class."""
    spans: list[list[int]] = []
    for point in code_points:
        if spans and spans[-1][1] == point - 1:
            spans[-1][1] = point
        else:
            spans.append([point, point])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in spans)


# Marks are not word characters for `re`, so without them a Hindi or Arabic word would fall apart at each vowel sign.
MARKS: Final = _ranges(
    point
    for point in chain.from_iterable(range(*block) for block in _BLOCKS_WITH_MARKS)
    if unicodedata.category(chr(point)) in {"Mn", "Mc"}
)
"""Body of a character class: combining marks."""


# Latin and Greek diacritics, Hebrew points, Arabic vowel signs and the Arabic filler line.
_OPTIONAL: Final = frozenset(
    map(chr, chain(range(0x300, 0x370), range(0x591, 0x5C8), range(0x64B, 0x660), (0x640, 0x670)))
)
_SHORT = "\u0306"
_LETTERS_WITH_SHORT: Final = "\u0438\u0443"


def fold_diacritics(word: str) -> str:
    """Take away the marks that are often left out in writing: café → cafe, naïve → naive.

    The Cyrillic short i and short u and the voiced kana keep theirs, since those are letters of their own.

    Args:
        word: text in NFKC, case-folded.

    Returns:
        The text in NFC without those marks; other scripts' vowel signs stay.
    """
    if word.isascii():
        return word
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", word):
        if char not in _OPTIONAL or (char == _SHORT and kept and kept[-1] in _LETTERS_WITH_SHORT):
            kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_STROKES)


# Letters that carry a stroke or are joined have no decomposition.
_STROKES: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "\u0131": "i", "æ": "ae", "œ": "oe", "ŧ": "t"})
