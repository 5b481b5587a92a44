"""Summing up without a model: the sentences of a batch that carry most of its weight, in their order.

A term weighs by how often the batch speaks of it and how few of its sentences do, so that neither a word said once nor
one that is everywhere counts for much. Sentences are taken one after the other; a term that is in the summary already
adds little, which keeps the chosen ones different (a greedy cover, as in Lin and Bilmes, 2011).
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

from memory.consolidation.pleasantries import is_pleasantry
from memory.privacy import injection, pii
from memory.text.signals import is_question, names
from memory.text.timewords import holds_number, holds_time
from memory.text.tokens import query_terms

Key = TypeVar("Key")

MOST_CHARACTERS: Final = 320
"""Of one sentence in a summary; a longer one is cut and ends in an ellipsis."""

MOST_SENTENCES: Final = 600
"""Sentences that are weighed against each other at once; a longer batch is halved until it fits."""

LEAST_TERMS: Final = 3
AGAIN: Final = 0.1
QUESTION: Final = 0.35
TELLING: Final = 1.25

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_END: Final = re.compile(r"(?<=[.!?…])(?<![A-Z]\.)(?<!Dr\.)(?<!Mr\.)(?<!Ms\.)(?<!St\.)(?<!Mrs\.)\s+|(?<=[。！？])|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage(Generic[Key]):
    """A text to sum up.

    Attributes:
        key: names it; the sentences of a summary cite it.
        text: what was said.
        speaker: who said it, blank where nobody is named.
        occurred_at: when.
        retold: it stands in a summary already.
    """

    key: Key
    text: str
    speaker: str
    occurred_at: datetime
    retold: bool = False


@dataclass(frozen=True, slots=True)
class Sentence(Generic[Key]):
    """A sentence with its place among all and what it is taken from."""

    place: int
    text: str
    passage: Passage[Key]


@dataclass(frozen=True, slots=True)
class _Weighed(Generic[Key]):
    sentence: Sentence[Key]
    terms: frozenset[str]
    factor: float


def split_sentences(text: str) -> list[str]:
    """Split a text at the ends of its sentences and lines; nothing but outer spaces is lost."""
    return [part for part in (piece.strip() for piece in _END.split(text)) if part]


def sentences_of(passages: Iterable[Passage[Key]]) -> Iterator[Sentence[Key]]:
    """Give the sentences that a summary may quote, in their order.

    Greetings and thanks are left out and so is what addresses a model, and personal data of the highest tier is
    replaced by its kind: neither a password nor an order is what a conversation was about.
    """
    place = 0
    for passage in passages:
        for text in split_sentences(passage.text):
            place += 1
            if is_pleasantry(text) or injection.scan(text):
                continue
            report = pii.scan(text)
            shown = pii.redact(text, report) if report.tier >= pii.PiiTier.CONFIDENTIAL else text
            yield Sentence(place, _cut(shown), passage)


def choose(
    passages: Iterable[Passage[Key]],
    *,
    most: int,
    characters: int,
    told: Iterable[str] = (),
    questions: bool = True,
) -> list[Sentence[Key]]:
    """Choose the sentences that carry most of what passages say.

    Args:
        passages: in the order in which they were said.
        most: sentences at most.
        characters: of all chosen sentences together, at most.
        told: texts that stand beside them; what these say counts little.
        questions: whether a question may be among them.

    Returns:
        Sentences in their order, none twice; empty when no passage holds a word that says anything. Cost is about
        linear in the texts.
    """
    sentences = [one for one in sentences_of(passages) if questions or not is_question(one.text)]
    return _choose(sentences, most, characters, frozenset(term for text in told for term in query_terms(text)))


def _choose(sentences: list[Sentence[Key]], most: int, characters: int, told: frozenset[str]) -> list[Sentence[Key]]:
    if len(sentences) > MOST_SENTENCES:
        kept = max(most, MOST_SENTENCES // 2)
        parts = range(0, len(sentences), MOST_SENTENCES)
        share = max(most, kept // len(parts))
        best = [
            one
            for start in parts
            for one in _cover(sentences[start : start + MOST_SENTENCES], share, 10 * characters, told)
        ]
        # Where even the shares are too many, the second round parts them again; it ends, since each part shrinks.
        fewer = len(best) < len(sentences)
        return _choose(best, most, characters, told) if fewer else _cover(best, most, characters, told)
    return _cover(sentences, most, characters, told)


def _cover(sentences: Sequence[Sentence[Key]], most: int, characters: int, told: frozenset[str]) -> list[Sentence[Key]]:
    weighed = _weigh(sentences)
    frequency = Counter(term for one in weighed for term in one.terms)
    weights = {
        term: math.log1p(count) * math.log1p(len(weighed) / count) if len(weighed) > 1 else 1.0
        for term, count in frequency.items()
    }
    chosen: list[Sentence[Key]] = []
    covered: set[str] = set(told)
    room = characters
    # What a sentence adds only falls while others are chosen, so the first whose gain still stands is the best.
    queue = [(-_gain(one, weights, covered), one.sentence.place, one) for one in weighed]
    heapq.heapify(queue)
    while queue and len(chosen) < most:
        promised, place, best = heapq.heappop(queue)
        if len(best.sentence.text) > room or best.terms <= covered:
            continue
        gain = _gain(best, weights, covered)
        if gain < -promised:
            heapq.heappush(queue, (-gain, place, best))
            continue
        chosen.append(best.sentence)
        covered |= best.terms
        room -= len(best.sentence.text)
    return sorted(chosen, key=lambda sentence: sentence.place)


def _weigh(sentences: Sequence[Sentence[Key]]) -> list[_Weighed[Key]]:
    found: list[_Weighed[Key]] = []
    seen: set[str] = set()
    for sentence in sentences:
        folded = " ".join(sentence.text.casefold().split())
        terms = frozenset(query_terms(sentence.text))
        if folded in seen or not terms:
            continue
        seen.add(folded)
        found.append(_Weighed(sentence, terms, _factor(sentence.text, terms)))
    return found


def _factor(text: str, terms: frozenset[str]) -> float:
    """Weigh how a sentence speaks: a question tells little, a name, number or date much, a word or two hardly."""
    if is_question(text):
        return QUESTION
    words = set(_WORD.findall(text.casefold()))
    telling = holds_number(text, words) or holds_time(text, words) or bool(names(text))
    return (TELLING if telling else 1.0) * min(1.0, len(terms) / LEAST_TERMS)


def _gain(one: _Weighed[Key], weights: dict[str, float], covered: set[str]) -> float:
    # Sorted, so that sums of floats are the same in every process.
    fresh = sum(weights[term] * (AGAIN if term in covered else 1.0) for term in sorted(one.terms))
    # A long sentence holds more words, and takes the room of two short ones.
    return one.factor * fresh / math.sqrt(8 + len(one.terms))


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= MOST_CHARACTERS else f"{flat[: MOST_CHARACTERS - 1].rstrip()}…"
