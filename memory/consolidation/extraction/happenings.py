"""Finds what happened, or is to happen, and when."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from memory.consolidation.extraction.clause import Subject, without_openings
from memory.consolidation.extraction.voice import agreeing, retold, statement
from memory.consolidation.extraction.words.openings import HYPOTHETICAL, TO_SOMEBODY
from memory.consolidation.extraction.words.verbs import COMING, HAPPENED, PASSIVE, TURNING_POINTS
from memory.text.dates import TimeSpan, find_spans, may_hold_dates

LONGEST_SPAN: Final = timedelta(days=400)
"""What lasts longer, or is open, does not date an event."""

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[a-z]+)?")
_NEGATED: Final = re.compile(
    r"\b(?:not|never|n't|without|no longer|nobody|nothing)\b|\w+n't\b|\b(?:would|could|should|might|"
    r"(?-i:may)|wish|hope|want|"
    r"used to|supposed to|every|each|usually|always|often|sometimes)\b",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(
    r"\A(?P<lead>(?:[^,.]{3,40}?,\s*|(?:yesterday|today|tonight|tomorrow|last \w+|next \w+|this \w+|on \w+)\s+)?)"
    r"(?P<who>I've|I'm|I'll|I|We've|We're|We'll|We)\s+(?P<rest>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_VAGUE: Final = re.compile(
    r"\A(?:it|that|this|they|he|she|there|those|these|what|who|which|you|and|or|to)\b", re.IGNORECASE
)
_SUBJECT: Final = re.compile(r"\A(?:the|my|our|an?|their)\s+|\A[A-Z]", re.DOTALL)
_POINTING: Final = re.compile(r"\b(?:it|them|something|someone|somewhere|this one|that one)\b", re.IGNORECASE)
_TIMED_LEAD: Final = re.compile(
    r"(?:yesterday|today|tonight|tomorrow|last|next|this|on|in|at|after|before|while|during|for|since|"
    r"as|lately|recently|"
    r"finally|earlier|later|a|two|three|the|thanks|one|over|around|just|then|back)\b",
    re.IGNORECASE,
)
_TIME_FIRST: Final = re.compile(
    r"\A(?:yesterday|today|last night|last week|last month|last year|this morning|tomorrow|tonight)\s+", re.IGNORECASE
)
_DROPPED: Final = re.compile(r"((?:just|finally|recently|also|already)\s+)*([A-Za-z]+)\b", re.IGNORECASE)
_INNER_FIRST: Final = re.compile(r"\b(?:I|[Ww]e)\b(?!')")
_HELPERS: Final = {
    "i": "",
    "we": "",
    "i've": "has",
    "we've": "have",
    "i'm": "is",
    "we're": "are",
    "i'll": "will",
    "we'll": "will",
}
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKDAY_NAME: Final = re.compile(r"\b(?:mon|tues?|wednes|wed|thurs?|fri|satur|sat|sun)(?:day)?\b", re.IGNORECASE)
_WEEKDAY: Final = re.compile(r"day\Z", re.IGNORECASE)
_MONTH_DAY: Final = re.compile(r"\d.*[A-Za-z]{3}|[A-Za-z]{3}.*\d")
_LEADING_TIME: Final = re.compile(r"\A[^,]{3,40},\s*")


def when(text: str, *, moment: datetime) -> TimeSpan | None:
    """Give the first stretch of time that a text names and that can date an event."""
    if not may_hold_dates(text):
        return None
    for span in find_spans(text, reference=moment, limit=3):
        if span.ends_at - span.starts_at <= LONGEST_SPAN:
            return _on_its_weekday(span, moment)
    return None


def happening(sentence: str, *, speaker: Subject, moment: datetime) -> tuple[str, datetime, float] | None:
    """Read an event from a sentence.

    Args:
        sentence: no question.
        speaker: who speaks.
        moment: when; phrases such as "yesterday" count from it, and it is the event's time where none is named.

    Returns:
        The event as a statement, its time, and the confidence; None for what is no event.
    """
    said = without_openings(sentence)
    if HYPOTHETICAL.search(said) or _NEGATED.search(said) or TO_SOMEBODY.search(said):
        return None
    span = when(said, moment=moment)
    if span is not None and not COMING.isdisjoint(said.casefold().split()[:8]):
        span = _ahead(span, moment)
    words = [match.group() for match in _WORD.finditer(said)]
    low = [word.casefold() for word in words]
    if len(low) < 3 or _VAGUE.match(_LEADING_TIME.sub("", said) if span else said):
        return None
    dated = span is not None and (_happened(low) or _comes(low, span, moment))
    if not dated and not (span is None and _turns(low)):
        return None
    told = None if _POINTING.search(" ".join(words[:7])) else _told(said, speaker)
    if told is None:
        return None
    return told, span.starts_at if span else moment, 0.9 if span else 0.75


def _happened(words: list[str]) -> bool:
    return not HAPPENED.isdisjoint(words[:14]) or _passive(words)


def _passive(words: list[str]) -> bool:
    return any(first in ("was", "were", "got", "been") and second in PASSIVE for first, second in pairwise(words))


def _turns(words: list[str]) -> bool:
    """Tell whether the verb next to the subject is one that tells an event by itself."""
    return not TURNING_POINTS.isdisjoint(words[:5]) or _passive(words[:7])


def _comes(words: list[str], span: TimeSpan, moment: datetime) -> bool:
    return span.ends_at > moment and (
        not COMING.isdisjoint(words[:8]) or any(word in ("i'll", "we'll", "i'm", "we're") for word in words[:3])
    )


def _on_its_weekday(span: TimeSpan, moment: datetime) -> TimeSpan:
    """Move "Thursday 21 August" into the year before or after in which that day is a Thursday."""
    named = _WEEKDAY_NAME.search(span.phrase)
    if not span.relative or named is None or not any(character.isdigit() for character in span.phrase):
        return span
    wanted = _WEEKDAYS.index(named.group().casefold()[:3])
    for years in (0, 1, -1):
        try:
            start, end = (at.replace(year=at.year + years) for at in (span.starts_at, span.ends_at))
        except ValueError:
            continue
        if start.astimezone(moment.tzinfo).weekday() == wanted:
            return replace(span, starts_at=start, ends_at=end)
    return span


def _ahead(span: TimeSpan, moment: datetime) -> TimeSpan:
    """Move a day without a year, which counts as past, to where something to come must lie."""
    if not span.relative or span.ends_at > moment:
        return span
    days = 7 if _WEEKDAY.search(span.phrase) and moment - span.ends_at <= timedelta(days=7) else 0
    if not days and not _MONTH_DAY.search(span.phrase):
        return span
    try:
        later = [
            at + timedelta(days=days) if days else at.replace(year=at.year + 1) for at in (span.starts_at, span.ends_at)
        ]
    except (ValueError, OverflowError):
        # The 29th of February, or the end of the calendar.
        return span
    return replace(span, starts_at=later[0], ends_at=later[1])


def _told(said: str, speaker: Subject) -> str | None:
    """Retell a sentence whose subject is the speaker, or something that is named; None for any other."""
    dropped = _DROPPED.match(said)
    if dropped and dropped[2].casefold() in HAPPENED:
        return statement(speaker.said, retold(said[0].casefold() + said[1:]))
    match = _FIRST.match(said)
    if match is None:
        return _told_of_others(said, speaker)
    if match["lead"] and not _TIMED_LEAD.match(match["lead"]):
        return None
    who = match["who"].casefold()
    name = f"{speaker.said} and others" if who.startswith("we") else speaker.said
    rest = match["rest"]
    helper = _HELPERS[who]
    if not helper and who == "i":
        rest = agreeing(rest)
    lead = retold(match["lead"]).strip()
    return statement(f"{lead} {name}".strip(), helper, retold(rest))


def _told_of_others(said: str, speaker: Subject) -> str | None:
    bare = _LEADING_TIME.sub("", said)
    bare = _TIME_FIRST.sub("", bare)
    if not _SUBJECT.match(bare) or _VAGUE.match(bare):
        return None
    first = _INNER_FIRST.search(said)
    if first is None:
        return statement(retold(said, speaker=speaker.said if bare[:3].casefold() in ("my ", "our") else ""))
    name = speaker.said if first.group().casefold() == "i" else f"{speaker.said} and others"
    before, after = retold(said[: first.start()], speaker=speaker.said), retold(said[first.end() :])
    return statement(f"{before}{name}{after}")
