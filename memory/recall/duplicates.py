"""Hits that say the same are shown once: a fact and the note it came from, a statement kept in two scopes.

A single word decides what a sentence says ("likes" and "dislikes", "Room 101" and "Room 102", "is" and "is not"), and
so does the order of words, so no share of common words is enough: two texts are the same when nothing differs but
spacing, quotation marks, the punctuation at the edges of words, the case of a sentence's first word, and words that
never change a statement.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from uuid import UUID

# Longer texts are told apart by their hash alone: comparing books is no work for a recall.
LONGEST: Final = 4_000

_HARMLESS: Final = frozenset({"the", "that", "please"})
# A question mark, a percent or currency sign, `+`, `#` and `-` belong to what is said.
_EDGES: Final = ".,;:!\"'“”‘„«»()[]…。，、；：！（）「」『』"
_BULLETS: Final = frozenset({"-", "–", "—", "*", "•", "·"})
_APOSTROPHES: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'"})
_ENDS_SENTENCE: Final = re.compile(r"[.!?…。！？][\"'“”’)\]]*$")

Words: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Saying:
    """What is known of one hit: its text, the keyed hash of it, who says it, and whether it is a turn."""

    memory_id: UUID
    text: str
    content_hash: bytes
    is_turn: bool
    speaker: str | None = None


@dataclass(slots=True)
class Distinct:
    """A hit that is shown, and those that say the same and are not, in the order of their ranks."""

    memory_id: UUID
    also: list[UUID] = field(default_factory=list)


@dataclass(slots=True)
class _Group:
    shown: Distinct
    first: Saying
    # Turns of the group that are shown although they say the same.
    turns: int


def distinct(hits: Sequence[Saying], *, turns_too: bool = False) -> list[Distinct]:
    """Show each statement once: the best-ranked of several stays, with the ids of the others.

    A turn is the same as a statement only when the hash or the text is equal up to spacing, and two turns are never
    the same: two people may say "ok". Statements by two different speakers are two.

    Args:
        hits: opened hits, best first; at most 4,000 characters of a text are compared beyond its hash. Cost is linear
            in their summed length.
        turns_too: show equal turns once as well, as a block of context needs it, when their speakers are the same.

    Returns:
        The hits to show, best first.
    """
    shown: list[Distinct] = []
    exact: dict[bytes, list[_Group]] = {}
    alike: dict[Words, list[_Group]] = {}
    for hit in hits:
        words = _words(hit.text) if not hit.is_turn and len(hit.text) <= LONGEST else ()
        group = _joins(hit, exact.get(bytes(hit.content_hash), ()), turns_too) or _joins(
            hit, alike.get(words, ()) if words else (), turns_too
        )
        if group is not None:
            group.shown.also.append(hit.memory_id)
            continue
        one = Distinct(hit.memory_id)
        shown.append(one)
        made = _Group(one, hit, int(hit.is_turn))
        exact.setdefault(bytes(hit.content_hash), []).append(made)
        if words:
            alike.setdefault(words, []).append(made)
    return shown


def _joins(hit: Saying, groups: Iterable[_Group], turns_too: bool) -> _Group | None:
    """Find the group that a hit belongs to: equally spoken, and not a turn beside a turn."""
    for group in groups:
        two_turns = hit.is_turn and group.turns > 0
        if _same_speaker(hit, group.first) and (turns_too or not two_turns):
            group.turns += hit.is_turn
            return group
    return None


def _same_speaker(one: Saying, other: Saying) -> bool:
    """Tell whether two sayings may be of one speaker; a statement that names none says it for whoever said it."""
    if one.is_turn and other.is_turn:
        return one.speaker == other.speaker
    return not one.speaker or not other.speaker or one.speaker == other.speaker


def _words(text: str) -> Words:
    """Bring a text to what it says; nothing where no word is left."""
    words = []
    begins = True
    for raw in unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).split():
        word = raw.strip(_EDGES)
        if word and word not in _BULLETS:
            # "US" is not "us", and inside a sentence "May" is not "may".
            plain = word.casefold() if begins and not (word.isupper() and len(word) > 1) else word
            if plain not in _HARMLESS:
                words.append(plain)
            begins = False
        begins = begins or bool(_ENDS_SENTENCE.search(raw))
    return tuple(words)
