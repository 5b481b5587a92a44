"""Finds the runs of capitalised words of a text that can be names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from memory.consolidation.extraction.sentences import Sentence
from memory.consolidation.extraction.words.noise import AFTER_PEOPLE, NOISE
from memory.consolidation.extraction.words.people import ALSO_WORDS, FIRST_NAMES, HONORIFICS
from memory.consolidation.extraction.words.themes import TOPICS
from memory.consolidation.extraction.words.things import NATIONAL, ORGANIZATION_WORDS, ORGANIZATIONS, PLACES, TOOLS
from memory.text.scripts import UNSPACED
from memory.text.stopwords import STOP_WORDS, word_set
from memory.text.timewords import CALENDAR_WORDS

LONGEST_RUN: Final = 7

_CHAR: Final = rf"[^\W{UNSPACED}]"
_TOKEN: Final = re.compile(rf"(?!_){_CHAR}+(?:['.&/-](?={_CHAR}){_CHAR}+)*(?:\+\+|#)?|&")
_GERMAN: Final = re.compile(
    r"\b(?:der|das|ein|mit|auf|sie|es|von|im|am|dem|den|bis|aus|bei|seit|was|wie|dann|man|er|die|hat|war|sind)\b"
)
_SURELY_GERMAN: Final = re.compile(
    r"\b(?:[Ii]ch|und|nicht|für|[Ww]ir|auch|noch|haben|habe|einen|einem|einer|eine|zum|zur|ist|aber|"
    r"über|nach|oder|kein|keine)\b|ß"
)
_JOINING: Final = word_set("of the de la del da do dos das du des van von der den di el y & for in")
_STOP: Final = STOP_WORDS["english"]
SHORT_DAYS: Final = word_set("mon tue tues wed thu thur thurs fri sat sun")
_LISTED: Final = ORGANIZATIONS | TOOLS | PLACES
_HOLIDAYS: Final = word_set("good black easter palm cyber ash fat boxing")
_ENDS_COMMON: Final = ("ing", "ly", "tion", "ness", "ment", "ies", "ings", "ful", "less", "ous", "able", "ence", "ance")
_NUMBER: Final = re.compile(r"\d{1,4}[a-zA-Z]?\Z")
_APOSTROPHE: Final = re.compile(r"'(?:s|S|m|ve|re|ll|d|t)\Z")
_INITIALS: Final = re.compile(r"[A-Z](?:\.[A-Z]){0,2}\Z")
_CAMEL: Final = re.compile(r"[a-z]+[A-Z]\w*\Z")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: as written without its 's, in small letters, and where it stands."""

    text: str
    low: str
    start: int
    end: int
    ends_run: bool


@dataclass(frozen=True, slots=True)
class Run:
    """Words that together can be a name; `opens` tells that they open a sentence."""

    words: tuple[str, ...]
    name: str
    start: int
    end: int
    opens: bool


def _tokens(text: str) -> list[Token]:
    found = []
    for match in _TOKEN.finditer(text):
        whole = match.group()
        if "'" in whole:
            bare = _APOSTROPHE.sub("", whole)
            found.append(Token(bare, whole.casefold(), match.start(), match.start() + len(bare), True))
        else:
            found.append(Token(whole, whole.casefold(), match.start(), match.end(), False))
    return found


def inner_capitals(text: str, spoken: list[Sentence]) -> set[str]:
    """List in small letters the words that stand with a capital inside a sentence, where they must be names."""
    if any(capitals_mean_nothing(sentence.text) for sentence in spoken):
        return set()
    openings = {sentence.start for sentence in spoken}
    return {
        match.group().casefold()
        for match in _INNER.finditer(text)
        if match.start() not in openings and match.group().casefold() not in NOISE
    }


_INNER: Final = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}")


