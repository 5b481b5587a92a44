"""Quoted phrases of a query, checked on opened texts: the postings keep no positions.

A phrase in quotation marks is a wish and no filter: what holds it as written comes before what does not.
"""

from __future__ import annotations

import logging
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Sequence
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
MOST_SECONDS: Final = 0.5
LONGEST_PHRASE: Final = 200
"""Characters of a phrase; a longer one is looked for by its beginning."""
SEARCHED_CHARACTERS: Final = 20_000
"""Characters at the beginning of a text in which phrases are looked for."""

_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "\u00ad": None})
# A character within a word of a script with spaces. Without spaces words have no edges that could be seen.
_IN_WORD = re.compile(rf"[^\W{UNSPACED}]|[{MARKS}]")
_BETWEEN_WORDS = re.compile(rf"(?![^\W{UNSPACED}])(?![{MARKS}]).", re.DOTALL)


def phrases_of(query: str) -> tuple[str, ...]:
    """List what stands in quotation marks in a query, at most eight phrases."""
    return tuple(phrase[:LONGEST_PHRASE] for phrase in quoted_phrases(query)[:MOST_PHRASES])


def contains_phrase(text: str, phrases: Iterable[str]) -> int:
    """Count how many of some phrases stand in a text as written.

    Case, diacritics, the width of characters and the kind of white space do not matter. A phrase begins and ends
    where words do, in scripts that have spaces.

    Args:
        text: any text; its first 20,000 characters are searched.
        phrases: as `phrases_of` gives them.
    """
    flat = _flat(text[:SEARCHED_CHARACTERS])
    return sum(_holds(flat, _flat(phrase)) for phrase in phrases)


def phrase_counts(
    memory_ids: Sequence[UUID], phrases: Sequence[str], *, monotonic: Callable[[], float] = time.monotonic
) -> dict[UUID, int]:
    """Count the phrases in the texts of candidates; run it in the owner's scope.

    Args:
        memory_ids: candidates the caller may read, best first; those after the first 200 are not opened.
        phrases: as `phrases_of` gives them; without any, nothing is opened.
        monotonic: gives seconds. After half a second the rest is not looked at, since the owner's transaction waits.

    Returns:
        Counts above zero. A row whose text does not open counts for nothing, and that is logged by its id.
    """
    if not phrases or not memory_ids:
        return {}
    rows = Memory.objects.filter(pk__in=list(memory_ids[:MOST_OPENED]))
    counts: dict[UUID, int] = {}
    until = monotonic() + MOST_SECONDS
    for row in rows.only("id", "owner_id", "visibility", "agent_id", "text"):
        if monotonic() > until:
            logger.warning("quoted phrases were looked for in some candidates only")
            break
        try:
            text = row.text
        except KeysUnavailable:
            logger.error("memory %s does not open with its owner's key", row.pk)
            continue
        if count := contains_phrase(text, phrases[:MOST_PHRASES]):
            counts[row.pk] = count
    return counts


def _holds(text: str, phrase: str) -> bool:
    """Tell whether a phrase stands somewhere in a text without cutting a word in two."""
    at = text.find(phrase) if phrase else -1
    while at >= 0:
        if _cuts(text, at):
            # Inside this word it can begin nowhere: looking at each of its letters would be quadratic.
            at = text.find(phrase, _end_of_word(text, at))
            continue
        if not _cuts(text, at + len(phrase)):
            return True
        at = text.find(phrase, at + 1)
    return False


def _end_of_word(text: str, at: int) -> int:
    """Give the first place from which on a word may begin, behind the one that holds a character."""
    gap = _BETWEEN_WORDS.search(text, at)
    return gap.start() if gap else len(text)


def _cuts(text: str, at: int) -> bool:
    """Tell whether the place between two characters lies inside a word."""
    if not 0 < at < len(text):
        return False
    return _IN_WORD.match(text[at - 1]) is not None and _IN_WORD.match(text[at]) is not None


def _flat(text: str) -> str:
    """Bring a text to the form in which phrases are compared."""
    if not text.isascii():
        longest = 2 * len(text)
        # Some signs are a whole sentence in normal form.
        text = fold_diacritics(unicodedata.normalize("NFKC", text.translate(_APOSTROPHES))[:longest].casefold())
    return " ".join(text.casefold().split())
