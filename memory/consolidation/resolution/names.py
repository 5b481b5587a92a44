"""What a name is made of: its words, and the marks by which it is told from others like it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memory.consolidation.resolution.vocabulary import (
    ARTICLES,
    GENERATIONS,
    LEGAL_FORMS,
    MONTHS,
    NUMBERS,
    OPPOSITES,
    ROMAN,
    SAME_WORD,
    TITLES,
    WEEKDAYS,
)
from memory.graph.names import canonical
from memory.models import EntityType
from memory.text.scripts import EMOJI, MARKS, UNSPACED

_VARIATION: Final = re.compile("[\ufe0e\ufe0f]")
_EMOJI: Final = re.compile(f"[{EMOJI}\u200d\U0001f3fb-\U0001f3ff]")
_POSSESSIVE: Final = re.compile(r"['’]s\b")
_RELATIVE: Final = re.compile(r"\w['’]s\s+\w")
_APOSTROPHE: Final = re.compile(r"(?<=\w)['’`](?=\w)")
_INITIALS: Final = re.compile(r"\b(?:[^\W\d_]\.){2,}")
# A point or comma between digits belongs to the number; so do the signs by which languages are told (C++, C#, .NET).
_WORD: Final = re.compile(rf"(?:(?<![\w.])\.)?[\w{MARKS}]+(?:[.,:](?=\d)[\w]+)*[+#]*|&")
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)")
_JOINT: Final = re.compile(r"(?<=[^\W\d_])[-‐‑–_.](?=\d)|(?<=\d)[-‐‑–_](?=[^\W\d_])")
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")
_GERMAN: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae"})
_MONTH_NAMES: Final = {word: max((name for name in MONTHS if MONTHS[name] == MONTHS[word]), key=len) for word in MONTHS}
_ADDRESS: Final = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//(?:www\.)?|^www\.")


@dataclass(frozen=True, slots=True)
class Name:
    """A name taken apart.

    Attributes:
        whole: the form in which names are compared.
        joined: its letters, digits and telling signs without anything between them.
        spelled: `joined` with umlauts and ligatures written out, and with the s of a possessive.
        words: its words, without articles, titles and legal forms.
        letters: its words of one letter, in order: initials, or the letter of a plan.
        numbers: its numbers, codes and years, in order; numerals and numbers in words count as digits.
        opposites: those of its words that have an opposite, and months and weekdays.
        emoji: its emoji, in order.
        title: the sex that a title tells, empty without one; None without any title.
        legal_form: the legal form of a company.
        comma: whether it is written as "surname, first name".
        unspaced: whether it is written in a script without spaces.
        relative: whether it is a person who is named by another one: "Ana's sister".
    """

    whole: str
    joined: str
    spelled: str
    words: tuple[str, ...]
    letters: tuple[str, ...]
    numbers: tuple[str, ...]
    opposites: frozenset[str]
    emoji: str
    title: str | None
    legal_form: str
    comma: bool
    unspaced: bool
    relative: bool


@lru_cache(maxsize=8192)
def taken_apart(name: str, type_: str) -> Name:
    """Take a name apart, as a name of an entity of this type."""
    person = type_ == EntityType.PERSON
    shown = _VARIATION.sub("", unicodedata.normalize("NFKC", name))
    emoji = "".join(_EMOJI.findall(shown))
    bare = _EMOJI.sub(" ", shown)
    whole = canonical(bare)
    comma = person and whole.count(",") == 1 and not whole.endswith(",")
    words = _split(bare, person=person)
    if comma:
        surname, first = (_split(part, person=person) for part in bare.split(",", 1))
        words = [*first, *surname]
    title, words = _without_title(words) if person else (None, words)
    legal_form, words = _without_legal_form(words) if type_ == EntityType.ORGANIZATION else ("", words)
    numbers: list[str] = []
    opposites: set[str] = set()
    rest: list[str] = []
    for place, word in enumerate(words):
        found = _number(word, last=place == len(words) - 1 and place > 0, person=person)
        if found is not None:
            numbers.append(found)
            continue
        if not person and (word in MONTHS or word in WEEKDAYS):
            opposites.add(f"month {MONTHS[word]}" if word in MONTHS else f"day {WEEKDAYS[word]}")
        elif word in GENERATIONS if person else any(word in group for group in OPPOSITES):
            opposites.add(word)
        rest.append(word)
    return Name(
        whole=whole,
        joined=_joined(words),
        spelled="".join(_words(_APOSTROPHE.sub("", _folded(bare, spelled=True)))),
        words=tuple(rest),
        letters=tuple(word for word in rest if len(word) == 1 and not _UNSPACED.match(word)),
        numbers=tuple(numbers),
        opposites=frozenset(opposites),
        emoji=emoji,
        title=title,
        legal_form=legal_form,
        comma=comma,
        unspaced=bool(_UNSPACED.search(whole)),
        relative=person and _RELATIVE.search(shown) is not None,
    )


def address(name: str) -> str:
    """Give an address of the web in the form in which addresses are compared."""
    text = _ADDRESS.sub("", unicodedata.normalize("NFKC", name).strip().casefold())
    return text.rstrip("/")


def _folded(text: str, *, spelled: bool) -> str:
    lowered = unicodedata.normalize("NFC", text).casefold()
    return canonical(lowered.translate(_GERMAN) if spelled else lowered)


def _split(text: str, *, person: bool) -> list[str]:
    found = _words(_folded(text, spelled=False))
    if not person and len(found) > 1 and found[0] in ARTICLES:
        found = found[1:]
    return [_usual(word, place, person=person) for place, word in enumerate(found)]


def _words(folded: str) -> list[str]:
    """Split a folded text; initials that stand together are words of their own, joints within codes are closed."""
    text = _INITIALS.sub(lambda found: " ".join(found.group().replace(".", " ").split()) + " ", folded)
    text = _APOSTROPHE.sub("", _POSSESSIVE.sub("", text))
    return _WORD.findall(_JOINT.sub("", text))


def _usual(word: str, place: int, *, person: bool) -> str:
    if person:
        return {"jr": "junior", "jnr": "junior", "sr": "senior", "snr": "senior"}.get(word, word)
    if len(word) == 1 and word.isalpha() and place > 0:
        return word
    return _MONTH_NAMES.get(word) or SAME_WORD.get(word, word)


def _without_title(words: list[str]) -> tuple[str | None, list[str]]:
    told: str | None = None
    rest = list(words)
    while len(rest) > 1 and rest[0] in TITLES:
        told = TITLES[rest.pop(0)] or told or ""
    return told, rest


def _without_legal_form(words: list[str]) -> tuple[str, list[str]]:
    rest = list(words)
    forms: list[str] = []
    while len(rest) > 1 and rest[-1] in LEGAL_FORMS:
        forms.insert(0, rest.pop())
    return " ".join(forms), rest


def _joined(words: list[str]) -> str:
    """Join words without anything between them, except between two digits: room 10 1 is not room 101."""
    return re.sub(r"(?<!\d) | (?!\d)", "", " ".join(words))


def _number(word: str, *, last: bool, person: bool) -> str | None:
    """Give the number that a word is, None where it is none.

    Zeros in front count from three digits on, where a number is a code rather than a day or an hour.
    """
    if any(sign.isdigit() for sign in word):
        ordinal = _ORDINAL.fullmatch(word)
        digits = ordinal.group(1) if ordinal else word
        return digits.lstrip("0") or "0" if digits.isdigit() and len(digits) <= 2 else digits
    if word in ROMAN and last and (len(word) > 1 or not person):
        return str(ROMAN[word])
    if word in NUMBERS and not person:
        return str(NUMBERS[word])
    return None
