"""Phrases of time in Chinese, and the commonest Japanese ones, which are written without spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from memory.text.dates import calendar
from memory.text.dates.calendar import DAY, Unit
from memory.text.dates.spans import EARLIEST, LATEST, Days, TimeSpan, at_midnight

_FIGURES: Final = {figure: value for value, figure in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_NUMBER: Final = r"(?:\d{1,4}|[零〇一二两兩三四五六七八九十百]{1,5}|几|幾)"
_SMALL: Final = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"

_DAYS: Final = {
    "大前天": -3, "前天": -2, "一昨日": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "昨夜": -1, "今天": 0, "今日": 0,
    "今晚": 0, "今早": 0, "明天": 1, "明日": 1, "明早": 1, "后天": 2, "後天": 2, "大后天": 3, "大後天": 3,
}  # fmt: skip
_YEARS: Final = {"前年": -2, "去年": -1, "昨年": -1, "今年": 0, "明年": 1, "后年": 2, "後年": 2, "来年": 1}
_MOVES: Final = {
    "上上": -2, "上": -1, "先": -1, "这": 0, "這": 0, "本": 0, "今": 0, "下": 1, "来": 1, "來": 1, "下下": 2,
}  # fmt: skip
_SEASONS: Final = {"春": 1, "夏": 2, "秋": 3, "冬": 4}
_UNITS: Final = {
    "天": Unit.DAY, "日": Unit.DAY, "周": Unit.WEEK, "週": Unit.WEEK, "星期": Unit.WEEK, "礼拜": Unit.WEEK,
    "禮拜": Unit.WEEK, "月": Unit.MONTH, "年": Unit.YEAR, "小时": Unit.HOUR, "小時": Unit.HOUR,
}  # fmt: skip

_PATTERN = re.compile(
    rf"""
      (?P<lead>从|從|自从|自從|自)?(?:
        (?P<year>(?<!\d)\d{{4}}|(?<![零〇一二三四五六七八九])[一二][零〇一二三四五六七八九]{{3}})年
            (?:(?P<month>{_SMALL})月(?:(?P<day>{_SMALL})[日号號])?
              |第?(?P<quarter>[一二三四1-4])季度?|的?(?P<season>[春夏秋冬])[天季]?)?
      | (?P<yearword>前年|去年|昨年|今年|明年|后年|後年|来年)
            (?:的?(?:(?P<month2>{_SMALL})月(?:(?P<day2>{_SMALL})[日号號])?|(?P<season2>[春夏秋冬])[天季]?))?
      | (?<!\d)(?P<month3>{_SMALL})月(?P<day3>{_SMALL})[日号號]
      | (?P<dayword>大前天|前天|一昨日|昨[天日晚夜]|今[天日晚早]|明[天日早]|大[后後]天|[后後]天)
      | (?P<move>上上|下下|[上下这這本先来來今])[个個]?(?:
            (?P<week>周|週|星期|礼拜|禮拜)(?P<weekday>[一二三四五六日天末])?|(?P<unit>月|季度))
      | (?P<recent>过去|過去|最近|近)(?P<recentcount>{_NUMBER})[个個]?(?P<recentunit>[天日周週月年]|星期|礼拜|禮拜)
      | (?<![\d第])(?P<count>{_NUMBER}|半)[个個]?(?P<countunit>[天日周週月年]|星期|礼拜|禮拜|小[时時])
            (?P<side>之?[前后後]|以[前后後])
      | (?<!每)(?P<alone>周|週|星期|礼拜|禮拜)(?P<aloneday>[一二三四五六日天末])
      | (?<![\d个個第])(?P<month4>{_SMALL})月(?![供薪天])(?P<monthend>份|底|初|中旬)?
      | (?<=[在到])(?P<season4>[春夏秋冬])[天季]
      )(?P<tail>以来|以來|之前|以前|之后|以后|之後|以後)?
    """,
    re.VERBOSE,
)
_JOINT = re.compile(r"\s?(?:到|至|和|与|與|[-–—~～])\s?")


def find_chinese(text: str, reference: datetime, limit: int) -> list[TimeSpan]:
    """Find phrases of time that are written in Han characters; see `find_spans` for what they mean."""
    zone = reference.tzinfo
    assert zone is not None
    spans: list[TimeSpan] = []
    for start, end, days, relative in _joined(text, reference):
        try:
            starts_at, ends_at = at_midnight(days.start, zone), at_midnight(days.end, zone)
        except OverflowError:
            # The first or last days of the calendar may not be had in another time zone.
            continue
        if starts_at < ends_at:
            spans.append(TimeSpan(starts_at, ends_at, text[start:end], start, relative))
        if len(spans) == limit:
            break
    return spans


def _joined(text: str, reference: datetime) -> Iterator[tuple[int, int, Days, bool]]:
    """Give what was read, with two phrases that a joining word makes one range as one."""
    held: _Read | None = None
    for read in _read(text, reference):
        if held is not None and _JOINT.fullmatch(text, held.end, read.start):
            last = read.in_year_of(held) if read.yearless and not held.yearless else read.days
            if held.days.start < last.start:
                yield held.start, read.end, Days(held.days.start, last.end), held.relative
                held = None
                continue
        if held is not None:
            yield held.start, held.end, held.days, held.relative
        held = read
    if held is not None:
        yield held.start, held.end, held.days, held.relative


@dataclass(frozen=True, slots=True)
class _Read:
    """One phrase; `yearless` tells that it names a month or a day of a month without a year."""

    start: int
    end: int
    days: Days
    relative: bool
    yearless: bool

    def in_year_of(self, other: _Read) -> Days:
        """Give the days in the year of an earlier phrase, or in the year after it where they lay before it."""
        length = self.days.end - self.days.start
        for year in (other.days.start.year, other.days.start.year + 1):
            start = date(year, self.days.start.month, min(self.days.start.day, 28))
            if start > other.days.start:
                start += (self.days.start.day - start.day) * DAY
                whole = self.days.start.day == 1 and length.days > 27
                return calendar.month(year, start.month) if whole else Days(start, start + length)
        return self.days


def _read(text: str, reference: datetime) -> Iterator[_Read]:
    for match in _PATTERN.finditer(text):
        try:
            days = _days(match, reference)
        except (ValueError, OverflowError):
            # What the calendar does not have is no date.
            continue
        if days is not None:
            opened = _opened(match, days, reference.date())
            relative = match["year"] is None or opened is not days
            yearless = match["month3"] is not None or match["month4"] is not None
            yield _Read(match.start(), match.end(), opened, relative, yearless and opened is days)


def _days(match: re.Match[str], reference: datetime) -> Days | None:
    today = reference.date()
    rules: tuple[tuple[str, Callable[[], Days | None]], ...] = (
        ("year", lambda: _in_year(match, _number(match["year"]), "month", "day", "season")),
        ("yearword", lambda: _in_year(match, today.year + _YEARS[match["yearword"]], "month2", "day2", "season2")),
        ("month3", lambda: _day_near(_number(match["month3"]), _number(match["day3"]), today)),
        ("dayword", lambda: calendar.at_offset(Unit.DAY, today, _DAYS[match["dayword"]])),
        ("move", lambda: _moved(match, today)),
        ("recent", lambda: _recent(match, today)),
        ("count", lambda: _counted(match, reference)),
        ("alone", lambda: _weekday(match["aloneday"], today, None)),
        ("month4", lambda: _month_near(match, today)),
        ("season4", lambda: _season_near(_SEASONS[match["season4"]], today)),
    )
    return next((rule() for group, rule in rules if match[group] is not None), None)


def _in_year(match: re.Match[str], year: int, month: str, day: str, season: str) -> Days:
    if match[month] is not None:
        number = _number(match[month])
        return calendar.day_in(year, number, _number(match[day])) if match[day] else _month(year, number)
    if match[season] is not None:
        return calendar.season(year, _SEASONS[match[season]])
    if match["quarter"] is not None:
        return calendar.quarter(year, _number(match["quarter"]))
    return calendar.years(year)


def _month(year: int, number: int) -> Days:
    return calendar.month(date(year, number, 1).year, number)


def _day_near(number: int, day: int, today: date) -> Days:
    return calendar.day_in(calendar.day_near(number, day, today), number, day)


def _month_near(match: re.Match[str], today: date) -> Days:
    number = _number(match["month4"])
    days = _month(calendar.month_near(number, today, None), number)
    third = {"初": 0, "中旬": 1, "底": 2}.get(match["monthend"])
    if third is None:
        return days
    length = (days.end - days.start) // 3
    first = days.start + third * length
    return Days(first, days.end if third == 2 else first + length)


def _season_near(number: int, today: date) -> Days:
    return calendar.season(calendar.season_near(number, today, None), number)


def _weekday(name: str, today: date, move: int | None) -> Days:
    """Give the day in a week that was moved to, or the last such day; 末 is the weekend."""
    if name == "末":
        return calendar.at_offset(Unit.WEEKEND, today, move if move is not None else 0)
    number = "一二三四五六日".find("日" if name == "天" else name)
    if move is None:
        return calendar.weekday(number, today, -1)
    return calendar.one_day(calendar.at_offset(Unit.WEEK, today, move).start + number * DAY)


def _moved(match: re.Match[str], today: date) -> Days | None:
    move = _MOVES[match["move"]]
    if match["week"] is not None:
        if match["weekday"] is not None:
            return _weekday(match["weekday"], today, move)
        return calendar.at_offset(Unit.WEEK, today, move)
    return calendar.at_offset(Unit.QUARTER if match["unit"] == "季度" else Unit.MONTH, today, move)


def _recent(match: re.Match[str], today: date) -> Days:
    _, most = _amount(match["recentcount"])
    return calendar.rolling(_UNITS[match["recentunit"]], today, most)


def _counted(match: re.Match[str], reference: datetime) -> Days | None:
    sign = -1 if match["side"][-1] == "前" else 1
    unit = _UNITS[match["countunit"]]
    if match["count"] == "半":
        return calendar.away(Unit.MONTH, reference.date(), 6 * sign, 6 * sign) if unit is Unit.YEAR else None
    least, most = sorted(sign * amount for amount in _amount(match["count"]))
    if unit is Unit.HOUR:
        return None if most > 24 * 366 else calendar.one_day(reference.date() + (most // 24) * DAY)
    return calendar.away(unit, reference.date(), least, most)


def _opened(match: re.Match[str], days: Days, today: date) -> Days:
    """Open a span where the phrase goes on with 以来, 之前 or 之后, or began with 从."""
    tail = match["tail"] or ""
    if tail[:1] in "以之" and tail[-1:] == "前":
        return Days(EARLIEST, days.start) if days.start > EARLIEST else days
    if tail[-1:] in ("后", "後"):
        return Days(days.end, today + DAY if days.end <= today else LATEST)
    if tail or match["lead"]:
        return Days(days.start, today + DAY) if tail and days.start <= today else days
    return days


def _amount(written: str) -> tuple[int, int]:
    if written in ("几", "幾"):
        return 2, 5
    number = _number(written)
    return number, number


def _number(written: str) -> int:
    """Read a number in figures or characters: 二〇二三, 十二, 三十一, 两."""
    if written.isdigit():
        return int(written)
    if "十" in written or "百" in written:
        hundreds, _, rest = written.rpartition("百")
        tens, ten, ones = rest.rpartition("十")
        value = 100 * _figure(hundreds, 1) if "百" in written else 0
        return value + (10 * _figure(tens, 1) if ten else 0) + _figure(ones, 0)
    return int("".join(str(_FIGURES[figure]) for figure in written))


def _figure(written: str, default: int) -> int:
    return _FIGURES[written] if written else default
