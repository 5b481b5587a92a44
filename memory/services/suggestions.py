"""Help for a person who types a search: words that complete it, and other words for those that stand nowhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memory.crypto.keyring import keyring
from memory.models import owner_scope
from memory.recall.document_frequency import document_frequencies
from memory.recall.statistics import owner_statistics
from memory.recall.vocabulary import CORRECTED_FROM, LEAST_LETTERS, MOST_LETTERS, STEPS_AT_ONCE, folded, vocabularies
from memory.services.actors import Actor, Permission
from memory.services.features import require_memory
from memory.text.languages import FUNCTION_WORDS, possible_languages
from memory.text.scripts import MARKS
from memory.text.tokens import quoted_phrases, terms_of_word

MOST_SUGGESTIONS: Final = 8
MOST_CORRECTED: Final = 8
"""Words of one query that are corrected; the others stay as they are."""
MOST_TYPED: Final = 300
"""Characters of a query that are looked at; a longer one is no slip of the pen."""
LEAST_TYPED: Final = 2

_CHAR = rf"(?:[^\W\d_]|[{MARKS}])"
_LAST_WORD = re.compile(rf"(?<![\w@./:\\-]){_CHAR}{{{LEAST_TYPED},{MOST_LETTERS}}}\Z")
_WORD = re.compile(rf"(?<![\w@./:\\-]){_CHAR}{{{CORRECTED_FROM},{MOST_LETTERS}}}(?![\w@/\\]|[.:-]\w)")


def completions(*, actor: Actor, typed: str) -> list[str]:
    """Give what a query that is being typed may become: itself with its last word completed.

    Args:
        actor: who types; the words are those of memories that this one may read.
        typed: the query so far; nothing is offered after a blank, for one letter, and beyond 300 characters.

    Returns:
        At most eight queries, the one with the commonest word first. The list of words grows with every call, the
        ones with nothing to complete too, so that early calls may miss words of older memories.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        words = vocabularies.of(actor.owner_id, actor.readable)
        last = _last_word(typed)
        if last is None:
            return []
        offered = _standing(actor, words.suggest(last.group(), limit=2 * MOST_SUGGESTIONS))[:MOST_SUGGESTIONS]
    return [typed[: last.start()] + word for word in offered]


def completed(*, actor: Actor, typed: str) -> str | None:
    """Give a query with its last word completed to the commonest one, where the word itself stands in no memory.

    None where the last word is known, too short to tell (under three letters), or begins no known word.
    """
    require_memory()
    actor.require(Permission.READ)
    last = _last_word(typed)
    if last is None or len(last.group()) < LEAST_LETTERS or _is_function_word(last.group()):
        return None
    with owner_scope(actor.owner_id):
        if not _unknown(actor, typed, [last.group()]):
            return None
        words = _standing(actor, vocabularies.of(actor.owner_id, actor.readable).suggest(last.group(), limit=3))
    return typed[: last.start()] + words[0] if words else None


def corrected(*, actor: Actor, query: str) -> str | None:
    """Give a query with its unknown words replaced by known ones that are written almost alike.

    A word is unknown when it stands in no memory that the actor may read, in no form. Function words, words in
    quotation marks, identifiers and words under four letters stay as they are.

    Returns:
        The other query, or None where nothing would change.
    """
    require_memory()
    actor.require(Permission.READ)
    if len(query) > MOST_TYPED:
        return None
    quoted = {folded(word) for phrase in quoted_phrases(query) for word in _WORD.findall(phrase)}
    found = [
        match
        for match in _WORD.finditer(query)
        if folded(match.group()) not in quoted and not _is_function_word(match.group())
    ]
    with owner_scope(actor.owner_id):
        unknown = _unknown(actor, query, [match.group() for match in found])
        if not unknown:
            return None
        words = vocabularies.of(actor.owner_id, actor.readable, steps=STEPS_AT_ONCE)
        better = {word: _standing(actor, words.corrections(word, limit=3)) for word in unknown[:MOST_CORRECTED]}
    other = query
    for match in reversed(found):
        if instead := better.get(match.group()):
            other = other[: match.start()] + instead[0] + other[match.end() :]
    return other if other != query else None


def _last_word(typed: str) -> re.Match[str] | None:
    return _LAST_WORD.search(typed) if len(typed) <= MOST_TYPED else None


def _is_function_word(word: str) -> bool:
    return word.casefold() in FUNCTION_WORDS


def _standing(actor: Actor, words: Sequence[str]) -> list[str]:
    """Keep the words that stand in a memory now: the list may still hold some of what was erased or put away."""
    gone = set(_unknown(actor, " ".join(words), words))
    return [word for word in words if word not in gone]


def _unknown(actor: Actor, query: str, words: Sequence[str]) -> list[str]:
    """List the words that no memory holds in any form, by the postings, which are never behind."""
    if not words:
        return []
    languages = possible_languages(query)
    ring = keyring().of(actor.owner_id)
    terms = {word: ring.words(list(terms_of_word(word, languages))) for word in dict.fromkeys(words)}
    every = {term for of_word in terms.values() for term in of_word}
    rows = owner_statistics(actor.owner_id).rows
    known = document_frequencies.of(actor.owner_id, every, rows=rows, scopes=actor.readable)
    return [word for word, of_word in terms.items() if of_word and known.keys().isdisjoint(of_word)]
