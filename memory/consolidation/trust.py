"""Whom to believe when one agent says what another one's memory denies: words tell that they differ, trust decides.

The rule is Engram's: the word overlap of its bus, its trust levels and its margin, and the later statement between
equals. It compares words and knows no meaning, so what repeats a statement or only adds to it is told apart first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory.consolidation.paraphrases import content, equal_content, says_the_same
from memory.text.stopwords import word_set

UNKNOWN_TRUST: Final = 0.3
"""Of an agent that speaks to others and of whom no person has said how far it is to be trusted."""
DEFAULT_TRUST: Final = 0.5
"""Of what is remembered already, where no person has said so of its agent."""
MARGIN: Final = 0.2
"""From this difference on the less trusted side gives way whatever is newer."""
OVERLAP: Final = 0.5
"""Share of common words above which two statements speak of the same."""

# Differences are those of numbers like .3, which have no exact form in binary.
_TOLERANCE: Final = 1e-9
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NEGATIONS: Final = word_set(
    """not no never none neither nor without cannot
    nicht kein keine keinen keiner keinem nie niemals ohne
    pas jamais aucun aucune sans ne nunca jamás ningún ninguna sin não nenhum nenhuma sem
    non mai nessun nessuna senza niet geen nooit zonder inte ingen aldrig ikke aldri nie żaden не нет никогда без"""
)


class Relation(StrEnum):
    """How two statements stand to each other."""

    APART = "apart"
    SAME = "same"
    DETAIL = "detail"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two statements stand to each other, and the share of words that they have in common, 0 to 1."""

    relation: Relation
    overlap: float


class Verdict(StrEnum):
    """Which of two statements stands."""

    KEEP = "keep"
    ACCEPT = "accept"


class Ground(StrEnum):
    """Why it does."""

    TRUST = "trust"
    TIME = "time"


def overlap(one: str, other: str) -> float:
    """Give the Jaccard coefficient of the words of two texts, 0 to 1, in any case; 0 where neither has a word."""
    first, second = _words(one), _words(other)
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def compare(one: str, other: str) -> Comparison:
    """Tell whether two statements say the same, whether one adds to the other, or whether they contradict each other.

    They contradict each other where more than half of their words are common and neither holds all that the other says,
    or where they differ in a denial alone. Cost is linear in their length.
    """
    share, opposed = overlap(one, other), _denies(one) != _denies(other)
    if _spaced(one) == _spaced(other) or says_the_same(one, other):
        return Comparison(Relation.SAME, share)
    said, known = content(one), content(other)
    if opposed and equal_content(_affirmed(said), _affirmed(known)):
        return Comparison(Relation.CONTRADICTS, share)
    if share <= OVERLAP:
        return Comparison(Relation.APART, share)
    adds = not opposed and (_holds(said, known) or _holds(known, said))
    return Comparison(Relation.DETAIL if adds else Relation.CONTRADICTS, share)


def weigh(*, incoming: float, existing: float, newer: bool) -> tuple[Verdict, Ground]:
    """Decide between what an agent says and what is remembered.

    A difference of trust of exactly the margin still keeps what is remembered, so that an agent of whom nobody has said
    anything (.3) never overrides a memory of the usual trust (.5), however new its message.

    Args:
        incoming: trust in the agent that says it, 0 to 1.
        existing: trust in what is remembered, 0 to 1.
        newer: whether it was said after the memory was last stated.
    """
    difference = incoming - existing
    if difference <= -MARGIN + _TOLERANCE:
        return Verdict.KEEP, Ground.TRUST
    if difference > MARGIN + _TOLERANCE:
        return Verdict.ACCEPT, Ground.TRUST
    return (Verdict.ACCEPT if newer else Verdict.KEEP), Ground.TIME


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_plain(text)))


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def _spaced(text: str) -> str:
    return " ".join(_plain(text).split())


def _holds(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    """Tell whether one statement has all words of a shorter one, in their order."""
    rest = iter(longer)
    return len(longer) > len(shorter) > 0 and all(word in rest for word in shorter)


def _affirmed(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in _NEGATIONS]


def _denies(text: str) -> bool:
    """Tell whether a statement is a denial; two denials in one cancel out."""
    count = sum(str(word) in _NEGATIONS or str(word).endswith("n't") for word in _WORD.findall(_plain(text)))
    return count % 2 == 1
