"""Words of time and number. They only tell that a text holds some; reading a date is another matter.

A look-up of the text's words in a set settles most texts; patterns run only where a word or a digit hints at them.
Every repetition in a pattern is bounded, so that a long text costs linear time whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Final

from memory.text.stopwords import word_set

_WEEKDAYS: Final[frozenset[str]] = frozenset(
    f"{day}day{ending}" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun") for ending in ("", "s")
)
# May and March are verbs too, and count only with a neighbour that makes them a month.
_TIME_WORDS: Final[frozenset[str]] = _WEEKDAYS | word_set("""
    january february april june july august september october november december yesterday today tomorrow
    tonight ago nowadays overnight midnight noon weekend weekends fortnight lately recently o'clock gestern
    vorgestern heute übermorgen montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar
    märz mai juni juli oktober dezember ayer anteayer mañana lunes martes miércoles jueves viernes sábado
    domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
    aujourd'hui demain lundi mardi mercredi jeudi vendredi samedi dimanche janvier février avril juin
    juillet août septembre octobre novembre décembre
    """)
_UNIT: Final = r"(?:second|minute|hour|day|night|week|weekend|month|year|decade)s?"
_UNITS: Final[frozenset[str]] = frozenset(
    unit + ending
    for unit in ("second", "minute", "hour", "day", "night", "week", "month", "year", "decade")
    for ending in ("", "s")
)
_HINTS: Final[frozenset[str]] = _UNITS | word_set("""
    may march spring summer autumn fall winter morning afternoon evening time letzte letzten letzter letztes
    nächste nächsten nächster nächstes vorige vorigen voriges pasado pasada próximo próxima dernier dernière
    prochain prochaine hier
    """)
_PHRASE = re.compile(
    rf"""\b(?:
      (?:last|next|this|past|previous|coming|every|following|few|many|several|two|three|four|five|six|seven|eight|nine|ten)
        \s{{1,3}}(?:few\s|couple\sof\s)?(?:{_UNIT}|morning|afternoon|evening|spring|summer|autumn|fall|winter|time)
    | {_UNIT}\s{{1,3}}(?:before|later|earlier|from\snow)
    | (?:in|during|since|by|of)\s(?:the\s|early\s|late\s)?(?:spring|summer|autumn|winter|morning|afternoon|evening)
    | (?:in|for|after|within)\s(?:an?|one|half\san)\s{_UNIT}
    | (?:in|by|since|until|till|of|last|next|this|early|mid|late|\d|\dst|\dnd|\drd|\dth)[\s-](?:may|march)
        (?!\s(?:be|have|not))
    | (?:may|march)\s(?:the\s)?\d
    | (?:letzte|nächste|vorige)[nrsm]?\s(?:woche|monat|jahr|mal|nacht|sommer|winter|herbst|frühling)
    | (?:semana|mes|año|noche|verano|invierno)\s(?:pasad|próxim)[oa]
    | (?:semaine|mois|an|année|nuit|été|hiver)\s(?:dernier|dernière|prochain|prochaine) | avant-hier
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_MONTH = r"(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_FIGURES = re.compile(
    rf"""(?<![\d.,])(?:
      (?:[01]?\d|2[0-3]):[0-5]\d(?!\d)
    | \d{{1,2}}\s?(?:am\b|pm\b|a\.m\.|p\.m\.|o'clock\b|uhr\b)
    | (?:19|20)\d\d(?:s\b|(?![\w.,]\d|\w))
    | \d{{1,2}}[/.]\d{{1,2}}[/.](?:\d{{4}}|\d\d)(?![\w.])
    | \d{{1,4}}\s?{_UNIT}\b
    | \d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}\b
    ) | \b{_MONTH}\.?\s\d{{1,2}}\b | \d\s?[年月日号時时点]""",
    re.IGNORECASE | re.VERBOSE,
)
_UNSPACED_TIME = re.compile(
    "昨天|今天|明天|前天|后天|去年|今年|明年|上周|下周|上个月|下个月|昨日|今日|明日|一昨日|先週|来週|어제|오늘|내일|เมื่อวาน|วันนี้|พรุ่งนี้"
)

_NUMBER_WORDS: Final[frozenset[str]] = word_set("""
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand
    thousands million millions billion billions dozen dozens once twice thrice couple pair half zwei drei
    vier fünf sechs sieben acht neun zehn elf zwölf hundert tausend dos tres cuatro cinco seis siete ocho
    nueve diez cien mil deux trois quatre cinq sept huit neuf dix cent mille
    """)
_DIGIT = re.compile(r"\d")
_UNSPACED_NUMBER = re.compile(r"[一二三四五六七八九十百千万两几][个個次年月日天岁歳只本人つ回]")

CALENDAR_WORDS: Final[frozenset[str]] = _WEEKDAYS | word_set(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec am pm"
)
"""Words that are often capitalised and name a time, not somebody."""


def holds_time(text: str, words: AbstractSet[str]) -> bool:
    """Tell whether a text holds a date, a time of day, or a word that places something in time.

    Args:
        text: the text as written.
        words: its words, case-folded, apostrophes inside kept.
    """
    if not _TIME_WORDS.isdisjoint(words):
        return True
    if not _HINTS.isdisjoint(words) and _PHRASE.search(text):
        return True
    if _DIGIT.search(text) and _FIGURES.search(text):
        return True
    return not text.isascii() and _UNSPACED_TIME.search(text) is not None


def holds_number(text: str, words: AbstractSet[str]) -> bool:
    """Tell whether a text holds a digit of any script or a word for a number above one."""
    if _DIGIT.search(text) or not _NUMBER_WORDS.isdisjoint(words):
        return True
    return not text.isascii() and _UNSPACED_NUMBER.search(text) is not None
