"""Rules for what the calendar names: written dates, days of months, months, seasons, quarters and years."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Final, NamedTuple

from memory.text.dates import calendar
from memory.text.dates.calendar import Unit
from memory.text.dates.lexicon import ALL
from memory.text.dates.reader import CODES, ENGLISH, NOTHING, Reader
from memory.text.dates.roles import Role
from memory.text.dates.scanner import ORDINAL_ENDINGS
from memory.text.dates.spans import Days, Found
from memory.text.stopwords import word_set

# English words that follow "may" and "march" when they are verbs, and names that begin with a month.
_NO_MONTH_BEFORE: Final = word_set("""
    be have has not also never i you he she it we they company co hare madness queen on off past into
    """)
_VERBS: Final = frozenset({"may", "march"})
_PLANET: Final = frozenset({"mars"})


class Month(NamedTuple):
    """A month's name: its number, the languages it is of, and whether it is one without any word beside it."""

    number: int
    languages: int
    sure: bool
    short: bool


class DateRules(Reader):
    """Reads what has a fixed place in the calendar."""

    def written_date(self, place: int) -> Found | None:
        """Read a date in figures."""
        written = self.at(place).written
        if written is None:
            return None
        year, number, day = written
        days = calendar.day_in(year, number, day) if day else calendar.month(date(year, number, 1).year, number)
        return Found(days, place + 1, ALL, False, year)

    def month(self, place: int, languages: int = ALL) -> Month | None:
        """Read the name of a month."""
        token = self.at(place)
        for role in (Role.MONTH, Role.WEAK_MONTH, Role.SHORT_MONTH):
            meaning = token.meaning(role, languages)
            if meaning and not (token.low in _PLANET and token.capital):
                return Month(meaning[0], meaning[1], role is Role.MONTH, role is Role.SHORT_MONTH)
        return None

    def dated(self, place: int, *, supported: bool) -> Found | None:
        """Read whatever the calendar names at a place."""
        return (
            self.day_of_month(place)
            or self._month_alone(place, supported=supported)
            or self._season(place, supported=supported)
            or self._quarter(place)
            or self._year(place, supported=supported)
        )

    def day_of_month(self, place: int) -> Found | None:
        """Read 7 May 2023, May 7th, el 7 de mayo, the 7th of May, 7-9 May."""
        return self._day_first(place) or self._month_first(place)

    def _day_number(self, place: int) -> tuple[int, int, bool] | None:
        """Read the number of a day with its ending: the number, the place after it, and whether it had an ending."""
        token = self.at(place)
        if token.number is None or token.digits > 2 or not 1 <= token.number <= 31 or not token.ranged:
            return None
        following = self.at(place + 1)
        ended = following.start == token.end and (following.low in ORDINAL_ENDINGS or following.low in ".º°")
        return token.number, place + 1 + ended, ended

    def _second_day(self, place: int) -> tuple[int, int] | None:
        """Read the end of a range of days after its first one: -9, to 9, bis 9."""
        joint = self.over_mark(place, "-–—")
        if joint == place:
            joint = self.over(place, Role.TO)
            joint = self.over(joint, Role.ARTICLE) if joint > place else joint
        read = self._day_number(joint) if joint > place else None
        return (read[0], read[1]) if read else None

    def _day_first(self, place: int) -> Found | None:
        read = self._day_number(place)
        if read is None:
            ordinal = self.at(place).meaning(Role.ORDINAL)
            if not ordinal or ordinal[0] != 1 or not (self.at(place + 1).meaning(Role.OF) or ordinal[1] & ~ENGLISH):
                return None
            read = 1, place + 1, True
        day, after, _ = read
        last = self._second_day(after)
        if last:
            after = last[1]
        elif not self.at(place).bare and self.at(place).number is not None:
            return None
        inner = self.over(self.over(after, Role.OF), Role.ARTICLE)
        month = self.month(inner)
        if month is None:
            return None
        return self._day_of(day, last[0] if last else day, month, inner + 1)

    def _month_first(self, place: int) -> Found | None:
        month = self.month(place)
        if month is None:
            return None
        token = self.at(place)
        inner = self.over(self.over_mark(place + 1, "."), Role.ARTICLE)
        read = self._day_number(inner)
        if read is None or self.at(inner).quoted or (month.short and not (token.capital or month.languages & ~ENGLISH)):
            return None
        day, after, ended = read
        last = self._second_day(after)
        if last:
            after = last[1]
        elif not self.at(inner).bare:
            return None
        year = self.year(after)
        counted = self.at(after).meaning(Role.UNIT) is not None
        if (counted or (token.low in _VERBS and not token.capital)) and not ended and year is None:
            return None
        return self._day_of(day, last[0] if last else day, month, after)

    def _day_of(self, first: int, last: int, month: Month, after: int) -> Found:
        def in_year(year: int) -> Days:
            days = Days(calendar.day_in(year, month.number, first).start, calendar.day_in(year, month.number, last).end)
            if days.end <= days.start:
                raise ValueError("the days run backwards")
            return days

        near = calendar.day_near(month.number, first, self.today)
        found = self._of_year(after, month.languages, in_year, near)
        return found if first == last else replace(found, point=False)

    def _of_year(
        self, after: int, languages: int, in_year: Callable[[int], Days], near: int, *, relative: bool = True
    ) -> Found:
        """Put what a rule read into the year that follows, or into the one nearest to the reference."""
        read = self.year(after)
        if read is not None:
            return Found(in_year(read[0]), read[1], languages, False, read[0], in_year)
        shifted = self._shifted_year(after, languages)
        if shifted is not None:
            return Found(in_year(shifted[0]), shifted[1], languages, True, shifted[0], in_year)
        return Found(in_year(near), after, languages, relative, None, in_year)

    def _shifted_year(self, place: int, languages: int) -> tuple[int, int] | None:
        """Read the year in "March of last year", "im Mai letzten Jahres", "en mayo del año pasado"."""
        inner = self.over(self.over(place, Role.OF, languages), Role.ARTICLE, languages)
        for noun, role, other in ((inner + 1, Role.MODIFIER, inner), (inner, Role.TRAILING, inner + 1)):
            unit = self.at(noun).meaning(Role.UNIT, languages)
            shift = self.at(other).meaning(role, languages)
            if unit and shift and unit[0] is Unit.YEAR and unit[1] & shift[1]:
                return self.today.year + shift[0], inner + 2
        return None

    def _month_alone(self, place: int, *, supported: bool) -> Found | None:
        month = self.month(place)
        if month is None:
            return None
        token = self.at(place)
        after = self.over_mark(place + 1, ".") if month.short else place + 1

        def in_year(year: int) -> Days:
            return calendar.month(year, month.number)

        found = self._of_year(after, month.languages, in_year, calendar.month_near(month.number, self.today, None))
        if found.year is not None:
            return found
        leaning = supported or self.is_supported(place, month.languages)
        if month.short and not (leaning and token.capital):
            return None
        if not (month.sure or leaning) or not self._is_month_here(place, month, leaning=leaning):
            return None
        return Found(found.days, place + 1, month.languages, True, None, in_year)

    def _is_month_here(self, place: int, month: Month, *, leaning: bool) -> bool:
        """Tell whether what follows lets a word be a month: not "may be", "May Company", "June Carter"."""
        if not month.languages & ENGLISH or month.sure:
            return True
        following = self.at(place + 1)
        if following.low in _NO_MONTH_BEFORE and (
            following.low not in ("i", "he", "she", "it", "we", "you", "they") or self.at(place).low in _VERBS
        ):
            return not following.text.islower() and following.low in ("i",)
        return leaning or not following.capital

    def _season(self, place: int, *, supported: bool) -> Found | None:
        token = self.at(place)
        meaning = token.meaning(Role.SEASON)
        if meaning is None or self.at(place - 1).meaning(Role.EVERY):
            return None
        number, languages = meaning

        def in_year(year: int) -> Days:
            return calendar.season(year, number)

        found = self._of_year(place + 1, languages, in_year, calendar.season_near(number, self.today, None))
        if found.year is None and not (supported or self.is_supported(place, languages)):
            return None
        return found

    def _quarter(self, place: int) -> Found | None:
        """Read Q3 2024, 2024 Q3, H1 2024, the third quarter of 2024."""
        year_first = self.plain_year(place)
        if year_first is not None:
            inner = self.over_mark(place + 1, "-")
            coded = self._coded_quarter(inner)
            return Found(coded[0](year_first), coded[1], ALL, False, year_first, coded[0]) if coded else None
        coded = self._coded_quarter(place)
        if coded is not None:
            found = self._of_year(coded[1], ALL, coded[0], self.today.year)
            quarterly = self.at(place).low == "q"
            if found.year is not None or (quarterly and self.is_supported(place)):
                return self._past(found)
            return None
        ordinal = self.at(place).meaning(Role.ORDINAL)
        figure = self._day_number(place)
        number, languages, after = (*ordinal, place + 1) if ordinal else (0, ALL, place)
        if figure and figure[2]:
            number, languages, after = figure[0], ALL, figure[1]
        unit = self.at(after).meaning(Role.UNIT, languages)
        if not 1 <= number <= 4 or unit is None or unit[0] is not Unit.QUARTER:
            return None
        found = self._of_year(after + 1, unit[1], lambda year: calendar.quarter(year, number), self.today.year)
        return self._past(found) if found.year is not None or self.is_supported(place, unit[1]) else None

    def _past(self, found: Found) -> Found:
        """Move a quarter without a year back until it has begun."""
        if found.year is None and found.in_year and found.days.start > self.today:
            earlier = found.in_year(self.today.year - 1)
            return Found(earlier, found.end, found.languages, True, None, found.in_year)
        return found

    def _coded_quarter(self, place: int) -> tuple[Callable[[int], Days], int] | None:
        letter, figure = self.at(place), self.at(place + 1)
        if letter.low not in CODES or figure.start != letter.end or figure.digits != 1:
            return None
        number = figure.number or 0
        if letter.low == "h":
            return ((lambda year: calendar.half(year, number)), place + 2) if number in (1, 2) else None
        return ((lambda year: calendar.quarter(year, number)), place + 2) if 1 <= number <= 4 else None

    def _year(self, place: int, *, supported: bool) -> Found | None:
        number = self.plain_year(place)
        token, following = self.at(place), self.at(place + 1)
        if number is None:
            return None
        if following.start == token.end and following.low in ("s", "er") and number % 10 == 0:
            return Found(calendar.years(number, 10), place + 2, ALL, False, number)
        before = self.at(place - 1)
        bracketed = before.low == "(" and following.low == ")"
        alone = before is NOTHING and following.low in ("", "?", ".")
        named = before.meaning(Role.UNIT)
        leaning = supported or self.is_supported(place) or bracketed or alone or bool(named and named[0] is Unit.YEAR)
        if not leaning:
            return None
        last = self.plain_year(place + 2) if following.low in ("-", "–") and token.ranged else None
        if last is not None and last > number:
            return Found(calendar.years(number, last - number + 1), place + 3, ALL, False, number, point=False)
        if token.bare or (before.low == "-" and token.ranged):
            return Found(calendar.years(number), place + 1, ALL, False, number, calendar.years)
        return None
