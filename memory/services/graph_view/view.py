"""The view itself: seeds, walk, things, links and places put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection

from memory.graph.labels import spoken
from memory.graph.layout import lay_out
from memory.models import EdgeKind, Relation, current_owner, owner_scope
from memory.privacy import pii
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.communities import titles
from memory.services.graph_view.joining import RELATION, Join, around, joins
from memory.services.graph_view.request import Times, ViewRequest, checked
from memory.services.graph_view.seeds import Seeds, seeds_of_words, stored_seeds
from memory.services.graph_view.things import Thing, put_contested, put_words, shortened, things
from memory.services.graph_view.walking import Sight, walk

RELATION_CHARACTERS: Final = 40

SPAN: Final = """
    SELECT (SELECT min(occurred_at) FROM memory_memory WHERE owner_id = %(owner)s {scoped}),
           (SELECT min(created_at) FROM memory_memory WHERE owner_id = %(owner)s {scoped}),
           (SELECT min(valid_from) FROM memory_relation WHERE owner_id = %(owner)s {scoped}),
           (SELECT min(recorded_at) FROM memory_relation WHERE owner_id = %(owner)s {scoped})
"""
ONE_OF_EACH_LABEL: Final = """
    SELECT DISTINCT ON (r.label_hash) r.id FROM memory_relation r
    WHERE r.owner_id = %(owner)s AND r.id = ANY(%(ids)s::uuid[]) ORDER BY r.label_hash, r.id
