"""Names of entities: the form in which they are compared, their words, and the keyed hashes that stand for them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from memory.crypto.keyring import OwnerRing
from memory.models import NameKind
from memory.text.scripts import EMOJI, MARKS, UNSPACED, fold_diacritics

MAX_NAME_CHARACTERS: Final = 200
MAX_WORDS: Final = 12
"""Words of one name that are indexed."""

LEAST_PREFIX: Final = 2
MOST_PREFIX: Final = 16
"""Characters of a word's beginning by which it is found; more of them count as the first sixteen."""

_WORD: Final = re.compile(rf"[\w{MARKS}]+|[{EMOJI}]")
_POSSESSIVE: Final = re.compile(r"['’]s\b")
_UNSPACED: Final = re.compile(f"[{UNSPACED}]")


def canonical(name: str) -> str:
    """Give the form in which names are compared: NFKC, without case, optional diacritics and repeated spaces."""
    folded = fold_diacritics(unicodedata.normalize("NFKC", name).casefold())
    return " ".join(folded.split())


def words(name: str) -> list[str]:
    """List the words of a name in their compared form, each once, without the possessive s."""
    return list(dict.fromkeys(_WORD.findall(_POSSESSIVE.sub("", canonical(name)))))


def name_hash(ring: OwnerRing, name: str) -> int:
    """Hash a whole name or alias, whatever its case, diacritics and spaces."""
    return ring.name(f"entity\0{canonical(name)}")


def word_hash(ring: OwnerRing, word: str) -> int:
    """Hash one word of a name, as `words` gives it."""
    return ring.name(f"entity word\0{word}")


def prefix_hash(ring: OwnerRing, prefix: str) -> int:
    """Hash the beginning of a word."""
    return ring.name(f"entity prefix\0{prefix[:MOST_PREFIX]}")


def index_hashes(ring: OwnerRing, names: Iterable[str]) -> set[tuple[int, int]]:
    """List the words and beginnings of words of some names, as pairs of kind and hash."""
    found: set[tuple[int, int]] = set()
    for name in names:
        for word in words(name)[:MAX_WORDS]:
            found.add((int(NameKind.WORD), word_hash(ring, word)))
            for length in range(_least_prefix(word), min(len(word) - 1, MOST_PREFIX) + 1):
                found.add((int(NameKind.PREFIX), prefix_hash(ring, word[:length])))
    return found


def search_hashes(ring: OwnerRing, query: str) -> list[tuple[int, int]]:
    """Give for each word of a search the hashes of it as a whole word and as the beginning of one."""
    return [(word_hash(ring, word), prefix_hash(ring, word)) for word in words(query)[:MAX_WORDS]]


def _least_prefix(word: str) -> int:
    # One sign of these scripts says as much as two letters.
    return 1 if _UNSPACED.match(word) else LEAST_PREFIX
