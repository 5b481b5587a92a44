"""One look-up for the words of all languages; each meaning remembers the languages that it holds in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from memory.text.dates.calendar import Unit
from memory.text.dates.roles import Role, Vocabulary
from memory.text.dates.words import VOCABULARIES
from memory.text.scripts import fold_diacritics

BITS: Final[dict[str, int]] = {one.language: 1 << place for place, one in enumerate(VOCABULARIES)}
ALL: Final = (1 << len(VOCABULARIES)) - 1
"""Every language at once: figures belong to each of them."""

WORD: Final = re.compile(r"[^\W\d_]+|-")
# Their folded forms are other words: the name Marco, the French "summer" and "has been", "is" and "and".
_KEPT_WHOLE: Final = frozenset({"março", "é", "à", "há", "dès", "até", "là"})
_THIRDS: Final = {
    part: (Fraction(part, 3), Fraction(part + 1, 3)) for part in range(3)
}  # fmt: skip

Meanings = dict[Role, list[tuple[Any, int]]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words that follow the first one of a fixed phrase, and what the whole means."""

    rest: tuple[str, ...]
    meanings: Meanings


def _items(listed: str) -> list[list[str]]:
    return [[form.strip() for form in item.split("/") if form.strip()] for item in listed.split(",")]


def _entries(words: Vocabulary) -> Iterator[tuple[str, Role, Any]]:
    """List the words and phrases of a language with what each can be."""
    weak = {form for item in _items(words.weak_months) for form in item}
    for number, forms in enumerate(_items(words.months), start=1):
        for form in forms:
            yield form, Role.WEAK_MONTH if forms[0] in weak else Role.MONTH, number
    for listed, role, first in (
        (words.short_months, Role.SHORT_MONTH, 1),
        (words.weekdays, Role.WEEKDAY, 0),
        (words.short_weekdays, Role.SHORT_WEEKDAY, 0),
        (words.seasons, Role.SEASON, 1),
        (words.ordinals, Role.ORDINAL, 1),
    ):
        for number, forms in enumerate(_items(listed), start=first):
            for form in forms:
                yield form, role, number
    for unit, listed in words.units.items():
        yield from ((form, Role.UNIT, Unit(unit)) for form in listed.split("/"))
    for amount, listed in words.numbers.items():
        value = amount if isinstance(amount, tuple) else (amount, amount)
        yield from ((form, Role.NUMBER, value) for form in listed.split("/"))
    for role, table in ((Role.DAY, words.days), (Role.MODIFIER, words.modifiers), (Role.TRAILING, words.trailing)):
        for offset, listed in table.items():
            yield from ((form, role, offset) for form in listed.split("/"))
    for part, listed in words.parts.items():
        yield from ((form, Role.PART, _THIRDS[part]) for form in listed.split("/"))
    for role, listed in words.others.items():
        yield from ((form, role, None) for form in listed.split("/"))


def _add(meanings: Meanings, role: Role, value: Any, bit: int) -> None:
    same = meanings.setdefault(role, [])
    for place, (known, languages) in enumerate(same):
        if known == value:
            same[place] = known, languages | bit
            return
    same.append((value, bit))


def _spellings(form: str) -> set[str]:
    folded = fold_diacritics(form)
    return {form} if form in _KEPT_WHOLE else {form, folded}


def _build() -> tuple[dict[str, Meanings], dict[str, list[Phrase]]]:
    single: dict[str, Meanings] = {}
    phrases: dict[str, dict[tuple[str, ...], Meanings]] = {}
    for words in VOCABULARIES:
        bit = BITS[words.language]
        for form, role, value in _entries(words):
            for spelling in _spellings(form):
                parts = tuple(WORD.findall(spelling.casefold()))
                if len(parts) == 1:
                    _add(single.setdefault(parts[0], {}), role, value, bit)
                else:
                    _add(phrases.setdefault(parts[0], {}).setdefault(parts[1:], {}), role, value, bit)
    longest_first = {
        first: [Phrase(rest, meanings) for rest, meanings in sorted(found.items(), key=lambda item: -len(item[0]))]
        for first, found in phrases.items()
    }
    return single, longest_first


def _shy() -> dict[str, int]:
    found: dict[str, int] = {}
    for words in VOCABULARIES:
        for form in words.shy.split():
            found[form] = found.get(form, 0) | BITS[words.language]
    return found


def _markers() -> dict[str, int]:
    found: dict[str, int] = {}
    for words in VOCABULARIES:
        for form in words.markers.split():
            found[form] = found.get(form, 0) | BITS[words.language]
    return found


SINGLE, PHRASES = _build()
SHY: Final = _shy()
"""Words that count only where the text is of the language."""
MARKERS: Final = _markers()
"""Function words by which the language of a text is judged."""

# Common words without any thought of time; they must not cost a reading of each text.
_COMMON: Final = frozenset({"a", "an", "mag", "ora", "out", "second", "set"})
_TELLING: Final = frozenset(
    {Role.MONTH, Role.WEAK_MONTH, Role.SHORT_MONTH, Role.WEEKDAY, Role.SHORT_WEEKDAY, Role.SEASON, Role.UNIT, Role.DAY}
)


def _triggers() -> frozenset[str]:
    found = {word for word, meanings in SINGLE.items() if not _TELLING.isdisjoint(meanings)}
    for first, phrases in PHRASES.items():
        found |= {max(first, *one.rest, key=len) for one in phrases if not _TELLING.isdisjoint(one.meanings)}
    # "il y a un an" and "l'an dernier" have no other word that tells.
    return frozenset((found | {"il", "dernier", "prochain"}) - _COMMON)


TRIGGERS: Final = _triggers()
"""Words of which a text holds one when it holds a phrase of time, unless figures or Han characters make the phrase."""

_STARTING: Final = frozenset(Role) - {
    Role.HALF, Role.TRAILING, Role.AGO_AFTER, Role.AHEAD_AFTER, Role.IN, Role.ON, Role.OF, Role.ARTICLE, Role.AND,
    Role.TO, Role.EVERY,
}  # fmt: skip


def can_start(meanings: Meanings) -> bool:
    """Tell whether a phrase of time can begin with a word."""
    return not _STARTING.isdisjoint(meanings)


def judge_languages(words: Iterable[str]) -> int:
    """Tell which languages a text's function words speak for most; 0 where none does."""
    spoken = Counter(languages for word in words if (languages := MARKERS.get(word, 0)))
    if not spoken:
        return 0
    counts = {bit: sum(count for languages, count in spoken.items() if languages & bit) for bit in BITS.values()}
    most = max(counts.values())
    return sum(bit for bit, count in counts.items() if count == most)
