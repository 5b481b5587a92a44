"""The entities that a question names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.graph.key_terms import key_terms, possible_names
from memory.graph.names import name_hash, word_hash, words
from memory.graph.traversal import named
from memory.models import NameKind
from memory.recall.query import Query

MOST_ENTITIES: Final = 15
"""Entities that a question names, those that tell most first."""

WHOLE: Final = 1.0
BY_WORD: Final = 0.5
"""What an entity counts of which the question has the whole name, or only a word."""


@dataclass(frozen=True, slots=True)
class Mentioned:
    """An entity that a question names, and what it counts: less where only a word of its name is there."""

    entity_id: UUID
    weight: float
    mentions: int


def named_entities(query: Query) -> list[Mentioned]:
    """Find the entities whose name stands in a question, those named whole first, then those least spoken of.

    Args:
        query: within its owner's scope; only entities that it may find are looked at.
    """
    ring = keyring().of(query.owner_id)
    terms = key_terms(query.text)
    whole = {name_hash(ring, name) for name in (*terms, *possible_names(query.text))}
    parts = {word_hash(ring, word) for term in terms for word in words(term)}
    if not whole | parts:
        return []
    found = named(whole | parts, kinds=(NameKind.CANONICAL, NameKind.ALIAS, NameKind.WORD), scopes=query.scopes)
    best: dict[UUID, Mentioned] = {}
    for ones in found.values():
        for one in ones:
            weight = BY_WORD if one.kind == NameKind.WORD else WHOLE
            if one.entity_id not in best or weight > best[one.entity_id].weight:
                best[one.entity_id] = Mentioned(one.entity_id, weight, one.mention_count)
    order = sorted(best.values(), key=lambda one: (-one.weight, one.mentions, one.entity_id))
    return order[:MOST_ENTITIES]
