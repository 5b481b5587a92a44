"""Writes out what is drawn together at the head of a clause: "I've lived", "my sister's been living"."""

from __future__ import annotations

import re
from typing import Final

from memory.consolidation.extraction.words.openings import ADVERBS
from memory.consolidation.extraction.words.people import RELATIVES
from memory.consolidation.extraction.words.verbs import FORMS

_PRONOUN: Final = re.compile(r"\A(I|we|he|she)'(m|ve|re|s)\b", re.IGNORECASE)
_EXPANDED: Final = {"m": "am", "ve": "have", "re": "are", "s": "is"}
_RELATIVE: Final = re.compile(
    r"\A((?:my|our)\s+(?:[a-z]+\s+)?"
    rf"(?:{'|'.join(sorted(RELATIVES, key=len, reverse=True))})(?:,?\s+(?-i:[A-Z])[\w-]+)?)'s\s+(.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_IS: Final = re.compile(r"(?:an?|our|my|the|from|allergic|not|into|based|married|\d)\b", re.IGNORECASE)
_AFTER_GOING: Final = re.compile(r"(?:in|at|for|with|on|to|as|from|near|an?|the)\b", re.IGNORECASE)


def written_out(clause: str) -> str:
    """Write out the verb that is drawn together with the subject, so that it can be read; anything else is as it was.

    "He's" may be "he has": where a form of the past follows it is read so.
    """
    if match := _PRONOUN.match(clause):
        rest = clause[match.end() :]
        verb = verb_of(rest.strip()) if match[2].casefold() == "s" else ""
        return f"{match[1]} {verb or _EXPANDED[match[2].casefold()]}{rest}"
    if (match := _RELATIVE.match(clause)) and (verb := verb_of(match[2])):
        return f"{match[1]} {verb} {match[2]}"
    return clause


def verb_of(rest: str) -> str:
    """Tell which verb "'s" stands for before a text: `is` or `has`; empty where it may show whose something is."""
    words = rest.split()
    while len(words) > 1 and words[0].casefold() in ADVERBS:
        words.pop(0)
    if not words:
        return ""
    first, following = words[0].casefold(), " ".join(words[1:3])
    if first in ("been", "got"):
        return "has"
    tense = FORMS.get(first, ("", ""))[1]
    if tense == "past" and _AFTER_GOING.match(following):
        return "has"
    if _IS.match(" ".join(words)) or (tense == "going" and _AFTER_GOING.match(following)):
        return "is"
    return ""