def capital_runs(
    text: str, spoken: list[Sentence], *, people: AbstractSet[str], inside: AbstractSet[str], limit: int
) -> Iterator[Run]:
    """List the runs of capitalised words that can be names, at most `limit`.

    Args:
        text: what is read; the cost is linear in its length.
        spoken: its sentences; the word that opens one has a capital in any case.
        people: words of the names of people who are known, in small letters.
        inside: words that have a capital inside a sentence somewhere, in small letters.
        limit: most runs.
    """
    tokens = _tokens(text)
    openings = {sentence.start for sentence in spoken}
    shouted = {sentence.start: _is_shouted(sentence.text) for sentence in spoken}
    known = people | inside
    german = {sentence.start for sentence in spoken if capitals_mean_nothing(sentence.text)}
    in_german = False
    place = given = 0
    loud = False
    while place < len(tokens) and given < limit:
        token = tokens[place]
        opens = _opens(text, token.start, openings)
        if token.start in openings:
            loud, in_german = shouted[token.start], token.start in german
        if loud or not _may_begin(token):
            place += 1
            continue
        end = _end_of_run(text, tokens, place, openings)
        run = _trimmed(text, tokens[place:end], opens, known, tokens[end] if end < len(tokens) else None)
        if run is not None and in_german and not _is_sure(run, known):
            run = None
        if run is not None:
            given += 1
            yield run
        place = max(end, place + 1)


def capitals_mean_nothing(sentence: str) -> bool:
    """Tell whether a sentence is German, where every noun has a capital."""
    return _SURELY_GERMAN.search(sentence) is not None or len(set(_GERMAN.findall(sentence))) > 1


def _is_sure(run: Run, known: AbstractSet[str]) -> bool:
    """Tell whether a run names something whatever its capitals: it is listed, known, or has a title or a number."""
    words = set(run.words)
    name = run.name.casefold()
    return (
        name in _LISTED
        or not words.isdisjoint(known | FIRST_NAMES | HONORIFICS | ORGANIZATION_WORDS)
        or not words.isdisjoint(PLACES)
        or any(character.isdigit() for character in name)
    )


def _is_shouted(sentence: str) -> bool:
    letters = [character for character in sentence if character.isalpha()]
    return len(sentence.split()) > 2 and sum(map(str.isupper, letters)) > 0.6 * len(letters)


def _opens(text: str, start: int, openings: AbstractSet[int]) -> bool:
    if start in openings:
        return True
    before = text[max(0, start - 6) : start].rstrip(" ")
    return not before or before[-1] in "¿¡.!?:\n\"'*>#-–—•(;" or not before.strip()


def _may_begin(token: Token) -> bool:
    first = token.text[0]
    return first.isupper() or _CAMEL.match(token.text) is not None


def _is_capital(token: Token) -> bool:
    return token.text[0].isupper() and token.low not in ("i", "i'm", "i've", "i'll", "i'd")


def _end_of_run(text: str, tokens: list[Token], place: int, openings: AbstractSet[int]) -> int:
    """Give the place after the last word of the run that begins at a place."""
    end = place + 1
    while end < len(tokens) and end - place < LONGEST_RUN:
        last, token = tokens[end - 1], tokens[end]
        if last.ends_run or token.start in openings or not _adjoins(text, last, token):
            break
        if _is_capital(token):
            end += 1
        elif token.low in _JOINING and (length := _joined(text, tokens, end, openings)):
            end += length
        elif _NUMBER.match(token.text) and last.low not in CALENDAR_WORDS and _number_belongs(text, tokens, end):
            return end + 1
        else:
            break
    return end


def _adjoins(text: str, last: Token, token: Token) -> bool:
    between = text[last.end : token.start]
    if between == " ":
        return True
    return between == ". " and (last.low in HONORIFICS or _INITIALS.match(last.text) is not None)