"""


@dataclass(frozen=True, slots=True)
class GraphView:
    """A part of the graph, ready to be shown.

    Attributes:
        seeds: what it starts from.
        times: the moments that were asked for.
        things: what counts most first; what words found before that, the best match first.
        links: the strongest first.
        ends: of each link its two ends as places in `things`.
        labels: the words of relations by the hash of their label.
        communities: the titles of the communities that occur, by number.
        places: x and y of each thing, in their order.
        unseen: how many things the shown ones lead to that are not shown.
        more_links: how many links of the shown things are not shown.
        true_since, known_since: the earliest moments that the two times can be set to; None where there is nothing.
        laid_out: how many of the places are stored ones.
    """

    seeds: Seeds
    times: Times
    things: list[Thing]
    links: list[Join]
    ends: list[tuple[int, int]]
    labels: dict[int, str]
    communities: dict[int, str]
    places: list[tuple[float, float]]
    unseen: int
    more_links: int
    true_since: datetime | None
    known_since: datetime | None
    laid_out: int


def graph_view(*, actor: Actor, request: ViewRequest) -> GraphView:
    """Show what is around a seed: memories and entities by what they count, and the strongest links between them.

    What words found comes before the rest, the best match first.

    Hubs and frontiers are bounded, so the number of statements and of rows does not grow with the graph; counting
    what is not shown reads the links of what is shown.

    Args:
        actor: who asks.
        request: from where, how far, which layer, at which moments.

    Raises:
        NotFound: the seed is not there or hidden.
        InvalidInput: `seed.one_only`, `depth.out_of_range`, `layer.invalid`, `limit.out_of_range`, or a moment or
            words that cannot be used.
    """
    require_memory()
    actor.require(Permission.READ)
    times = checked(request)
    found = seeds_of_words(actor, request.query) if request.query.strip() else None
    return _read(actor=actor, request=request, times=times, found=found)


def _shown(answer: GraphView, values: object) -> list[UUID]:
    return [one.id for one in answer.things if one.is_memory]


@reads("graph_view", memories=_shown)
def _read(*, actor: Actor, request: ViewRequest, times: Times, found: Seeds | None) -> GraphView:
    moment = now()
    sight = Sight(actor.readable, times, moment)
    with owner_scope(actor.owner_id):
        seeds = found or stored_seeds(actor, request, sight)
        walked = walk(
            memories=seeds.memories[: request.most],
            entities=seeds.entities[: request.most],
            depth=request.depth,
            layer=request.layer,
            most=request.most,
            sight=sight,
        )
        chosen = _of_layer(things(walked.memories, walked.entities, sight=sight), request.layer, seeds)
        if seeds.sort == "words":
            chosen = _found_first(chosen, seeds)
        memories = [one.id for one in chosen if one.is_memory]
        entities = [one.id for one in chosen if not one.is_memory]
        links = joins(memories, entities, sight=sight, dated=request.dated)
        near = around(memories, entities, sight=sight, layer=request.layer)
        ends = _ends(chosen, links)
        _count_more(chosen, ends, near.links)
        started = {*seeds.memories, *seeds.entities}
        for one in chosen:
            one.seed = one.id in started
        against = {end for link in links if link.kind == EdgeKind.CONTRADICTS for end in (link.source, link.target)}
        put_contested(chosen, against, actor=actor, now=moment)
        put_words(chosen[: request.labelled], sight=sight)
        numbers = sorted({one.community for one in chosen if one.community is not None})
        true_since, known_since = _span(sight)
        return GraphView(
            seeds=seeds,
            times=times,
            things=chosen,
            links=links,
            ends=ends,
            labels=_labels(links),
            communities=titles(actor, numbers),
            places=_places(chosen, links, ends),
            unseen=near.unseen,
            more_links=max(0, sum(near.links.values()) - 2 * len(links)),
            true_since=true_since,
            known_since=known_since,
            laid_out=sum(one.place is not None for one in chosen),
        )


def _of_layer(found: list[Thing], layer: str, seeds: Seeds) -> list[Thing]:
    """Leave out the other layer, but not what the view starts from."""
    if layer == "both":
        return found
    started = {*seeds.memories, *seeds.entities} if seeds.sort in ("memory", "entity") else set()
    return [one for one in found if one.is_memory == (layer == "memories") or one.id in started]


def _found_first(chosen: list[Thing], seeds: Seeds) -> list[Thing]:
    """Put what words found before what is around it, the best match first."""
    ranks = {one: rank for rank, one in enumerate((*seeds.memories, *seeds.entities))}
    return sorted(chosen, key=lambda one: ranks.get(one.id, len(ranks)))


def _ends(chosen: Sequence[Thing], links: Sequence[Join]) -> list[tuple[int, int]]:
    """Give the ends of links as places among the things."""
    place = {one.id.int: number for number, one in enumerate(chosen)}
    return [(place[one.source.int], place[one.target.int]) for one in links]


def _count_more(chosen: Sequence[Thing], ends: Sequence[tuple[int, int]], near: dict[UUID, int]) -> None:
    drawn = [0] * len(chosen)
    for first, second in ends:
        drawn[first] += 1
        drawn[second] += 1
    for one, shown in zip(chosen, drawn, strict=True):
        one.more = max(0, near.get(one.id, 0) - shown)


def _labels(links: Sequence[Join]) -> dict[int, str]:
    """Open one relation of each label that occurs."""
    ids = [str(link.relation_id) for link in links if link.kind == RELATION]
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(ONE_OF_EACH_LABEL, {"owner": current_owner(), "ids": ids})
        wanted = [row[0] for row in cursor.fetchall()]
    return {
        row.label_hash: shortened(pii.redact(spoken(row.label)), RELATION_CHARACTERS)
        for row in Relation.objects.filter(pk__in=wanted)
    }


def _places(
    chosen: Sequence[Thing], links: Sequence[Join], ends: Sequence[tuple[int, int]]
) -> list[tuple[float, float]]:
    """Give stored places, and new ones beside their neighbours; all are computed where few are stored."""
    if not chosen:
        return []
    first, second = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    rows, others = np.concatenate([first, second]), np.concatenate([second, first])
    weights = np.tile(np.array([max(one.weight, 0.01) for one in links], dtype=np.float64), 2)
    order = np.argsort(rows, kind="stable")
    found = lay_out(
        starts=np.searchsorted(rows[order], np.arange(len(chosen))),
        others=others[order].astype(np.int32),
        weights=weights[order],
        labels=np.array([-1 if one.community is None else one.community for one in chosen], dtype=np.int64),
        former=np.array([one.place or (np.nan, np.nan) for one in chosen], dtype=np.float64),
    )
    return [(float(x), float(y)) for x, y in found]


def _span(sight: Sight) -> tuple[datetime | None, datetime | None]:
    scoped = "" if sight.scopes is None else "AND scope = ANY(%(scopes)s::uuid[])"
    with connection.cursor() as cursor:
        cursor.execute(SPAN.format(scoped=scoped), sight.parameters)
        happened, created, began, recorded = cursor.fetchone()
    return _earliest(happened, began), _earliest(created, recorded)


def _earliest(*moments: Any) -> datetime | None:
    there = [one for one in moments if one is not None]
    return min(there) if there else None
