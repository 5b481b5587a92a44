"""The graph arm: memories that speak of what a question names, and of what that stands in relation to.

There are three ways, by profile. `walk` starts from the entities that the question names and from what the other arms
found best, and walks over relations, mentions and links at once (personalised PageRank). It does so for questions that
ask for several things only: what answers the others is found without it, and further candidates only disturb. `hop`
takes one step over the heaviest relations and gives the memories that mention what is reached, rare entities first.
`prax` does what Prax has published: key terms, three entities each, their neighbours, and the memories of all these by
meaning.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.crypto.keyring import OwnerRing, keyring
from memory.graph.adjacency import Adjacency, adjacencies
from memory.graph.key_terms import key_terms
from memory.graph.names import name_hash, word_hash, words
from memory.graph.pagerank import DAMPING, personalised
from memory.graph.traversal import View, named, one_hop
from memory.models import NameKind, Status
from memory.ports.reading import reading as connection
from memory.recall import dense
from memory.recall.id_arrays import id_array
from memory.recall.named_entities import Mentioned, named_entities
from memory.recall.query import Query
from memory.recall.several import asks_for_several

MOST_EDGES: Final = 1_000_000
"""A graph of more edges is not walked, since reading it takes longer than an arm may; one step is taken instead."""

WALKED_TO: Final = 20
"""Memories that a walk brings in as candidates; how near it comes to all the others is known too."""

OF_HITS: Final = 0.8
"""The share of the walk that begins at the best hits of the other arms; the rest begins at what the question names."""

EACH_TERM: Final = 3
NEIGHBOURS: Final = 5
OVERLAP_BOOST: Final = 0.2
"""Of Prax: entities of a key term, neighbours of each, and what each shared entity adds to a score."""

NEAR: Final = 0.5
"""What a neighbour over a relation of full weight counts beside what the question names."""

MOST_MENTIONS: Final = 100
"""Memories looked at for one entity, the newest first, so that a hub costs no more than another."""

STATE: Final = """
    SELECT g.version, coalesce((SELECT c.edges FROM memory_communitystate c WHERE c.owner_id = g.owner_id), 0)
    FROM memory_graphstate g WHERE g.owner_id = %(owner)s
"""
MENTIONING: Final = """
    SELECT n.memory_id, sum(f.weight), count(*)
    FROM unnest(%(entities)s::uuid[], %(weights)s::float8[]) AS f (id, weight)
    CROSS JOIN LATERAL (
        SELECT x.memory_id FROM memory_entitymention x
        JOIN memory_memory m ON m.owner_id = x.owner_id AND m.id = x.memory_id AND m.status = %(live)s {where}
        WHERE x.owner_id = %(owner)s AND x.entity_id = f.id ORDER BY x.memory_id DESC LIMIT %(each)s
    ) n GROUP BY n.memory_id ORDER BY sum(f.weight) DESC, n.memory_id DESC LIMIT %(most)s
"""
ALLOWED: Final = """
    SELECT m.id FROM memory_memory m
    WHERE m.owner_id = %(owner)s AND m.id = ANY(%(ids)s::uuid[]) AND m.status = %(live)s {where}
"""

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk that can be begun anew: the graph, and how much of it begins at each entity that the question names."""

    adjacency: Adjacency
    entities: Numbers

    def nearness(self, hits: Mapping[UUID, float]) -> Numbers:
        """Give how near each node is to what the question names and to some memories, without what only begins there.

        Args:
            hits: memories from which a part of the walk begins, by their shares; those without an edge have none.
        """
        places = self.adjacency.places(list(hits), memories=True)
        shares = np.zeros(self.adjacency.nodes)
        known = places >= 0
        shares[places[known]] = np.array(list(hits.values()), dtype=np.float64)[known]
        parts = [(part, share) for part, share in ((shares, OF_HITS), (self.entities, 1 - OF_HITS)) if part.sum() > 0]
        if not parts:
            return shares
        seeds: Numbers = np.sum([share * part / part.sum() for part, share in parts], axis=0)
        seeds /= seeds.sum()
        walked = personalised(self.adjacency, seeds)
        # What returns to a hit counts, that it was a hit does not: the other arms have said so.
        arrived: Numbers = np.maximum(walked - (1 - DAMPING) * seeds, 0.0)
        return arrived

    def of(self, nearness: Numbers, memory_ids: Sequence[UUID]) -> dict[UUID, float]:
        """Pick the nearness of memories; those that no edge reaches are left out."""
        places = self.adjacency.places(memory_ids, memories=True)
        return {
            memory_id: float(nearness[place])
            for memory_id, place in zip(memory_ids, places.tolist(), strict=True)
            if place >= 0 and nearness[place] > 0
        }

    def best(self, nearness: Numbers, most: int) -> list[UUID]:
        """List the memories that are nearest, nearest first."""
        start = self.adjacency.entities
        part = nearness[start:]
        order = np.argsort(-part, kind="stable")[:most]
        return self.adjacency.uuids((order[part[order] > 0] + start).tolist())


