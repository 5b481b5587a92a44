"""Quoted phrases of a query, checked on opened texts: the postings keep no positions.

A phrase in quotation marks is a wish and no filter: what holds it as written comes before what does not.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from memory.errors import KeysUnavailable
from memory.models import Memory
from memory.text.scripts import MARKS, UNSPACED, fold_diacritics
from memory.text.tokens import quoted_phrases

logger = logging.getLogger(__name__)

MOST_OPENED: Final = 200
"""Candidates whose texts are opened for one query, about 20 microseconds each."""
MOST_PHRASES: Final = 8
"""Phrases of one query that are looked for."""
SEARCHED_CHARACTERS: Final = 20_000
"""Characters at the beginning of a text in which phrases are looked for."""

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "\u00ad": None})
# A character within a word of a script with spaces. Without spaces words have no edges that could be seen.
_IN_WORD = re.compile(rf"[^\W{UNSPACED}]|[{MARKS}]")


def phrases_of(query: str) -> tuple[str, ...]:
    """List what stands in quotation marks in a query, at most eight phrases."""
    return tuple(quoted_phrases(query)[:MOST_PHRASES])


def contains_phrase(text: str, phrases: Iterable[str]) -> int:
    """Count how many of some phrases stand in a text as written.

    Case, diacritics, the width of characters and the kind of white space do not matter. A phrase begins and ends
    where words do, in scripts that have spaces.

    Args:
        text: any text; its first 20,000 characters are searched.
        phrases: as `phrases_of` gives them.
    """
    return _count(text, [_flat(phrase) for phrase in phrases])


def phrase_counts(memory_ids: Sequence[UUID], phrases: Sequence[str]) -> dict[UUID, int]:
    """Count the phrases in the texts of candidates; run it in the owner's scope.

    Args:
        memory_ids: candidates the caller may read, best first; those after the first 200 are not opened.
        phrases: as `phrases_of` gives them; without any, nothing is opened.

    Returns:
        Counts above zero. A row whose text does not open counts for nothing, and that is logged by its id.
    """
    wanted = [_flat(phrase) for phrase in phrases[:MOST_PHRASES]]
    if not wanted or not memory_ids:
        return {}
    rows = Memory.objects.filter(pk__in=list(memory_ids[:MOST_OPENED]))
    counts: dict[UUID, int] = {}
    for row in rows.only("id", "owner_id", "visibility", "agent_id", "text"):
        try:
            text = row.text
        except KeysUnavailable:
            logger.error("memory %s does not open with its owner's key", row.pk)
            continue
        if count := _count(text, wanted):
            counts[row.pk] = count
    return counts


def _count(text: str, phrases: Sequence[str]) -> int:
    flat = _flat(text[:SEARCHED_CHARACTERS]) if phrases else ""
    return sum(_holds(flat, phrase) for phrase in phrases)


def _holds(text: str, phrase: str) -> bool:
    """Tell whether a phrase stands somewhere in a text without cutting a word in two."""
    at = text.find(phrase) if phrase else -1
    while at >= 0:
        end = at + len(phrase)
        if not (_cuts(text, at) or _cuts(text, end)):
            return True
        at = text.find(phrase, at + 1)
    return False


def _cuts(text: str, at: int) -> bool:
    """Tell whether the place between two characters lies inside a word."""
    if not 0 < at < len(text):
        return False
    return _IN_WORD.match(text[at - 1]) is not None and _IN_WORD.match(text[at]) is not None


def _flat(text: str) -> str:
    """Bring a text to the form in which phrases are compared."""
    if not text.isascii():
        text = fold_diacritics(unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).casefold())
    return " ".join(text.casefold().split())
