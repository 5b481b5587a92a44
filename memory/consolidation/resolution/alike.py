"""How much alike two words or two rows of words are, by letters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein, JaroWinkler

LEAST_SLIP: Final = 8
"""Letters of a word from which a doubled or a swapped letter is a slip and nothing else."""

LEAST_NEAR: Final = 4
"""Letters of a word from which another spelling of it is thinkable; any change of a shorter one is another word."""

_RUN: Final = re.compile(r"(.)\1+")


def words_alike(first: Sequence[str], second: Sequence[str]) -> float:
    """Give from 0 to 1 how much two rows of words are alike, whatever their order.

    Half by the words that fit best (Jaro-Winkler, by length), half by the sorted letters of all (token sort).
    """
    if not first or not second:
        return 0.0
    longer, shorter = (first, list(second)) if len(first) >= len(second) else (second, list(first))
    total = sum(map(len, first)) + sum(map(len, second))
    gained = 0.0
    for word in sorted(longer, key=lambda one: (-len(one), one)):
        if not shorter:
            break
        best = max(shorter, key=lambda other: (JaroWinkler.similarity(word, other), other))
        shorter.remove(best)
        gained += JaroWinkler.similarity(word, best) * (len(word) + len(best))
    return 0.5 * gained / total + 0.5 * fuzz.token_sort_ratio(" ".join(first), " ".join(second)) / 100


def is_slip(first: str, second: str) -> bool:
    """Tell whether two long words differ by doubled letters or by two neighbours that changed places only."""
    if min(len(first), len(second)) < LEAST_SLIP or first[0] != second[0]:
        return False
    if _RUN.sub(r"\1", first) == _RUN.sub(r"\1", second):
        return True
    swapped = len(first) == len(second) and sorted(first) == sorted(second)
    return swapped and DamerauLevenshtein.distance(first, second) == 1


def is_near(first: str, second: str) -> bool:
    """Tell whether one word may be another spelling of the other: one change, two from nine letters on, none at first.

    "Merrivale" and "Merryvale" are near, "Iran" and "Iraq", "Slovakia" and "Slovenia" are not.
    """
    shortest = min(len(first), len(second))
    if shortest < LEAST_NEAR or first[0] != second[0]:
        return False
    changes = DamerauLevenshtein.distance(first, second)
    if shortest == LEAST_NEAR:
        # Of four letters only one more, so that "Wren" may be "Wrenn" and "Iran" is never "Iraq".
        return bool(changes == 1 and len(first) != len(second))
    return bool(changes == 1 or (changes == 2 and shortest >= 9))
