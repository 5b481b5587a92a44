"""What a word can do in a phrase of time, and the form in which each language lists its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from memory.text.dates.calendar import Unit


class Role(IntEnum):
    """What a word or a fixed phrase can be; one word can have several roles."""

    MONTH = 1
    WEAK_MONTH = 2
    SHORT_MONTH = 3
    WEEKDAY = 4
    SHORT_WEEKDAY = 5
    SEASON = 6
    UNIT = 7
    NUMBER = 8
    ORDINAL = 9
    DAY = 10
    MODIFIER = 11
    ROLLING = 12
    TRAILING = 13
    PART = 14
    HALF = 15
    AGO_BEFORE = 16
    AGO_AFTER = 17
    AHEAD_BEFORE = 18
    AHEAD_AFTER = 19
    IN = 20
    ON = 21
    OF = 22
    ARTICLE = 23
    SINCE = 24
    BEFORE = 25
    AFTER = 26
    UNTIL = 27
    BETWEEN = 28
    AND = 29
    FROM = 30
    TO = 31
    EVERY = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The words of time of one language.

    Lists are written as text: items separated by commas, other forms of an item by strokes, words of a phrase by
    spaces. Weak months need a word beside them that makes them a month; short ones need a number or a preposition.
    `shy` words count only in a text whose function words (`markers`) are of this language.

    `days` maps offsets from today, `modifiers` and `trailing` (which stand after the noun) offsets from the present
    unit, `numbers` the least and the most that a number can mean, `parts` thirds of a span counted from 0.
    """

    language: str
    months: str
    weak_months: str = ""
    short_months: str = ""
    weekdays: str
    short_weekdays: str = ""
    seasons: str
    units: Mapping[Unit, str]
    numbers: Mapping[int | tuple[int, int], str]
    ordinals: str = ""
    days: Mapping[int, str]
    modifiers: Mapping[int, str]
    trailing: Mapping[int, str] = field(default_factory=dict)
    parts: Mapping[int, str]
    others: Mapping[Role, str]
    markers: str
    shy: str = ""
