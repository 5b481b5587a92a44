"""Tells what sort of thing a name stands for: its type, and how sure that is."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Final

from memory.consolidation.extraction.runs import Run
from memory.consolidation.extraction.words.noise import AFTER_PEOPLE, BEFORE_PEOPLE, EXCLAMATIONS
from memory.consolidation.extraction.words.people import ALSO_PLACES, FIRST_NAMES, HONORIFICS, RELATIVES
from memory.consolidation.extraction.words.things import (
    NATIONAL,
    ORGANIZATION_WORDS,
    ORGANIZATIONS,
    PLACE_WORDS,
    PLACES,
    TOOLS,
)

_BEFORE: Final = re.compile(r"([^\W\d_]+)([,.!:]?)\s*(?:the\s+)?\Z", re.IGNORECASE)
_AFTER: Final = re.compile(r"\s?([!?.,]?)\s*([^\W\d_]*)")
_PLACING: Final = frozenset({"in", "to", "from", "near", "around", "visit", "visited", "visiting", "leave", "left"})
_EMPLOYING: Final = re.compile(
    r"\b(?:work(?:s|ed|ing)?|job|employed|hired|intern(?:ed|ship)?|sponsored) (?:at|by|for|with) (?:the )?\Z"
)
_MAKING: Final = re.compile(r"\b(?:project|app|repo|repository|codebase|service|startup) (?:called |named |is )?\Z")

Sort = tuple[str, str, float]


def sort_of(run: Run, text: str, people: AbstractSet[str]) -> Sort:
    """Give the type of a name, a narrower sort where one is known, and the confidence."""
    whole = " ".join(run.words)
    bare = run.name.casefold()
    if run.words[0].rstrip(".") in HONORIFICS and len(run.words) > 1 and "of" not in run.words:
        return "person", "", 0.95
    if bare in TOOLS or whole in TOOLS:
        return "tool", "", 0.9
    if bare in ORGANIZATIONS:
        return "organization", "", 0.9
    if bare in PLACES:
        return "concept", "place", 0.9
    if run.words[0] == "project" or run.words[-1] == "project":
        return "project", "", 0.9
    if not ORGANIZATION_WORDS.isdisjoint((run.words[0], run.words[-1])) and len(run.words) > 1:
        return "organization", "", 0.85
    if len(run.words) > 1 and run.words[-1] in PLACE_WORDS:
        return "concept", "place", 0.85
    return _by_surroundings(run, text, people)


def is_told(run: Run, text: str, people: AbstractSet[str]) -> bool:
    """Tell whether a person is known to be one: one who speaks, or whose relative he is."""
    before = _BEFORE.search(text[max(0, run.start - 40) : run.start])
    return run.words[0].removesuffix("'s") in people or (before is not None and before[1].casefold() in RELATIVES)


def _by_surroundings(run: Run, text: str, people: AbstractSet[str]) -> Sort:
    before = _BEFORE.search(text[max(0, run.start - 40) : run.start])
    previous = before[1].casefold() if before else ""
    first = run.words[0].removesuffix("'s")
    joined = "of" in run.words or "the" in run.words
    placed = previous in _PLACING and bool(before) and not (before and before[2])
    if first in people and len(run.words) <= 3:
        return "person", "", 0.95
    if first in FIRST_NAMES and not joined and len(run.words) <= 3 and not (placed and first in ALSO_PLACES):
        return "person", "", 0.9
    if previous in RELATIVES or (len(run.words) == 1 and _is_addressed(run, text, previous, before)):
        return "person", "", 0.85
    nearby = text[max(0, run.start - 40) : run.start]
    if _EMPLOYING.search(nearby):
        return "organization", "", 0.8
    if _MAKING.search(nearby):
        return "project", "", 0.75
    if placed:
        return "concept", "place", 0.75
    return _by_verb(run, text, previous)


def _by_verb(run: Run, text: str, previous: str) -> Sort:
    """Tell a person by what he does: "Marek said", "with Marek and"."""
    following = _AFTER.match(text, run.end)
    word = following[2].casefold() if following and not following[1] else ""
    acts = word in AFTER_PEOPLE - {"has", "was", "is", "would", "will", "made", "took", "got", "did", "does", "works"}
    if len(run.words) <= 2 and run.words[0] not in NATIONAL and acts and not run.name.isupper():
        return "person", "", 0.75
    if len(run.words) == 1 and previous in BEFORE_PEOPLE - {"by", "and", "with", "love", "called"}:
        return "person", "", 0.7
    return "concept", "", 0.75


def _is_addressed(run: Run, text: str, previous: str, before: re.Match[str] | None) -> bool:
    """Tell whether a single name is the one who is spoken to: "Thanks, Mel!", "Hey Jo"."""
    if previous not in EXCLAMATIONS or before is None or before[2] not in ("", ","):
        return False
    following = text[run.end : run.end + 1]
    return following in ("", "!", ",", ".", "?") and run.name[1:].islower()
