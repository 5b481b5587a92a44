"""Finds what a text says led to what."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from memory.consolidation.extraction.clause import Subject, without_openings
from memory.consolidation.extraction.voice import agreeing, retold, statement
from memory.consolidation.extraction.words.openings import HYPOTHETICAL, TO_SOMEBODY
from memory.consolidation.extraction.words.verbs import TURNING_POINTS

LEAST_WORDS: Final = 3

_BECAUSE: Final = re.compile(
    r"\A(?P<effect>.+?),?\s+(?:because\s+of|because|due\s+to|owing\s+to|on\s+account\s+of|"
    r"as\s+a\s+result\s+of)\s+(?P<cause>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_LEADING: Final = re.compile(
    r"\A(?:because(?:\s+of)?|due\s+to|as\s+a\s+result\s+of|owing\s+to)\s+(?P<cause>[^,]+),\s*(?P<effect>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_LED: Final = re.compile(
    r"\A(?P<cause>.+?),?\s+(?:(?:which|that|this)\s+)?(?:led\s+to|leads\s+to|caused|causes|"
    r"resulted\s+in|results\s+in|triggered|brought\s+about|is\s+why|was\s+why)\s+(?P<effect>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_CAUSED_BY: Final = re.compile(
    r"\A(?P<effect>.+?)\s+(?:was|were|is|are|been)\s+(?:caused|triggered)\s+by\s+(?P<cause>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_SO_THAT: Final = re.compile(r"\A(?P<cause>.+?),?\s+so\s+that\s+(?P<effect>.+)\Z", re.IGNORECASE | re.DOTALL)
_RESULT: Final = re.compile(
    r"\A(?:as\s+a\s+result|therefore|consequently|that's\s+why|that\s+is\s+why|this\s+is\s+why|"
    r"for\s+that\s+reason),?\s+(?P<effect>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_INSIDE_RESULT: Final = re.compile(
    r"\A(?P<cause>.+?)[;,]\s+(?:and\s+)?(?:as\s+a\s+result|therefore|consequently),?\s+(?P<effect>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_HINT: Final = re.compile(
    r"because|due to|owing to|account of|result|led to|leads to|cause|trigger|brought about|so that|"
    r"therefore|why|reason",
    re.IGNORECASE,
)
_POINTING: Final = re.compile(
    r"(?:it|it's|it'll|they|they're|they'll|he|she|this|that|these|those|there|let's|let|like|and|or|"
    r"might|was|were|is|are|to|"
    r"so|which|maybe|can|could|would|enjoying|seeing)\b",
    re.IGNORECASE,
)
_HANGING: Final = frozenset({"for", "to", "of", "with", "in", "a", "the", "important", "is", "was"})
_PARTICIPLE: Final = re.compile(r"(?:was|were|is|are|been)\s*\Z", re.IGNORECASE)


class Link(NamedTuple):
    """A cause and its effect, each as a statement, with the words they were read from."""

    cause: str
    effect: str
    cause_said: str
    effect_said: str


def causal_link(sentence: str, *, before: str, speaker: Subject) -> Link | None:
    """Read what led to what.

    Args:
        sentence: no question.
        before: the sentence before it in the same text, for "as a result" and "that's why".
        speaker: who speaks.
    """
    if not _HINT.search(sentence):
        return None
    said = without_openings(sentence)
    if HYPOTHETICAL.search(said) and not said.casefold().startswith("because"):
        return None
    found = _parts(said, before)
    if found is None:
        return None
    cause, effect = (part.strip(" ,.;:!-") for part in found)
    if not _is_whole(cause) or not _is_whole(effect):
        return None
    return Link(_told(cause, speaker), _told(effect, speaker), cause, effect)


def _parts(said: str, before: str) -> tuple[str, str] | None:
    for pattern in (_LEADING, _CAUSED_BY, _INSIDE_RESULT, _BECAUSE, _SO_THAT, _LED):
        match = pattern.match(said)
        if match and not _PARTICIPLE.search(match["cause"] if pattern is _LED else ""):
            return match["cause"], match["effect"]
    match = _RESULT.match(said)
    return (without_openings(before), match["effect"]) if match and before else None


def _is_whole(part: str) -> bool:
    """Tell whether one side says by itself what is meant."""
    words = part.split()
    brief = len(words) == LEAST_WORDS - 1 and words[0] in ("I", "We", "we") and words[1] in TURNING_POINTS
    if (len(words) < LEAST_WORDS and not brief) or words[-1].casefold() in _HANGING or "?" in part:
        return False
    return not (_POINTING.match(part) or TO_SOMEBODY.search(part))


def _told(part: str, speaker: Subject) -> str:
    own = re.match(r"(I've|I'm|I|we've|we're|we|my|our)\s+(.*)\Z", part, re.IGNORECASE | re.DOTALL)
    if own is None:
        return statement(retold(part))
    who, rest = own[1].casefold(), retold(own[2])
    if who in ("my", "our"):
        return statement(f"{speaker.said}'s {rest}")
    name = f"{speaker.said} and others" if who.startswith("we") else speaker.said
    helper = {"i've": "has ", "i'm": "is ", "we've": "have ", "we're": "are "}.get(who, "")
    return statement(f"{name} {helper}{agreeing(rest) if who == 'i' else rest}")
