"""Rules for ranges, open spans and what lies before or after a point in time."""

from __future__ import annotations

from typing import Final

from memory.text.dates import calendar
from memory.text.dates.calendar import DAY, Unit
from memory.text.dates.lexicon import ALL
from memory.text.dates.points import PointRules
from memory.text.dates.reader import Amount
from memory.text.dates.roles import Role
from memory.text.dates.spans import EARLIEST, LATEST, Days, Found

# A comma or a colon right after "before" and the like ends the phrase.
_OPENERS: Final = (Role.SINCE, Role.UNTIL, Role.BEFORE, Role.AFTER)


class RangeRules(PointRules):
    """Reads the longest phrase of time that starts at a token."""

    def phrase(self, place: int) -> Found | None:
        """Read a range, an open span, a span told from a point, or a point."""
        return self._between(place) or self._open(place) or self._beside(place) or self._to(place)

    def _between(self, place: int) -> Found | None:
        """Read between March and May 2024, from 3 to 9 June, vom 3. bis 9. Juni."""
        for opener, joiner in ((Role.BETWEEN, Role.AND), (Role.FROM, Role.TO)):
            lead = self.at(place).meaning(opener)
            if lead is None:
                continue
            inner = self.over(place + 1, Role.ARTICLE)
            first = self.point(inner, supported=True)
            if first is None or not first.languages & lead[1]:
                continue
            # "from 3 to 9 June" is one range of days already.
            found = self._joined(first, first.end, joiner) if first.point else first
            if found is not None:
                return found
        return None

    def _joined(self, first: Found, place: int, joiner: Role) -> Found | None:
        joint = self.over(place, joiner, first.languages)
        if joint == place:
            joint = self.over_mark(place, "-–—") if joiner is Role.TO else place
        if joint == place:
            return None
        last = self.point(self.over(joint, Role.ARTICLE), supported=True)
        if last is None or not last.point or not last.languages & first.languages:
            return None
        start = first.days
        if first.in_year and first.year is None and last.in_year:
            start = first.in_year(last.days.start.year)
            if start.start > last.days.start:
                start = first.in_year(last.days.start.year - 1)
        end = last.days
        if last.in_year and last.year is None and first.year is not None:
            end = last.in_year(first.year)
            if end.start < start.start:
                end = last.in_year(first.year + 1)
        if end.end <= start.start:
            return None
        return Found(
            Days(start.start, end.end), last.end, last.languages, first.relative and last.relative, point=False
        )

    def _open(self, place: int) -> Found | None:
        """Read since March, until 2021, before the summer of 2020, after last week."""
        token = self.at(place)
        for role in _OPENERS:
            lead = token.meaning(role)
            if lead is None:
                continue
            inner = self.over(place + 1, Role.ARTICLE, lead[1])
            found = self.point(inner, supported=True)
            if found is None and role is Role.SINCE:
                found = self._since_amount(inner, lead[1])
            if found is None or not found.languages & lead[1]:
                continue
            days = self._opened(role, found.days)
            if days is not None:
                return Found(days, found.end, found.languages & lead[1], True, point=False)
        return None

    def _since_amount(self, place: int, languages: int) -> Found | None:
        """Read the weeks in "seit drei Wochen", which began so long ago."""
        amount = self.amount(place, languages)
        if amount is None or amount.unit < Unit.DAY:
            return None
        days = calendar.rolling(amount.unit, self.today, amount.most)
        return Found(days, amount.end, amount.languages, True)

    def _opened(self, role: Role, days: Days) -> Days | None:
        tomorrow = self.today + DAY
        if role is Role.SINCE:
            return Days(days.start, tomorrow) if days.start < tomorrow else None
        if role is Role.AFTER:
            return Days(days.end, tomorrow if days.end < tomorrow else LATEST)
        last = days.end if role is Role.UNTIL else days.start
        return Days(EARLIEST, last) if last > EARLIEST else None

    def _beside(self, place: int) -> Found | None:
        """Read the week before 9 June, the Friday before 15 July, the week of 9 June."""
        token = self.at(place)
        inner = place + 1 if token.meaning(Role.MODIFIER) else place
        weekday = self.at(inner).meaning(Role.WEEKDAY)
        amount = self.amount(inner, ALL)
        unit = self.at(inner).meaning(Role.UNIT)
        if weekday is not None:
            languages, end = weekday[1], inner + 1
        elif amount is not None:
            languages, end = amount.languages, amount.end
        elif unit is not None:
            languages, end = unit[1], inner + 1
        else:
            return None
        for role, sign in ((Role.BEFORE, -1), (Role.AFTER, 1)):
            lead = self.at(end).meaning(role, languages)
            if lead is None:
                continue
            if unit and (found := self._before_last(end + 1, sign, unit, lead[1])):
                return found
            point = self.point(self.over(end + 1, Role.ARTICLE, lead[1]), supported=True)
            if point is None or not point.languages & lead[1]:
                continue
            days = self._beside_days(point.days, sign, weekday, amount, unit)
            if days is not None:
                return Found(days, point.end, point.languages & lead[1], point.relative, point=False)
        return self._week_of(end, unit) if unit and inner == place else None

    def _before_last(self, place: int, sign: int, unit: tuple[Unit, int], languages: int) -> Found | None:
        """Read the week before last, the year after next."""
        meaning = self.at(place).meaning(Role.MODIFIER, languages)
        following = self.at(place + 1)
        if meaning is None or meaning[0] != sign or unit[0] < Unit.WEEK:
            return None
        if any(role in following.meanings for role in (Role.UNIT, Role.WEEKDAY, Role.SEASON)) or self.month(place + 1):
            return None
        return Found(calendar.at_offset(unit[0], self.today, 2 * sign), place + 1, meaning[1], True)

    def _beside_days(
        self,
        days: Days,
        sign: int,
        weekday: tuple[int, int] | None,
        amount: Amount | None,
        unit: tuple[Unit, int] | None,
    ) -> Days | None:
        edge = days.start if sign < 0 else days.end - DAY
        if weekday is not None:
            return calendar.weekday(weekday[0], edge, sign)
        if amount is not None:
            if amount.unit < Unit.DAY:
                return None
            return calendar.away(amount.unit, edge, *sorted((sign * amount.least, sign * amount.most)))
        if unit is None or unit[0] < Unit.DAY:
            return None
        if unit[0] is Unit.WEEKEND:
            saturday = calendar.weekday(5, edge, sign).start
            return Days(saturday, saturday + 2 * DAY)
        if unit[0] in (Unit.DAY, Unit.WEEK, Unit.FORTNIGHT):
            length = calendar.DAYS_IN[unit[0]] * DAY
            return Days(days.start - length, days.start) if sign < 0 else Days(days.end, days.end + length)
        return calendar.at_offset(unit[0], edge, sign)

    def _week_of(self, place: int, unit: tuple[Unit, int]) -> Found | None:
        """Read the week of 9 June, the weekend of 15 July 2023."""
        if unit[0] not in (Unit.WEEK, Unit.WEEKEND):
            return None
        of = self.at(place).meaning(Role.OF, unit[1])
        inner = self.over(place + 1, Role.ARTICLE)
        point = (self.written_date(inner) or self.day_of_month(inner)) if of else None
        if point is None:
            return None
        return Found(calendar.at_offset(unit[0], point.days.start, 0), point.end, unit[1], point.relative, point=False)

    def _to(self, place: int) -> Found | None:
        """Read a point, or 7 May to 3 June and March - May 2024."""
        found = self.point(place)
        if found is None:
            # In "March to May 2024" what follows makes a month of the first one.
            if not self.month(place) or not (
                self.at(place + 1).meaning(Role.TO) or self.at(place + 1).low in ("-", "–", "—")
            ):
                return None
            guess = self.point(place, supported=True)
            return self._joined(guess, guess.end, Role.TO) if guess else None
        if not found.point or found.in_year is None:
            return found
        return self._joined(found, found.end, Role.TO) or found
