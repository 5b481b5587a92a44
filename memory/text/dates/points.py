"""Rules for points in time that are told from the present, and for parts and single days of larger ones.

Each rule looks at a bounded number of tokens, so that reading a text costs linear time. Words go together only when
they can be of one language: "in mars" is English and French and no month, "en mars" is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from memory.text.dates import calendar
from memory.text.dates.calendar import Unit
from memory.text.dates.dated import DateRules
from memory.text.dates.lexicon import ALL
from memory.text.dates.reader import ENGLISH, NOTHING, Amount
from memory.text.dates.roles import Role
from memory.text.dates.spans import Days, Found
from memory.text.stopwords import word_set

# "I'll be there in two weeks" tells a date; "I read it in two weeks" tells none.
_COMING: Final = word_set("""
    will ll going gonna shall be is are am s re m due coming leaving starting starts start next meeting see
    again back
    """)
# Words before "morgen" and "mañana" that make a morning of them.
_MORNING_OF: Final = word_set("guten goeden goede am la esta jeden diesen de der por cada las heute gestern vom")
_MORNINGS: Final = frozenset({"morgen", "mañana", "manana"})
# A day of the week after these is one to come.
_AHEAD_OF: Final = word_set("by until till due bis hasta para tot até")

SATURDAY: Final = 5

Part = tuple[Fraction, Fraction]


class PointRules(DateRules):
    """Reads one point in time that starts at a token."""

    def point(self, place: int, *, supported: bool = False) -> Found | None:
        """Read a point in time.

        Args:
            place: the first token.
            supported: whether what stands before makes a month of "May" and a year of "2023".
        """
        if self.at(place) is NOTHING or not self.can_start(place):
            return None
        for rule in (self.written_date, self._day, self._part, self._counted, self.moved, self._weekday):
            found = rule(place)
            if found is not None:
                return found
        return self.dated(place, supported=supported)

    def _day(self, place: int) -> Found | None:
        token = self.at(place)
        meaning = token.meaning(Role.DAY)
        if meaning is None:
            return None
        if token.low in _MORNINGS:
            opens = self.begins_sentence(place) and self.at(place + 1).text[:1].islower()
            if self.at(place - 1).low in _MORNING_OF or (token.capital and not opens):
                return None
        return Found(calendar.at_offset(Unit.DAY, self.today, meaning[0]), place + 1, meaning[1], True)

    def _part(self, place: int) -> Found | None:
        """Read early May, the end of last month, the first half of September, the last week of March."""
        return self._third(place) or self._half(place) or self._nth_week(place)

    def _third(self, place: int) -> Found | None:
        meaning = self.at(place).meaning(Role.PART)
        return self._part_of(place + 1, meaning[0], meaning[1]) if meaning else None

    def _half(self, place: int) -> Found | None:
        number, languages = self._ordinal(place)
        halved = self.at(place + 1).meaning(Role.HALF, languages) if number in (1, 2, -1) else None
        if halved is None:
            return None
        middle = Fraction(1, 2)
        part = (Fraction(0), middle) if number == 1 else (middle, Fraction(1))
        return self._part_of(place + 2, part, halved[1])

    def _ordinal(self, place: int) -> tuple[int, int]:
        """Read first, second … or last (-1); 0 for anything else."""
        ordinal = self.at(place).meaning(Role.ORDINAL)
        if ordinal:
            return ordinal
        last = self.at(place).meaning(Role.MODIFIER)
        return (-1, last[1]) if last and last[0] == -1 else (0, 0)

    def _part_of(self, place: int, part: Part, languages: int) -> Found | None:
        start = self.over_mark(place, "-")
        of = self.over(start, Role.OF, languages)
        inner = self.over(of, Role.ARTICLE, languages)
        base = self.moved(inner) or self.dated(inner, supported=True)
        if base is None:
            unit = self.at(inner).meaning(Role.UNIT, languages)
            articled = inner > start or self.at(place - 1).low.endswith((" du", " del", " do"))
            if not (unit and articled) or unit[0] not in (Unit.WEEK, Unit.MONTH, Unit.QUARTER, Unit.YEAR):
                return None
            base = Found(calendar.at_offset(unit[0], self.today, 0), inner + 1, unit[1], True)
        shared = base.languages & languages
        if not shared:
            return None
        days = calendar.portion(base.days, *part)
        return Found(days, base.end, shared, base.relative, base.year, _part_in_year(base.in_year, part))

    def _nth_week(self, place: int) -> Found | None:
        number, languages = self._ordinal(place)
        unit = self.at(place + 1).meaning(Role.UNIT, languages) if number else None
        of = self.at(place + 2).meaning(Role.OF, unit[1]) if unit else None
        if unit is None or of is None or unit[0] not in (Unit.WEEK, Unit.WEEKEND):
            return None
        base = self.moved(place + 3) or self.dated(place + 3, supported=True)
        if base is None or not base.languages & of[1]:
            return None
        start = base.days.end - 7 * calendar.DAY if number < 0 else base.days.start + 7 * (number - 1) * calendar.DAY
        days = Days(start, start + 7 * calendar.DAY)
        if unit[0] is Unit.WEEKEND:
            saturday = start + (5 - start.weekday()) % 7 * calendar.DAY
            days = Days(saturday, saturday + 2 * calendar.DAY)
        return Found(days, base.end, base.languages & of[1], base.relative, base.year)

    def _counted(self, place: int) -> Found | None:
        """Read two weeks ago, vor drei Wochen, hace dos meses, three days from now, dans deux ans."""
        token = self.at(place)
        for role, sign in ((Role.AGO_BEFORE, -1), (Role.AHEAD_BEFORE, 1)):
            lead = token.meaning(role)
            amount = self.amount(place + 1, lead[1]) if lead else None
            if amount is not None and (sign < 0 or self._is_to_come(place, amount)):
                return self._away(sign, amount, amount.end)
        amount = self.amount(place, ALL)
        if amount is None:
            return None
        for role, sign in ((Role.AGO_AFTER, -1), (Role.AHEAD_AFTER, 1)):
            tail = self.at(amount.end).meaning(role, amount.languages)
            if tail:
                return self._away(sign, amount._replace(languages=tail[1]), amount.end + 1)
        return None

    def _is_to_come(self, place: int, amount: Amount) -> bool:
        if amount.unit < Unit.DAY:
            return False
        if amount.languages & ENGLISH:
            return any(self.at(before).low in _COMING for before in range(max(0, place - 8), place))
        return amount.least > 1 or amount.unit > Unit.DAY

    def _away(self, sign: int, amount: Amount, end: int) -> Found:
        first, last = sorted((sign * amount.least, sign * amount.most))
        if amount.unit < Unit.DAY:
            days = self.hours_away(first, last, amount.unit)
        else:
            days = calendar.away(amount.unit, self.today, first, last)
        return Found(days, end, amount.languages, True)

    def moved(self, place: int) -> Found | None:
        """Read last week, next March, this spring, the past two years, la semana pasada, trois derniers mois."""
        token = self.at(place)
        rolling = token.meaning(Role.ROLLING)
        found = self._rolling(place + 1, rolling[1], -1, alone=True) if rolling else None
        if found is not None:
            return found
        modifier = token.meaning(Role.MODIFIER)
        if modifier is not None:
            offset, languages = modifier
            found = self._rolling(place + 1, languages, offset, alone=False) if offset in (-1, 1) else None
            return found or self._moved(place + 1, languages, offset, place + 2, capital=token.low == "this")
        trailing = self.at(place + 1).meaning(Role.TRAILING)
        if trailing is not None:
            found = self._moved(place, trailing[1], trailing[0], place + 2, capital=False)
        return found or self._rolling_between(place)

    def _rolling(self, place: int, languages: int, sign: int, *, alone: bool) -> Found | None:
        """Read the units after "the past", "the last" or "the next": with a number, or after "past" without one."""
        amount = self.amount(place, languages)
        if amount is None and alone:
            unit = self.at(place).meaning(Role.UNIT, languages)
            amount = Amount(1, 1, unit[0], unit[1], place + 1) if unit and unit[0] > Unit.DAY else None
        if amount is None or amount.unit < Unit.DAY:
            return None
        if amount.unit is Unit.WEEKEND and amount.most == 1:
            return Found(calendar.at_offset(Unit.WEEKEND, self.today, sign), amount.end, amount.languages, True)
        return Found(calendar.rolling(amount.unit, self.today, -sign * amount.most), amount.end, amount.languages, True)

    def _rolling_between(self, place: int) -> Found | None:
        """Read trois derniers mois and dos últimas semanas: the number first, then the modifier."""
        read = self.quantity(place, ALL)
        if read is None:
            return None
        _, most, languages, end = read
        lead = self.at(end).meaning(Role.ROLLING, languages)
        unit = self.at(end + 1).meaning(Role.UNIT, lead[1]) if lead else None
        if unit is None or unit[0] < Unit.DAY:
            return None
        return Found(calendar.rolling(unit[0], self.today, most), end + 2, unit[1], True)

    def _moved(self, place: int, languages: int, offset: int, end: int, *, capital: bool) -> Found | None:
        """Move a unit, a day of the week, a month or a season from the present one."""
        token = self.at(place)
        unit = token.meaning(Role.UNIT, languages)
        if unit:
            # "the last week of the course" is no week of ours.
            if unit[0] < Unit.WEEK or (unit[1] & ENGLISH and self.at(end).meaning(Role.OF, ENGLISH)):
                return None
            return Found(calendar.at_offset(unit[0], self.today, offset), end, unit[1], True)
        weekday = token.meaning(Role.WEEKDAY, languages)
        if weekday is None and token.capital:
            weekday = token.meaning(Role.SHORT_WEEKDAY, languages)
        if weekday:
            return Found(calendar.weekday(weekday[0], self.today, offset), end, weekday[1], True)
        season = token.meaning(Role.SEASON, languages)
        if season:
            year = calendar.season_near(season[0], self.today, offset)
            return Found(calendar.season(year, season[0]), end, season[1], True)
        month = self.month(place, languages)
        if month is None or ((capital or month.short) and not token.capital):
            return None
        year = calendar.month_near(month.number, self.today, offset)
        return Found(calendar.month(year, month.number), end, month.languages, True)

    def _weekday(self, place: int) -> Found | None:
        """Read Tuesday, or Tuesday the 7th of May as that day of May."""
        token, before = self.at(place), self.at(place - 1)
        sure = token.meaning(Role.WEEKDAY)
        meaning = sure or (token.meaning(Role.SHORT_WEEKDAY) if token.capital else None)
        if meaning is None or before.meaning(Role.EVERY) or before.meaning(Role.ORDINAL):
            return self._weekend(place)
        inner = self.over(self.over_mark(self.over_mark(place + 1, "."), ","), Role.ARTICLE)
        dated = self.written_date(inner) or self.day_of_month(inner)
        if dated is not None:
            return dated
        if not sure and not before.meaning(Role.ON):
            return None
        offset = 1 if before.low in _AHEAD_OF else -1
        return Found(calendar.weekday(meaning[0], self.today, offset), place + 1, meaning[1], True)

    def _weekend(self, place: int) -> Found | None:
        """Read "over the weekend" and "am Wochenende" as the weekend that has begun last."""
        meaning = self.at(place).meaning(Role.UNIT)
        before = self.at(place - 1)
        told = before.low == "am" or (before.low == "the" and self.at(place - 2).low in ("over", "on", "at"))
        if meaning is None or meaning[0] is not Unit.WEEKEND or not told:
            return None
        offset = 0 if self.today.weekday() >= SATURDAY else -1
        return Found(calendar.at_offset(Unit.WEEKEND, self.today, offset), place + 1, meaning[1], True)


def _part_in_year(in_year: Callable[[int], Days] | None, part: Part) -> Callable[[int], Days] | None:
    return None if in_year is None else lambda year: calendar.portion(in_year(year), *part)