def _joined(text: str, tokens: list[Token], place: int, openings: AbstractSet[int]) -> int:
    """Count the joining words at a place and the capital that must follow them: "of the Rings"."""
    for length in (1, 2):
        following = place + length
        if following >= len(tokens) or not _adjoins(text, tokens[following - 1], tokens[following]):
            return 0
        token = tokens[following]
        if _is_capital(token) and token.start not in openings and token.low not in CALENDAR_WORDS:
            joining = tokens[place].low
            return 0 if joining in ("for", "in", "the") and length == 1 else length + 1
        if token.low not in _JOINING:
            return 0
    return 0


def _number_belongs(text: str, tokens: list[Token], place: int) -> bool:
    """Tell whether a number ends a name: "Cyberpunk 2077 is", not "Marek 12 hours"."""
    if place + 1 >= len(tokens):
        return True
    between = text[tokens[place].end : tokens[place + 1].start]
    return between != " " or tokens[place + 1].low in _STOP


def _trimmed(text: str, run: list[Token], opens: bool, known: AbstractSet[str], after: Token | None) -> Run | None:
    """Take off what is no part of the name; None when nothing is left that names something."""
    if len(run) > 1 and " ".join(word.low for word in run) in _LISTED:
        return _run(text, run, opens)
    while run and _is_no_start(run, opens):
        run = run[1:]
        opens = False if run and run[0].low not in NOISE else opens
        while run and run[0].low in _JOINING:
            run = run[1:]
    while run and ((run[-1].low in CALENDAR_WORDS and run[0].low not in _HOLIDAYS) or run[-1].low in _JOINING):
        run = run[:-1]
    if not run or (len(run) == 1 and not _names_alone(run[0], opens, known, after)):
        return None
    if all(word.text.isupper() and word.low in NOISE for word in run):
        return None
    return _run(text, run, opens)


def _run(text: str, run: list[Token], opens: bool) -> Run:
    name = " ".join(text[run[0].start : run[-1].end].split())
    return Run(tuple(word.low for word in run), name, run[0].start, run[-1].end, opens)


def _is_no_start(run: list[Token], opens: bool) -> bool:
    token = run[0]
    bare = token.text.casefold()
    if bare in CALENDAR_WORDS:
        return len(run) == 1 or run[1].low not in ("ball", "parade", "fair", "market", "tree")
    if bare == "the" and len(run) > 1 and not opens:
        return False
    if bare == "project" and len(run) > 1:
        return False
    if bare in ("i", "the", "a", "an") or token.text[0].isdigit():
        return True
    if len(run) == 1:
        return bare in _STOP and not (token.text.isupper() and len(bare) > 1 and not opens)
    common = (
        bare in NOISE
        or bare in _STOP
        or (bare.endswith("ing") and (run[1].low in FIRST_NAMES or run[1].low in NATIONAL))
    )
    return common and (opens or bare in _STOP or token.text.isupper())


def _names_alone(token: Token, opens: bool, known: AbstractSet[str], after: Token | None) -> bool:
    bare = token.text.casefold()
    if len(bare) < 2 and bare != "r":
        return False
    if bare in NATIONAL or bare in CALENDAR_WORDS or bare in SHORT_DAYS or bare in HONORIFICS or bare in TOPICS:
        return False
    if bare in TOOLS or bare in ORGANIZATIONS or bare in PLACES:
        return not (opens and bare in NOISE) and bare not in _STOP
    if not opens:
        return bare not in NOISE or (bare in FIRST_NAMES and bare in known)
    if bare in NOISE:
        return False
    if bare in known:
        return not bare.endswith(_ENDS_COMMON)
    if bare in FIRST_NAMES and bare not in ALSO_WORDS:
        return True
    if token.text.isupper() or _CAMEL.match(token.text):
        return 2 <= len(bare) <= 6
    return (
        after is not None
        and not token.ends_run
        and after.low in AFTER_PEOPLE
        and not bare.endswith((*_ENDS_COMMON, "s", "ed", "er", "ion", "ity"))
    )
