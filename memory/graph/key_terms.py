"""What a question names: its key terms, and the runs of words that could be the name of an entity."""

from __future__ import annotations

import re
from typing import Final

from memory.graph.names import words
from memory.text.languages import possible_languages
from memory.text.scripts import MARKS, UNSPACED
from memory.text.stopwords import STOP_WORDS
from memory.text.tokens import quoted_phrases

MOST_TERMS: Final = 5
LEAST_LENGTH: Final = 5
"""Letters that a word without a capital needs to count (Prax: more than four)."""

LONGEST_NAME: Final = 5
MOST_NAMES: Final = 200
LONGEST_RUN: Final = 8

# Verbs and nouns of asking, which say how a question is put and not what it is about.
_ASKING: Final = frozenset({"please", "tell", "know", "remember", "recall", "explain", "describe", "there"})
_WORD: Final = re.compile(rf"[^\W\d_][\w{MARKS}-]+")
_UNSPACED_RUN: Final = re.compile(f"[{UNSPACED}]{{2,}}")


def key_terms(question: str, *, most: int = MOST_TERMS) -> list[str]:
    """List what a question is about: quoted phrases first, then words with a capital or more than four letters.

    Function words are left out, the order is kept, and each term is named once whatever its case.
    """
    found: dict[str, str] = {}
    ignored = _function_words(question) | _ASKING
    for phrase in quoted_phrases(question):
        found.setdefault(phrase.casefold(), phrase)
    for word in _WORD.findall(question):
        key = word.casefold()
        if key not in ignored and (len(word) >= LEAST_LENGTH or word[0].isupper()):
            found.setdefault(key, word)
    return list(found.values())[:most]


def possible_names(question: str) -> list[str]:
    """List the runs of up to five words that could be a name, longest first, and parts of text without spaces.

    Single function words are no names here. At most 200 are given, so that a long question costs no more.
    """
    spoken, ignored = words(question), _function_words(question)
    runs = [
        " ".join(spoken[start : start + length])
        for length in range(min(LONGEST_NAME, len(spoken)), 0, -1)
        for start in range(len(spoken) - length + 1)
        if length > 1 or spoken[start] not in ignored
    ]
    unspaced = [
        run[start : start + length]
        for run in _UNSPACED_RUN.findall(question)
        for length in range(min(LONGEST_RUN, len(run)), 1, -1)
        for start in range(len(run) - length + 1)
    ]
    return list(dict.fromkeys([*unspaced[: MOST_NAMES // 2], *runs]))[:MOST_NAMES]


def _function_words(question: str) -> frozenset[str]:
    return frozenset().union(
        *(STOP_WORDS.get(name, frozenset()) for name in ("english", *possible_languages(question)))
    )
