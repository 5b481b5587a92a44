"""Which communities a question is about, for profiles that raise what belongs to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from memory.ports.reading import reading as connection
from memory.recall import fusion
from memory.recall.candidates import Candidate
from memory.recall.id_arrays import id_array
from memory.recall.named_entities import named_entities
from memory.recall.query import Query

HITS: Final = 5
"""The best hits that say what a question is about which names nothing."""

OF_ENTITIES: Final = """
    SELECT DISTINCT e.community FROM memory_entity e
    WHERE e.owner_id = %(owner)s AND e.id = ANY(%(ids)s::uuid[]) AND e.community IS NOT NULL {scope}
"""


def asked_about(query: Query, candidates: Mapping[UUID, Candidate], scores: Mapping[UUID, float]) -> frozenset[int]:
    """Give the communities of the entities that a question names; where these have none, that of most of the best hits.

    An entity of whose name the question has only a word counts where no other is named. Of communities that hold
    equally many of the five best hits, the one of the better hit is meant. Three statements at most.

    Args:
        query: within its owner's scope. Entities and candidates of other scopes say nothing.
        candidates: those that the query may find.
        scores: before decay and boosts; what is not among the candidates is passed over.
    """
    return _of_entities(query) or _of_hits(candidates, scores)


def _of_entities(query: Query) -> frozenset[int]:
    mentioned = named_entities(query)
    if not mentioned:
        return frozenset()
    most = max(one.weight for one in mentioned)
    scope = "" if query.scopes is None else "AND e.scope = ANY(%(scopes)s::uuid[])"
    with connection.cursor() as cursor:
        cursor.execute(
            OF_ENTITIES.format(scope=scope),
            {
                "owner": query.owner_id,
                "ids": id_array(one.entity_id for one in mentioned if one.weight == most),
                "scopes": list(query.scopes or ()),
            },
        )
        return frozenset(row[0] for row in cursor.fetchall())


def _of_hits(candidates: Mapping[UUID, Candidate], scores: Mapping[UUID, float]) -> frozenset[int]:
    known = {one: score for one, score in scores.items() if one in candidates}
    best: Sequence[UUID] = fusion.ranking(known)[:HITS]
    counts = Counter(found for one in best if (found := candidates[one].community) is not None)
    return frozenset(number for number, _ in counts.most_common(1))