@dataclass(frozen=True, slots=True)
class Answer:
    """What the arm found, best first, and the walk that it took, where it took one."""

    rows: dict[UUID, float]
    walk: Walk | None = None
    nearness: Numbers | None = None

    def of(self, memory_ids: Sequence[UUID]) -> dict[UUID, float]:
        """Give the scores of further memories, which only a walk has."""
        if self.walk is None or self.nearness is None:
            return {}
        return self.walk.of(self.nearness, memory_ids)


def concerned(query: Query, way: str) -> bool:
    """Tell whether the arm has anything to say to a question, so that nothing is read where it has not."""
    return way != "walk" or asks_for_several(query.text)


def search(query: Query, way: str, hits: Mapping[UUID, float], *, limit: int, rows: int) -> Answer:
    """Give the memories that the graph leads to from what a question names, best first.

    Args:
        query: within its owner's scope.
        way: `walk`, `hop` or `prax`.
        hits: what the other arms found best, with shares; a walk begins there too.
        limit: most memories.
        rows: how many memories the owner has.
    """
    if way == "prax":
        return Answer(_by_meaning(query, limit))
    with connection.cursor() as cursor:
        cursor.execute(STATE, {"owner": query.owner_id})
        version, edges = cursor.fetchone() or (0, 0)
    if not version:
        return Answer({})
    entities = named_entities(query)
    if way == "hop":
        return Answer(_one_step(query, entities, limit, rows))
    most = min(limit, WALKED_TO)
    if edges > MOST_EDGES:
        return Answer(_one_step(query, entities, most, rows))
    return _walked(query, entities, hits, version, most)


def _walked(
    query: Query, entities: Sequence[Mentioned], hits: Mapping[UUID, float], version: int, limit: int
) -> Answer:
    adjacency = adjacencies.of(scopes=query.scopes, version=version)
    places = adjacency.places([one.entity_id for one in entities], memories=False)
    begins = np.zeros(adjacency.nodes)
    for one, place in zip(entities, places.tolist(), strict=True):
        if place >= 0:
            begins[place] = one.weight * adjacency.idf[place]
    walk = Walk(adjacency, begins)
    nearness = walk.nearness(hits)
    best = walk.best(nearness, limit)
    allowed = _allowed(query, best)
    return Answer(walk.of(nearness, [one for one in best if one in allowed]), walk, nearness)


def _one_step(query: Query, entities: Sequence[Mentioned], limit: int, rows: int) -> dict[UUID, float]:
    """Take one step over the heaviest relations, and give the memories that mention what is reached.

    An entity counts ln((n + 1) / (mentions + 0.5)) of n memories, so that one that is mentioned everywhere counts
    hardly anything.
    """
    if not entities:
        return {}
    reached = {one.entity_id: one.weight * _telling(one.mentions, rows) for one in entities}
    view = View(query.scopes, valid_at=query.now)
    ids = list(reached)
    for _, via, other, weight in one_hop(ids, view=view, each=NEIGHBOURS, most=NEIGHBOURS * len(ids)):
        if other not in ids:
            reached[other] = max(reached.get(other, 0.0), NEAR * weight * reached[via])
    telling = {one: weight for one, weight in reached.items() if weight > 0}
    return {memory_id: score for memory_id, score, _ in _mentioning(query, telling, limit)}


