"""When two statements say the same.

A model of meaning cannot tell: measured on pairs made for it, "Tom reports to Ann" and "Ann reports to Tom" are .98
alike, Room 101 and Room 102 .96, "likes" and "hates" .90, while true paraphrases lie between .79 and .98. So likeness
only finds candidates, and words decide: what is left of two texts when fillers are gone and a few words of one meaning
are taken for one must be the same words in the same order, or in that order turned round ("on Mondays the office is
closed").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from memory.text.signals import names
from memory.text.stopwords import word_set
from memory.text.timewords import CALENDAR_WORDS
from memory.text.tokens import stemmer

LEAST_COSINE: Final = 0.85
"""Likeness from which words are compared: every pair of the bench that says the same in the same words has it."""

LONGEST: Final = 1_000
"""Characters; longer texts are no single statements and are told apart by their hash alone."""

_WORD: Final = re.compile(r"[^\W_]+(?:[.,:/'-][^\W_]+)*[+#%€$£]*|[€$£%+#-]")
_APOSTROPHES: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'"})
_POSSESSIVE: Final = re.compile(r"'s?$")
_FILLERS: Final = word_set(
    """a an the that this is are am be been being has have had do does did really very also definitely just actually
    quite so totally truly absolutely certainly well please oh yes of as to for in on at it there too s i'm he's she's
    it's they're we're you're i've we've they've big huge"""
)
_ONE_MEANING: Final = (
    "like love enjoy adore fond fan favourite favorite into",
    "dislike hate detest loathe",
    "live reside",
    "called named",
    "each every",
    "food cuisine",
    "start begin",
    "buy purchase",
    "film movie",
    "i my me mine i'd i'll myself",
    "she her hers",
    "he his him",
    "we our us ours",
    "they their them theirs",
    "not no never n't without",
)
_COUNTING: Final = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS: Final = {word: str(number) for number, word in enumerate(_COUNTING.split())}


def says_the_same(one: str, other: str) -> bool:
    """Tell whether two statements say the same in nearly the same words; cost is linear in their length."""
    return equal_content(content(one), content(other))


def equal_content(first: Sequence[str], second: Sequence[str]) -> bool:
    """Tell whether the words that say something, see `content`, are the same in the same order or turned round."""
    if not first or len(first) != len(second):
        return False
    if first == second:
        return True
    # Turned round: the one is found in the other written twice.
    mark = "\x00"
    return f"{mark}{mark.join(first)}{mark}" in f"{mark}{mark.join([*second, *second])}{mark}"


def content(text: str) -> list[str]:
    """Give the words of a statement that say something, each in one form; nothing for a text that is too long."""
    if len(text) > LONGEST:
        return []
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text.translate(_APOSTROPHES))):
        found += _forms(word)
    return found


def adds_detail(new: str, known: str, *, apart_from: Iterable[str] = ()) -> bool:
    """Tell whether a statement has a number, a date or a name that a known one of the same claim lacks.

    Args:
        new: the statement that may be a paraphrase.
        known: the one that is stored.
        apart_from: words that do not count, those of the claim itself.
    """
    if len(new) > LONGEST:
        return True
    ignored = {form for words in apart_from for form in content(words)} | {
        name for words in apart_from for name in names(words.title())
    }
    return not _details(new) - ignored <= _details(known)


def _details(text: str) -> set[str]:
    plain = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).strip()
    told = {word.casefold() for word in _WORD.findall(plain)} - {"am"}
    exact = {word for word in told if word in CALENDAR_WORDS or any(map(str.isdigit, word))}
    return (
        exact
        | {_NUMBERS[word] for word in told if word in _NUMBERS and word != "one"}
        | set(
            # Its first word has a capital whatever it is.
            names(plain[:1].lower() + plain[1:])
        )
    )


def _forms(word: str) -> list[str]:
    if word.isupper() and len(word) > 1:
        # "US" is not "us".
        return [word]
    plain = word.casefold()
    if plain.endswith("n't"):
        return [*_forms(plain[:-3] if plain != "can't" else "can"), _MEANINGS["not"]]
    plain = _POSSESSIVE.sub("", plain) if plain not in _FILLERS else plain
    if plain in _FILLERS or not plain:
        return []
    plain = _NUMBERS.get(plain, plain)
    # What was is not what is: the ending of the past stays.
    form = plain if plain.endswith("ed") else str(stemmer("english").stemWord(plain))
    return [_MEANINGS.get(plain) or _MEANINGS.get(form, form)]


def _one_form_each() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _ONE_MEANING:
        words = line.split()
        for word in words:
            found[word] = words[0]
            found.setdefault(str(stemmer("english").stemWord(word)), words[0])
    return found


_MEANINGS: Final = _one_form_each()
