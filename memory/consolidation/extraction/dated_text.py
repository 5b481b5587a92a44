"""Statements that outlive the day they were said on: phrases such as "last weekend" get their date beside them."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Final

from memory.text.dates import TimeSpan, find_spans, may_hold_dates

LONGEST: Final = timedelta(days=400)
"""What lasts longer, or is open, has no date that would help."""
MOST: Final = 3
"""Phrases of one statement that get a date."""

# "On Fridays", "in May" and "12 May" are left as they are: nobody says whether they recur, or of which year they are.
_COUNTED: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|this|ago|previous|past|coming|following|earlier|later|from now|"
    r"gestern|heute|morgen|vorgestern|übermorgen|letzte[nrsm]?|nächste[nrsm]?|diese[nrsm]?|vor|vorige[nrsm]?|"
    r"hier|aujourd'hui|demain|avant-hier|dernière?|prochaine?|cette|ce|il y a|"
    r"ayer|hoy|mañana|anteayer|pasad[oa]|próxim[oa]|este|esta|hace|"
    r"ontem|hoje|amanhã|ieri|oggi|domani|scors[oa]|prossim[oa]|questo|questa|fa|"
    r"gisteren|vandaag|overmorgen|vorige|afgelopen|volgende|deze|geleden)\b",
    re.IGNORECASE,
)
# What recurs is meant anew each time.
_RECURS: Final = re.compile(
    r"\b(?:always|never|every|each|whenever|usually|often|immer|nie|jede[nrsm]?|toujours|jamais|chaque|"
    r"siempre|nunca|cada|sempre|mai|ogni|altijd|nooit|elke?)\b",
    re.IGNORECASE,
)
# A date already, or the genitive of "today's", which it would cut off.
_GOES_ON: Final = re.compile(r"\s*[(\[]\s*\d{4}|['’\w]")


def with_dates(text: str, *, moment: datetime) -> str:
    """Write the dates of phrases that count from a moment behind them: "last weekend (2026-05-02 to 2026-05-03)".

    Args:
        text: the statement; what it says otherwise stays as it is, and so does one of what recurs ("every", "never").
        moment: when it was said, with a time zone, in which days are told.

    Returns:
        The statement; a day as 2026-05-02, a whole month as 2026-05, a whole year as 2026, else the first and the last
        day.
    """
    if not may_hold_dates(text) or _RECURS.search(text):
        return text
    shown: list[str] = []
    end = 0
    for span in sorted(find_spans(text, reference=moment, limit=MOST), key=lambda one: one.offset):
        until = span.offset + len(span.phrase)
        if span.offset < end or not _counts(span, text) or text[span.offset : until] != span.phrase:
            continue
        if _GOES_ON.match(text, until):
            continue
        shown.append(f"{text[end:until]} ({_days(span, moment)})")
        end = until
    return "".join([*shown, text[end:]])


def _counts(span: TimeSpan, text: str) -> bool:
    counted = _COUNTED.search(span.phrase)
    if counted is None or not span.relative or span.ends_at - span.starts_at > LONGEST:
        return False
    # With a capital inside a sentence it is a name: the song "Yesterday".
    before = text[: span.offset + counted.start()].rstrip(" \"'(")
    return not counted.group()[0].isupper() or not before or before[-1] in ".!?…:"


def _days(span: TimeSpan, moment: datetime) -> str:
    first = span.starts_at.astimezone(moment.tzinfo).date()
    last = (span.ends_at - timedelta(microseconds=1)).astimezone(moment.tzinfo).date()
    if first == last:
        return first.isoformat()
    if (first, last) == (date(first.year, 1, 1), date(first.year, 12, 31)):
        return f"{first:%Y}"
    if first.day == 1 and (first.year, first.month) == (last.year, last.month) and (last + timedelta(days=1)).day == 1:
        return f"{first:%Y-%m}"
    return f"{first.isoformat()} to {last.isoformat()}"
