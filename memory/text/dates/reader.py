"""What all rules share: the tokens, the reference, and the small words around dates."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from memory.text.dates.calendar import Unit, one_day
from memory.text.dates.lexicon import ALL, BITS, can_start
from memory.text.dates.roles import Role
from memory.text.dates.scanner import Token
from memory.text.dates.spans import Days
from memory.text.stopwords import word_set

ENGLISH: Final = BITS["english"]
NOTHING: Final = Token("", "", 0, 0)
"""Stands before the first and after the last token."""

CODES: Final = frozenset({"q", "h", "t"})
"""Letters before the number of a quarter or a half of a year."""

_FIRST_YEAR: Final = 1900
_LAST_YEAR: Final = 2099
# Figures before these count things.
_COUNTED: Final = word_set("""
    people persons men women dollars euros pounds bucks miles meters metres feet steps words pieces units items
    cases rows lines users customers points calories times percent km m cm kg g lb lbs mb gb kb ms usd eur leute
    euro meter menschen personas personnes pesos metros mètres persone persone
    """)
_LEADING: Final = (Role.SINCE, Role.BEFORE, Role.AFTER, Role.UNTIL, Role.BETWEEN, Role.FROM)


class Amount(NamedTuple):
    """A number of units; vague numbers ("a few") have a least and a most."""

    least: int
    most: int
    unit: Unit
    languages: int
    end: int


class Reader:
    """Holds the tokens of a text and the moment it is read from.

    Args:
        tokens: the tokens in order.
        reference: the moment that relative phrases are reckoned from; its own time zone says where its day begins.
    """

    def __init__(self, tokens: list[Token], reference: datetime) -> None:
        self.tokens = tokens
        self.reference = reference
        self.today = reference.date()

    def at(self, place: int) -> Token:
        """Give the token at a place; beyond the ends an empty one."""
        return self.tokens[place] if 0 <= place < len(self.tokens) else NOTHING

    def can_start(self, place: int) -> bool:
        """Tell whether a phrase of time can begin with a token."""
        token = self.tokens[place]
        if token.number is not None or token.written is not None:
            return True
        return can_start(token.meanings) if token.meanings else token.low in CODES

    def over(self, place: int, role: Role, languages: int = ALL) -> int:
        """Give the place after a token when it has a role, else the place itself."""
        return place + 1 if self.at(place).meaning(role, languages) else place

    def over_mark(self, place: int, marks: str) -> int:
        """Give the place after one of some marks, else the place itself."""
        return place + 1 if self.at(place).low and self.at(place).low in marks else place

    def begins_sentence(self, place: int) -> bool:
        """Tell whether a token is the first of a sentence."""
        before = self.at(place - 1)
        return before is NOTHING or before.low in ".!?:;"

    def quantity(self, place: int, languages: int) -> tuple[int, int, int, int] | None:
        """Read a number in words or figures: its least and most value, its languages and the place after it."""
        token = self.at(place)
        if token.number is not None and token.bare:
            return token.number, token.number, languages, place + 1
        meaning = token.meaning(Role.NUMBER, languages)
        return (*meaning[0], meaning[1], place + 1) if meaning else None

    def amount(self, place: int, languages: int) -> Amount | None:
        """Read a number of units, such as "two weeks"."""
        read = self.quantity(place, languages)
        if read is None:
            return None
        least, most, spoken, end = read
        unit = self.at(end).meaning(Role.UNIT, spoken)
        return Amount(least, most, unit[0], unit[1], end + 1) if unit else None

    def hours_away(self, first: int, last: int, unit: Unit) -> Days:
        """Give the days that a moment so many hours or minutes away lies in."""
        scale = 1 if unit is Unit.HOUR else 60
        start = (self.reference + timedelta(hours=first / scale)).date()
        return Days(start, one_day((self.reference + timedelta(hours=last / scale)).date()).end)

    def is_supported(self, place: int, languages: int = ALL) -> bool:
        """Tell whether a preposition before a token makes a month of "May" or a year of "2023"."""
        before = place - 1
        while before > place - 3 and self.at(before).meaning(Role.ARTICLE, languages):
            if self.at(before).meaning(Role.IN, languages):
                return True
            before -= 1
        token = self.at(before)
        return bool(
            token.meaning(Role.IN, languages)
            or any(token.meaning(role, languages) for role in _LEADING)
            or token.meaning(Role.OF, languages & ~ENGLISH)
        )

    def year(self, place: int) -> tuple[int, int] | None:
        """Read the year after a month or a season: ", 2023", "of 2023", "de 2023", "'23"."""
        place = self.over_mark(self.over_mark(place, "."), ",")
        place = self.over(place, Role.OF)
        token = self.at(place)
        if token.number is None or not (token.bare or token.ranged):
            return None
        if token.quoted and token.digits == 2:
            return token.number + (2000 if token.number < 70 else 1900), place + 1
        if token.digits == 4 and 1000 <= token.number <= 2999 and self.at(place + 1).low not in _COUNTED:
            return token.number, place + 1
        return None

    def plain_year(self, place: int) -> int | None:
        """Read a year that stands alone; figures that count something are none."""
        token = self.at(place)
        if token.number is None or token.digits != 4 or not _FIRST_YEAR <= token.number <= _LAST_YEAR:
            return None
        return None if self.at(place + 1).low in _COUNTED else token.number
