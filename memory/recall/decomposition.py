"""Decomposition: a question that asks several things, as one to three questions that each ask one; no model is asked.

Being wrong costs more than doing nothing, so a question is only split where its form leaves no doubt: several
questions in a row, a second question word after "and", two things that somebody has, or two things to compare. Names
("Simon and Garfunkel"), pairs ("salt and pepper") and spans ("between March and May") stay whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from memory.text.timewords import CALENDAR_WORDS
from memory.text.tokens import query_terms

MOST_PARTS: Final = 3
# A longer text is a message, not a question.
LONGEST: Final = 600

_AND: Final = r"(?:and|und|y|et)"
_ASKING: Final = (
    r"(?:what|who|whom|whose|which|when|where|why|how"
    r"|wer|wen|wem|wessen|was|wann|wo|wohin|woher|warum|wieso|wie|welche[rsmn]?"
    r"|qué|quién(?:es)?|cuándo|dónde|adónde|cómo|cuál(?:es)?|cuánt[oa]s?|por qué"
    r"|qui|quand|où|pourquoi|comment|combien|quel(?:le)?s?)"
)
_QUESTION_END: Final = re.compile(r"[?？]+[\"”’')]*\s*")
_SENTENCE_END: Final = re.compile(r"(?<=[.!。！])(?<!\b[A-Z]\.)(?<!\b(?:Dr|Mr|Ms|St|vs)\.)(?<!\bMrs\.)\s+(?=\S)")
_SECOND_QUESTION: Final = re.compile(rf"[,;]?\s+{_AND}\s+(?:also\s+|auch\s+|también\s+|aussi\s+)?(?={_ASKING}\b)", re.I)
# "When did …", "Do you remember when …"; "the who" is no question.
_ASKS_EARLY: Final = re.compile(rf"(?:[\w,]+\s+){{0,4}}?(?<!\bthe\s){_ASKING}\b(?=.*\w)", re.IGNORECASE)
_POSSESSIVE: Final = r"(?:my|your|his|her|its|our|their|[A-Z]\w*(?:'s|’s|s'|s’))"
# "What are Tom's allergies and his shoe size": both things belong to somebody, and both are named.
_TWO_THINGS: Final = re.compile(
    r"^(?P<head>(?:[Ww]hat|[Ww]ho|[Ww]here|[Ww]hich)(?:'s|’s|\s+(?:is|are|was|were))\s+)"
    rf"(?P<first>{_POSSESSIVE}\s+(?:(?!{_AND}\b)[\w'’-]+\s+){{1,4}}){_AND}\s+"
    rf"(?P<second>{_POSSESSIVE}\s+[\w'’-]+(?:\s+[\w'’-]+){{0,3}})\s*[?.!]*$"
)
_COMPARISON: Final = re.compile(
    r"\b(?:compar(?:e|ing|ison of|a)|vergleich(?:e|en)?|compare[rz]?|(?:difference|differences) between"
    r"|unterschiede? zwischen|diferencias? entre|différences? entre)\s+(?P<rest>.+?)\s*[?.!]*$",
    re.IGNORECASE,
)
_WITH: Final = re.compile(r"\s+(?:with|to|against|versus|vs\.?|mit|con|avec|à)\s+", re.IGNORECASE)
_BETWEEN: Final = re.compile(rf"\s+{_AND}\s+", re.IGNORECASE)
_QUOTED: Final = re.compile(r'"[^"]*"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」')

_NAME: Final = re.compile(r"(?<![.?!]\s)(?<!^)\b[A-Z][a-zà-öø-ÿ]+(?:\s+[A-Z][a-zà-öø-ÿ]+)*")
_POINTS_BACK: Final = re.compile(r"\b(he|she|him|his|her|hers)\b", re.IGNORECASE)
_OWNED: Final = re.compile(r"\b(?:his|her)\b(?=\s+\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundBy:
    """A hit of merged rankings: `queries` found it, 0 being the whole question and 1 the first of its parts."""

    memory_id: UUID
    queries: tuple[int, ...]


def decompose(query: str) -> list[str]:
    """Split a question that asks several things.

    In a later part "he", "she", "his" and "her" become the one name that the question holds before it, since the part
    is looked for on its own.

    Args:
        query: any question; cost is linear in its length.

    Returns:
        Two or three questions, or a list with the question itself where it asks one thing, or cannot safely be split.
    """
    text = " ".join(query.split())
    if not text or len(text) > LONGEST:
        return [query]
    # Quoted words are looked for as they are; blanked, they cannot be where a question is split.
    masked = _QUOTED.sub(lambda match: "\x00" * len(match.group()), text)
    for split in (_questions, _second_questions, _two_things, _compared):
        parts = [part for part in split(text, masked) if part]
        if len(parts) > 1:
            return _with_names(parts[:MOST_PARTS])
    return [query]


def interleave(rankings: Sequence[Sequence[UUID]], *, limit: int) -> list[FoundBy]:
    """Merge the rankings of a whole question and of its parts by turns: the best of each, then the second of each.

    Each part so gets its best hits shown, which a sum of reciprocal ranks would bury under those that every part
    finds a little.

    Args:
        rankings: the whole question's first, each best first.
        limit: most hits to give back.
    """
    found: dict[UUID, list[int]] = {}
    for asked, ranking in enumerate(rankings):
        for memory_id in ranking:
            found.setdefault(memory_id, []).append(asked)
    order: dict[UUID, None] = {}
    for rank in range(max((len(ranking) for ranking in rankings), default=0)):
        for ranking in rankings:
            if rank < len(ranking):
                order[ranking[rank]] = None
    return [FoundBy(memory_id, tuple(dict.fromkeys(found[memory_id]))) for memory_id in list(order)[:limit]]


def _questions(text: str, masked: str) -> list[str]:
    """Give the questions of a text of several sentences; statements between them are left out."""
    parts = []
    start = 0
    for end in _QUESTION_END.finditer(masked):
        sentences = _SENTENCE_END.split(text[start : end.end()].strip())
        parts.append(sentences[-1])
        start = end.end()
    parts = [part for part in parts if _says_something(part)]
    if len(parts) != 1:
        return parts
    return _second_questions(parts[0], _QUOTED.sub(lambda match: "\x00" * len(match.group()), parts[0]))


def _second_questions(text: str, masked: str) -> list[str]:
    """Split before each "and" that a question word follows, when every piece asks for something by itself."""
    pieces = []
    start = 0
    for found in _SECOND_QUESTION.finditer(masked):
        pieces.append(text[start : found.start()])
        start = found.end()
    pieces.append(text[start:])
    asks = _ASKS_EARLY.match(pieces[0].lstrip("¿¡ ")) is not None
    return pieces if asks and all(_says_something(piece) for piece in pieces) else [text]


def _two_things(text: str, masked: str) -> list[str]:
    found = _TWO_THINGS.match(masked)
    if not found or "\x00" in masked or re.search(r"(?:'s|’s|s'|s’)\s*$", found["first"]):
        return [text]
    return [f"{found['head']}{found['first'].strip()}?", f"{found['head']}{found['second'].strip()}?"]


def _compared(text: str, masked: str) -> list[str]:
    """Give the two things that are compared, unless they are days, months or numbers, which bound a span."""
    found = _COMPARISON.search(masked)
    if not found:
        versus = re.fullmatch(r"(\S.*?)\s+(?:vs\.?|versus)\s+(.*?\S)\s*[?.!]*", masked, re.IGNORECASE)
        spans = [versus.span(1), versus.span(2)] if versus else []
    else:
        start, rest = found.start("rest"), found["rest"]
        joints = list(_WITH.finditer(rest)) or list(_BETWEEN.finditer(rest))
        if len(joints) != 1:
            return [text]
        spans = [(start, start + joints[0].start()), (start + joints[0].end(), start + len(rest))]
    sides = [text[start:end].strip() for start, end in spans]
    if any(not _says_something(side) or _names_a_time(side) for side in sides):
        return [text]
    return sides


def _says_something(part: str) -> bool:
    """Tell whether a piece holds a word to look for, besides function words and question words."""
    terms = query_terms(part, keep_stop_words=False)
    asking = re.compile(rf"{_ASKING}|he|she|it|they|did|do|does|is|are|was|were|him|her", re.IGNORECASE)
    return any(not asking.fullmatch(term) for term in terms) and not asking.fullmatch(part.strip(" ?.,"))


def _names_a_time(side: str) -> bool:
    words = [word.strip(".,").casefold() for word in side.split()]
    return any(word in CALENDAR_WORDS or word[:1].isdigit() for word in words)


def _with_names(parts: list[str]) -> list[str]:
    """Put the one name that stood before in place of a pronoun."""
    resolved: list[str] = []
    for part in parts:
        before = {re.sub(r"(?:'s|’s)$", "", name) for earlier in resolved for name in _names(earlier)}
        if len(before) == 1 and not _names(part):
            name = before.pop()
            part = _OWNED.sub(f"{name}'s", part)
            part = _POINTS_BACK.sub(name, part)
        resolved.append(part)
    return resolved


def _names(part: str) -> list[str]:
    return [match.group() for match in _NAME.finditer(part)]
