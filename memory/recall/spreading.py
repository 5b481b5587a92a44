"""What the best hits pass on over links between memories, in profiles that have it (Engram)."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from memory.graph.activation import linked, spread
from memory.recall import arms, fusion
from memory.recall.candidates import load_candidates
from memory.recall.gathering import Gathered
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query


def passed_on(
    query: Query, profile: RecallProfile, gathered: Gathered, scores: Mapping[UUID, float]
) -> dict[UUID, float]:
    """Let the best hits pass something on over their links, one step, whatever the kind of link.

    Memories that come in this way become candidates, scored exactly like the others.

    Args:
        query: within its owner's scope.
        profile: with `edge_seeds` above 0.
        gathered: the candidates; those that come in are added.
        scores: the fused scores.
    """
    found, spreading = gathered.found, profile.spreading
    seeds = fusion.ranking(scores)[: spreading.seeds]
    conditions, parameters = query.filters.conditions()
    links = arms.guarded(
        "links",
        found,
        lambda: linked(
            seeds,
            least_weight=spreading.least_weight,
            scopes=query.scopes,
            where="".join(f" AND {condition}" for condition in conditions),
            parameters=parameters,
        ),
    )
    if not links:
        return dict(scores)
    raised = spread(scores, links, spreading)
    others = raised.keys() - gathered.candidates.keys()
    if others:
        gathered.candidates |= load_candidates(query, others)
        arms.complete(query, found, gathered.candidates.keys())
    return {one: score for one, score in raised.items() if one in gathered.candidates}