def _telling(mentions: int, rows: int) -> float:
    return max(0.0, math.log((rows + 1) / (mentions + 0.5)))


def _by_meaning(query: Query, limit: int) -> dict[UUID, float]:
    """Give the memories of the entities around a question's key terms, by meaning, as Prax has it.

    The question with its terms appended is compared with each memory, times 1 + 0.2 for each of the entities that the
    memory mentions. Without vectors the number of these decides.
    """
    ring = keyring().of(query.owner_id)
    terms = key_terms(query.text)
    if not terms:
        return {}
    ids = _entities_of_terms(query, terms, ring)
    if not ids:
        return {}
    view = View(query.scopes, valid_at=query.now)
    steps = one_hop(ids, view=view, each=NEIGHBOURS, most=NEIGHBOURS * len(ids))
    around = list(dict.fromkeys([*ids, *(other for _, _, other, _ in steps)]))
    overlaps = {row[0]: row[2] for row in _mentioning(query, dict.fromkeys(around, 1.0), MOST_MENTIONS)}
    if not overlaps:
        return {}
    near = dict.fromkeys(overlaps, 1.0)
    if query.appended is not None:
        near = dense.complete(replace(query, vector=query.appended), list(overlaps))
    scores = {one: cosine * (1 + OVERLAP_BOOST * overlaps[one]) for one, cosine in near.items()}
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit])


def _entities_of_terms(query: Query, terms: Sequence[str], ring: OwnerRing) -> list[UUID]:
    """Find three entities for each term: those of that name, then those in whose names all of its words stand."""
    whole = {term: name_hash(ring, term) for term in terms}
    parts = {term: [word_hash(ring, word) for word in words(term)] for term in terms}
    found = named(
        {*whole.values(), *(one for hashes in parts.values() for one in hashes)},
        kinds=(NameKind.CANONICAL, NameKind.ALIAS, NameKind.WORD),
        scopes=query.scopes,
    )
    ids: list[UUID] = []
    for term in terms:
        of_term = [one.entity_id for one in found.get(whole[term], [])]
        with_words = [{one.entity_id for one in found.get(hashed, [])} for hashed in parts[term]]
        if with_words:
            of_term += [
                one.entity_id
                for one in found.get(parts[term][0], [])
                if all(one.entity_id in others for others in with_words)
            ]
        ids += list(dict.fromkeys(of_term))[:EACH_TERM]
    return list(dict.fromkeys(ids))


def _mentioning(query: Query, entities: Mapping[UUID, float], most: int) -> list[tuple[UUID, float, int]]:
    """List live memories that mention some entities, with the weights of these summed and how many they are."""
    where, parameters = _where(query)
    with connection.cursor() as cursor:
        cursor.execute(
            MENTIONING.format(where=where),
            {
                **parameters,
                "owner": query.owner_id,
                "entities": list(entities),
                "weights": list(entities.values()),
                "live": Status.LIVE,
                "each": MOST_MENTIONS,
                "most": most,
            },
        )
        return [(memory_id, float(score), int(count)) for memory_id, score, count in cursor.fetchall()]


def _allowed(query: Query, memory_ids: Sequence[UUID]) -> set[UUID]:
    """Give those of some memories that the query may find: a matrix knows neither filters nor the newest changes."""
    if not memory_ids:
        return set()
    where, parameters = _where(query)
    with connection.cursor() as cursor:
        cursor.execute(
            ALLOWED.format(where=where),
            {**parameters, "owner": query.owner_id, "ids": id_array(memory_ids), "live": Status.LIVE},
        )
        return {row[0] for row in cursor.fetchall()}


def _where(query: Query) -> tuple[str, dict[str, Any]]:
    """Write the query's filters and scopes as conditions on a memory."""
    conditions, parameters = query.filters.conditions()
    if query.scopes is not None:
        conditions.append("m.scope = ANY(%(scopes)s::uuid[])")
        parameters["scopes"] = list(query.scopes)
    return "".join(f" AND {condition}" for condition in conditions), parameters
