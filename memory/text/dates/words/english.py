"""English words of time."""

from __future__ import annotations

from typing import Final

from memory.text.dates.calendar import Unit
from memory.text.dates.roles import Role, Vocabulary

ENGLISH: Final = Vocabulary(
    language="english",
    months="january, february, march, april, may, june, july, august, september, october, november, december",
    weak_months="march, april, may, june, august",
    short_months="jan, feb, mar, apr, may, jun, jul, aug, sep/sept, oct, nov, dec",
    weekdays="monday, tuesday, wednesday, thursday, friday, saturday, sunday",
    short_weekdays="mon, tue/tues, wed, thu/thur/thurs, fri, sat, sun",
    seasons="spring/springtime, summer/summertime, autumn/fall, winter/wintertime",
    units={
        Unit.MINUTE: "minute/minutes",
        Unit.HOUR: "hour/hours",
        Unit.DAY: "day/days",
        Unit.WEEK: "week/weeks",
        Unit.WEEKEND: "weekend/weekends",
        Unit.FORTNIGHT: "fortnight/fortnights",
        Unit.MONTH: "month/months",
        Unit.QUARTER: "quarter/quarters",
        Unit.YEAR: "year/years",
        Unit.DECADE: "decade/decades",
    },
    numbers={
        1: "a/an/one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine",
        10: "ten", 11: "eleven", 12: "twelve", 20: "twenty", 30: "thirty",
        (2, 3): "a couple of/couple of/a couple/couple", (2, 5): "a few/few", (3, 7): "several",
    },
    ordinals="first, second, third, fourth",
    days={
        -2: "day before yesterday", -1: "yesterday/last night", 1: "tomorrow", 2: "day after tomorrow",
        0: "today/tonight/this morning/this afternoon/this evening",
    },
    modifiers={-1: "last/previous", 0: "this/current", 1: "next/coming/upcoming"},
    parts={
        0: "early/beginning of/start of/early in/at the start of/at the beginning of",
        1: "mid/middle of/in the middle of",
        2: "late/end of/late in/at the end of",
    },
    others={
        Role.ROLLING: "past",
        Role.HALF: "half",
        Role.AGO_AFTER: "ago",
        Role.AHEAD_BEFORE: "in",
        Role.AHEAD_AFTER: "from now/from today",
        Role.IN: "in/during/by/around/throughout",
        Role.ON: "on",
        Role.OF: "of",
        Role.ARTICLE: "the",
        Role.SINCE: "since/ever since",
        Role.BEFORE: "before/prior to",
        Role.AFTER: "after",
        Role.UNTIL: "until/till/up to",
        Role.BETWEEN: "between",
        Role.AND: "and",
        Role.FROM: "from",
        Role.TO: "to/until/till/through",
        Role.EVERY: "every/each/any/most/black/good/cyber/ash/fat",
    },
    markers="""the and is are was were be been have has had do does did will would what when where who how which that
        this with for from you he she they we my your his her their our not it of to i ago""",
)  # fmt: skip
