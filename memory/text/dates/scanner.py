"""Splits a text into words, figures and marks, and gives each what it can mean in a phrase of time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from memory.text.dates.lexicon import ALL, BITS, PHRASES, SHY, SINGLE, Meanings, Phrase, judge_languages
from memory.text.dates.roles import Role

# Not inside a word, a path, a version, a number with decimals, a price or a sign.
_BEFORE: Final = r"(?<![\w.,/:+$€£¥#@=-])"
_AFTER: Final = r"(?![\w/]|[.,:-]\d|-\w)"
_TOKEN = re.compile(
    rf"""
      {_BEFORE}(?P<iso>(?P<y>\d{{4}})(?P<by>[-/]|\.(?=\d\d\.\d\d))(?P<m>\d\d?)(?P=by)(?P<d>\d\d?))(?:(?=T\d\d:\d\d)|{_AFTER})
    | {_BEFORE}(?P<whole>(?P<wy>\d{{4}})-(?P<wm>0[1-9]|1[0-2])){_AFTER}
    | {_BEFORE}(?P<local>(?P<first>\d\d?)(?P<between>[-/.])(?P<second>\d\d?)(?P=between)(?P<year>\d{{4}}|\d\d)){_AFTER}
    | (?P<word>[^\W\d_]+)
    | (?P<figure>\d+)
    | (?P<mark>[^\w\s]|_)
    """,
    re.VERBOSE,
)
_GLUE_BEFORE: Final = frozenset("._/:#@$€£¥+=\\-–%")
_GLUE_AFTER: Final = frozenset("_/:@%€$£¥°=\\-–")
ORDINAL_ENDINGS: Final = frozenset({"st", "nd", "rd", "th", "er", "e", "eme", "ème", "re", "ª", "º", "o", "a"})
# A figure for a range of days has a hyphen on one side: 7-9 May.
_HYPHENS: Final = frozenset("-–—")
MOST_DIGITS: Final = 4
MOST_TOKENS: Final = 4_000
"""What comes after so many words and marks is not looked at."""
_APOSTROPHES: Final = frozenset("'’‘")


@dataclass(slots=True)
class Token:
    """A word, a figure, a written date or a mark.

    `number` is a figure of at most four digits; `bare` tells that it is part of no larger expression (a version, a
    price, an identifier), and `ranged` that nothing but a hyphen makes it not bare. `written` is a date in figures:
    year, month and day, the day 0 for a whole month.
    """

    text: str
    low: str
    start: int
    end: int
    meanings: Meanings = field(default_factory=dict)
    number: int | None = None
    digits: int = 0
    bare: bool = False
    ranged: bool = False
    quoted: bool = False
    written: tuple[int, int, int] | None = None

    def meaning(self, role: Role, languages: int = ALL) -> tuple[Any, int] | None:
        """Give what the token means in a role, and in which of the languages; None when it cannot be that."""
        for value, spoken in self.meanings.get(role, ()):
            if spoken & languages:
                return value, spoken & languages
        return None

    @property
    def capital(self) -> bool:
        """Tell whether the token begins with a capital letter."""
        return self.text[:1].isupper()


def scan(text: str) -> list[Token]:
    """Split a text into tokens; cost is linear in its length. Apostrophes are left out."""
    tokens: list[Token] = []
    quoted = -1
    local: list[re.Match[str]] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        found = match.group()
        token = Token(found, found.casefold(), match.start(), match.end())
        if match.group("iso"):
            token.written = int(match["y"]), int(match["m"]), int(match["d"])
        elif match.group("whole"):
            token.written = int(match["wy"]), int(match["wm"]), 0
        elif match.group("local"):
            local.append(match)
            token.written = (0, 0, 0)
        elif kind == "figure":
            _read_figure(token, text, quoted)
        elif kind == "mark" and found in _APOSTROPHES:
            quoted = match.end()
            continue
        tokens.append(token)
        if len(tokens) == MOST_TOKENS:
            break
    languages = judge_languages(token.low for token in tokens)
    for token in tokens:
        token.meanings = _meanings(token.low, languages)
    _read_local_dates(tokens, local, languages)
    return _merged(tokens)


def _read_figure(token: Token, text: str, quoted: int) -> None:
    token.digits = len(token.text)
    if token.digits > MOST_DIGITS:
        return
    token.number = int(token.text)
    token.quoted = quoted == token.start
    before, after = text[token.start - 1 : token.start], text[token.end : token.end + 2]
    free_before = not before or not (before in _GLUE_BEFORE or before.isalnum() or before == ",")
    free_after = not after or not (
        after[0] in _GLUE_AFTER or (after[0] in ".,:" and after[1:].isdigit()) or after[0].isalpha()
    )
    if not free_after and after[0].isalpha():
        ending = re.match(r"[^\W\d_]{1,4}(?!\w)", text[token.end : token.end + 6])
        free_after = ending is not None and ending.group().casefold() in ORDINAL_ENDINGS
    token.bare = free_before and free_after
    token.ranged = (free_before or before in _HYPHENS) and (free_after or after[:1] in _HYPHENS)


def _meanings(word: str, languages: int) -> Meanings:
    meanings = SINGLE.get(word)
    if not meanings:
        return {}
    shy = SHY.get(word, 0) & ~languages
    if not shy:
        return meanings
    kept = {role: [(value, spoken & ~shy) for value, spoken in found] for role, found in meanings.items()}
    return {role: found for role, found in kept.items() if any(spoken for _, spoken in found)}


def _read_local_dates(tokens: list[Token], matches: list[re.Match[str]], languages: int) -> None:
    """Read dates whose order is the custom of a place.

    Between strokes the month comes first in a text that is English or of no known language; elsewhere, and between
    points or hyphens, the day does. Where only one order makes a date it is taken.
    """
    by_start = {match.start(): match for match in matches}
    for token in tokens:
        match = by_start.get(token.start) if token.written == (0, 0, 0) else None
        if match is None:
            continue
        first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
        separator = match["between"]
        english = not languages or bool(languages & BITS["english"])
        if len(match["year"]) == 2:
            if separator == "-" or (separator == "." and english):
                # A score, or a version.
                token.written = None
                continue
            year += 2000 if year < 70 else 1900
        american = separator == "/" and english
        if first > 12 or second > 12:
            american = second > 12
        token.written = (year, first, second) if american else (year, second, first)


def _merged(tokens: list[Token]) -> list[Token]:
    """Replace the words of fixed phrases by one token each, the longest phrase first."""
    merged: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        phrase = next((one for one in PHRASES.get(token.low, ()) if _follows(tokens, place, one)), None)
        if phrase is not None:
            last = tokens[place + len(phrase.rest)]
            low = " ".join((token.low, *phrase.rest))
            merged.append(Token(token.text, low, token.start, last.end, phrase.meanings))
            place += len(phrase.rest)
        else:
            merged.append(token)
        place += 1
    return merged


def _follows(tokens: list[Token], place: int, phrase: Phrase) -> bool:
    following = tokens[place + 1 : place + 1 + len(phrase.rest)]
    return len(following) == len(phrase.rest) and all(
        token.low == word for token, word in zip(following, phrase.rest, strict=True)
    )
