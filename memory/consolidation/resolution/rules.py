"""When two names stand for one entity: what keeps them apart, what makes them the same, and what a person is asked.

Rules come first and similarity last. Marks that differ (a number, a code, an initial, a direction) keep two names
apart whatever their letters; only spelling, titles, legal forms and slips of the pen make them the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memory.consolidation.resolution.alike import is_near, is_slip, words_alike
from memory.consolidation.resolution.names import Name, address, taken_apart
from memory.consolidation.resolution.people import people
from memory.consolidation.resolution.scores import ASKED, SAME, Finding
from memory.consolidation.resolution.vocabulary import FILLERS
from memory.graph.names import canonical
from memory.models import EntityType

SURE: Final = 0.95
"""From this score on two names are one entity; the bench shows what other thresholds would do."""

FLOOR: Final = 0.80
"""From this score on, and below `SURE`, a person is asked; below it the names are two entities."""

_FORMS: Final = {"inc": "corporation", "incorporated": "corporation", "corp": "corporation", "ltd": "limited"} | {
    "co": "company"
}
_KIND_WORDS: Final = frozenset({"project", "team", "app", "tool", "company", "group", "city", "program", "library"})
_LEAST_ACRONYM: Final = 3


class Verdict(StrEnum):
    """What becomes of two names."""

    SAME = "same"
    ASK = "ask"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What becomes of two names, by which score and which rule."""

    verdict: Verdict
    score: float
    rule: str


def judge(
    first: str,
    second: str,
    *,
    type_: str,
    other_type: str | None = None,
    sure: float = SURE,
    floor: float = FLOOR,
) -> Judgement:
    """Say whether two names stand for one entity.

    Args:
        first: a name as it is written.
        second: another one.
        type_: what sort of thing the first is.
        other_type: what sort of thing the second is, the same when left out; two sorts are never one by likeness.
        sure: least score of two names that are the same.
        floor: least score of two names that a person is asked about.
    """
    rule, score = _found(first, second, type_, other_type or type_)
    verdict = Verdict.SAME if score >= sure else Verdict.ASK if score >= floor else Verdict.APART
    return Judgement(verdict, score, rule)


def _found(first: str, second: str, type_: str, other_type: str) -> Finding:
    if type_ != other_type:
        return "type", 0.0
    if canonical(first) == canonical(second):
        return "exact", 1.0
    if type_ == EntityType.URL:
        return ("address", SAME["address"] if address(first) == address(second) else 0.0)
    one, other = taken_apart(first, type_), taken_apart(second, type_)
    if one.emoji != other.emoji:
        # Somebody who puts a sign behind a name may well tell two of that name apart by it.
        alike = bool(one.joined) and one.joined == other.joined
        return ("emoji", ASKED["emoji"] if alike else 0.0)
    return _kept_apart(one, other) or _same(one, other, type_) or _alike(one, other, type_)


def _kept_apart(one: Name, other: Name) -> Finding | None:
    """Give the mark by which two names are told apart, if there is one."""
    if not one.joined or not other.joined:
        return "empty", 0.0
    if one.relative != other.relative:
        return "relative", 0.0
    if one.title and other.title and one.title != other.title:
        return "title", 0.0
    if one.legal_form and other.legal_form and _form(one) != _form(other):
        return "legal_form", 0.0
    if one.joined == other.joined:
        return None
    if one.numbers != other.numbers:
        if one.words == other.words and sorted(one.numbers) == sorted(other.numbers):
            # A day and a month that changed places are another day, or the same one written elsewhere.
            return "order_of_numbers", ASKED["order_of_numbers"]
        return "number", 0.0
    if one.opposites != other.opposites:
        return "opposite", 0.0
    return None


def _same(one: Name, other: Name, type_: str) -> Finding | None:
    """Give the rule by which two names are the same without a doubt, if there is one."""
    person = type_ == EntityType.PERSON
    if one.words == other.words:
        if (one.title is None) != (other.title is None):
            # A surname alone may be that of several, of whom one has the title.
            rule = "title" if len(one.words) > 1 else "title_of_surname"
            return rule, SAME.get(rule, 0.0) or ASKED[rule]
        if one.comma != other.comma:
            return "comma", SAME["comma"]
        if bool(one.legal_form) != bool(other.legal_form):
            return "legal_form", SAME["legal_form"]
        return "spelling", SAME["spelling"]
    if {one.joined, one.spelled} & {other.joined, other.spelled}:
        if person and len(one.words) != len(other.words):
            return "joined", ASKED["joined"]
        return "spelling", SAME["spelling"]
    return None


def _alike(one: Name, other: Name, type_: str) -> Finding:
    if one.unspaced or other.unspaced:
        # One sign of these scripts says as much as a word: another sign is another name.
        return "script", 0.0
    if type_ == EntityType.PERSON:
        return people(one, other)
    if one.letters != other.letters and not _acronym(one, other):
        return "letter", 0.0
    return _things(one, other)


def _things(one: Name, other: Name) -> Finding:
    if sorted(one.words) == sorted(other.words):
        return "order", ASKED["order"]
    if _acronym(one, other):
        return "acronym", ASKED["acronym"]
    bare, others = _without(one.words, FILLERS), _without(other.words, FILLERS)
    if bare == others and (len(bare) == len(one.words) or len(others) == len(other.words)):
        rule = "filler" if len(bare) > 1 else "filler_of_word"
        return rule, SAME.get(rule, 0.0) or ASKED[rule]
    if _without(bare, _KIND_WORDS) == _without(others, _KIND_WORDS) and len(bare) != len(others):
        return "kind_word", ASKED["kind_word"]
    if len(one.words) != len(other.words):
        return "part", 0.0
    return _word_by_word(one, other)


def _word_by_word(one: Name, other: Name) -> Finding:
    pairs = [(first, second) for first, second in zip(one.words, other.words, strict=True) if first != second]
    score = words_alike(one.words, other.words)
    if all(is_slip(first, second) for first, second in pairs):
        return "slip", max(SAME["slip"], min(score, SAME["spelling"]))
    if all(_plural(first, second) for first, second in pairs):
        return "plural", ASKED["plural"]
    if all(is_near(first, second) or is_slip(first, second) for first, second in pairs):
        return "near", min(score, ASKED["near"])
    return "word", 0.0


def _without(words: tuple[str, ...], left_out: frozenset[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in left_out)


def _plural(first: str, second: str) -> bool:
    shorter, longer = sorted((first, second), key=len)
    return longer in (f"{shorter}s", f"{shorter}es") or (shorter.endswith("y") and longer == f"{shorter[:-1]}ies")


def _form(name: Name) -> str:
    return " ".join(_FORMS.get(word, word) for word in name.legal_form.split())


def _acronym(one: Name, other: Name) -> bool:
    short, long = sorted((one, other), key=lambda name: len(name.words))
    letters = short.words[0] if len(short.words) == 1 else "".join(short.letters)
    if len(short.words) not in (1, len(short.letters)) or len(letters) < _LEAST_ACRONYM:
        return False
    heads = ("".join(word[0] for word in words if word) for words in (long.words, _without(long.words, FILLERS)))
    return len(long.words) >= _LEAST_ACRONYM and letters in set(heads)
