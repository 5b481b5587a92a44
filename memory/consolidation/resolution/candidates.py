"""Which stored entities a name may mean, by keyed words and beginnings of words; no name is opened for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from django.db import connection

from memory.consolidation.resolution.vocabulary import short_forms_of
from memory.crypto.keyring import OwnerRing
from memory.graph.names import canonical, prefix_hash, word_hash, words
from memory.models import EntityType, NameKind, current_owner

MOST_LOOKED_UP: Final = 24
"""Words and beginnings by which one name is looked for."""

MOST_OF_A_WORD: Final = 100
"""Newest entities that one word may bring in: a word that half of the graph has must not cost more than others."""

MOST_CANDIDATES: Final = 10
"""Entities whose names are opened for one name, those that share the most words with it."""

_CAMEL: Final = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_SPELLED_OUT: Final = (("ae", "a"), ("oe", "o"), ("ue", "u"))
_GERMAN: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})

FOUND: Final = """
    SELECT place, entity_id FROM (
        SELECT w.place, n.entity_id,
               row_number() OVER (PARTITION BY w.place ORDER BY sum(w.weight) DESC, n.entity_id DESC) AS rank
        FROM unnest(%(places)s::integer[], %(kinds)s::smallint[], %(names)s::bigint[], %(types)s::text[],
                    %(weights)s::integer[]) AS w (place, kind, name, type, weight)
        CROSS JOIN LATERAL (
            SELECT x.entity_id FROM memory_entityname x
            WHERE x.owner_id = %(owner)s AND x.kind = w.kind AND x.name = w.name
              AND x.scope = %(scope)s AND x.type = w.type
            ORDER BY x.entity_id DESC LIMIT %(each)s
        ) n GROUP BY w.place, n.entity_id
    ) ranked WHERE rank <= %(most)s ORDER BY place, rank
"""


def lookups(name: str, type_: str) -> list[tuple[NameKind, str]]:
    """Give the words and beginnings of words by which a name is looked for, the most telling first."""
    found: dict[tuple[NameKind, str], None] = {}
    own = [word for word in words(name) if not word.isdigit()] or words(name)
    long = [word for word in own if len(word) > 1] or own
    for word in long:
        found[NameKind.WORD, word] = None
    if len(own) > 1:
        found[NameKind.WORD, "".join(words(name))] = None
    for part in (canonical(part) for part in _CAMEL.sub(" ", name).split()):
        found.setdefault((NameKind.WORD, part))
    for word in long:
        for other in _spellings(word, type_):
            found.setdefault((NameKind.WORD, other))
    for word in words(name.casefold().translate(_GERMAN)):
        found.setdefault((NameKind.WORD, word))
    for word in long:
        beginning = word[: min(4, max(2, len(word) - 2))]
        if len(word) > 3:
            found[NameKind.PREFIX, beginning] = None
            found.setdefault((NameKind.WORD, beginning))
    return list(found)[:MOST_LOOKED_UP]


def candidates(ring: OwnerRing, wanted: Mapping[int, tuple[str, str]], *, scope: UUID) -> dict[int, list[UUID]]:
    """Find for each name the stored entities of its type that share words with it, the most likely first.

    Args:
        ring: the owner's keys.
        wanted: name and type by a place of the caller's.
        scope: the scope whose entities count.

    Returns:
        At most ten entities for each place that has any; one statement for all.
    """
    if not wanted:
        return {}
    rows = [
        (place, int(kind), _hashed(ring, kind, word), type_, 2 if kind == NameKind.WORD else 1)
        for place, (name, type_) in sorted(wanted.items())
        for kind, word in lookups(name, type_)
    ]
    columns: Sequence[list[object]] = [list(column) for column in zip(*rows, strict=True)] or [[]] * 5
    with connection.cursor() as cursor:
        cursor.execute(
            FOUND,
            {
                **dict(zip(("places", "kinds", "names", "types", "weights"), columns, strict=True)),
                "owner": current_owner(),
                "scope": scope,
                "each": MOST_OF_A_WORD,
                "most": MOST_CANDIDATES,
            },
        )
        found: dict[int, list[UUID]] = {}
        for place, entity_id in cursor.fetchall():
            found.setdefault(place, []).append(entity_id)
    return found


def _hashed(ring: OwnerRing, kind: NameKind, word: str) -> int:
    return word_hash(ring, word) if kind == NameKind.WORD else prefix_hash(ring, word)


def _spellings(word: str, type_: str) -> set[str]:
    found = {word.replace(spelled, plain) for spelled, plain in _SPELLED_OUT}
    if type_ == EntityType.PERSON:
        found |= short_forms_of(word)
    return found
