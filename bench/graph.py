"""How long steps over a generated graph take: one and two hops in SQL, a walk, and reading the graph for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar
from uuid import UUID

import numpy as np
from django.db import connection

from bench.graph_data import GraphStore, planted, store
from memory.errors import InvalidInput
from memory.graph.adjacency import load
from memory.graph.pagerank import personalised
from memory.graph.traversal import View, neighbours, one_hop
from memory.models import Status, owner_scope
from memory.recall.graph_arm import MENTIONING, MOST_MENTIONS, NEIGHBOURS
from memory.services.clock import now

HUB_DEGREE: Final = 5_000
SEEDS: Final = 3
"""Entities that a question names."""

MENTIONED: Final = 20
LIMIT: Final = 50
WARMED: Final = 3

T = TypeVar("T")


def measure(
    *, entities: int, relations: int, memories: int, queries: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Store a graph and walk over it from three entities at a time, one of them the hub in every fifth question.

    Args:
        entities: how many, 1,000 or more.
        relations: how many.
        memories: how many, with three mentions each.
        queries: how often each is timed.
        tell: told of progress.

    Returns:
        Medians in milliseconds: `hop1_p50_ms` of the graph arm's step with the memories that mention what it reaches,
        `hub_hop1_p50_ms` the same from the hub alone, `hop2_p50_ms` of the neighbours over two steps, `ppr_ms` of a
        walk, `load_ms` of reading the graph; `entities`, `relations`, `mentions` and `hub_degree` as they are stored.

    Raises:
        InvalidInput: a number below its bound.
    """
    if entities < 1_000 or min(relations, memories, queries) < 1:
        raise InvalidInput("Entities start at 1,000, all others at 1.", code="bench.range")
    hub = min(HUB_DEGREE, entities // 10)
    pairs = planted(nodes=entities, edges=relations, communities=entities // 100, hub_degree=hub)
    stored = store(pairs, nodes=entities, memories=memories)
    tell(f"{len(pairs.weights)} relations stored")
    dice = np.random.default_rng(5)
    asked = [
        [stored.entities[place] for place in dice.choice(entities, size=SEEDS, replace=False).tolist()]
        for _ in range(queries)
    ]
    for seeds in asked[::5]:
        seeds[0] = stored.hub
    with owner_scope(stored.actor.owner_id):
        one = [_timed(partial(_step, stored, seeds)) for seeds in asked]
        from_hub = [_timed(partial(_step, stored, [stored.hub])) for _ in range(queries)]
        view = View(None, valid_at=now())
        two = [_timed(partial(neighbours, seeds, hops=2, view=view, limit=LIMIT)) for seeds in asked]
        loads = [_timed(lambda: load(scopes=None)) for _ in range(WARMED)]
        adjacency = load(scopes=None)
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM memory_entitymention WHERE owner_id = %s", [stored.actor.owner_id])
            mentions = cursor.fetchone()[0]
    walks = []
    for seeds in asked:
        begins = np.zeros(adjacency.nodes)
        begins[[place for place in adjacency.places(seeds, memories=False).tolist() if place >= 0]] = 1.0
        walks.append(_timed(partial(personalised, adjacency, begins)))
    ends = np.concatenate([pairs.sources, pairs.targets])
    return {
        "hop1_p50_ms": _median(one),
        "hub_hop1_p50_ms": _median(from_hub),
        "hop2_p50_ms": _median(two),
        "ppr_ms": _median(walks),
        "load_ms": _median(loads),
        "entities": entities,
        "relations": len(pairs.weights),
        "mentions": mentions,
        "hub_degree": int(np.bincount(ends).max()),
    }


def _step(stored: GraphStore, seeds: Sequence[UUID]) -> None:
    """Do what the graph arm does: one step, then the memories that mention what it reaches."""
    steps = one_hop(seeds, view=View(None, valid_at=now()), each=NEIGHBOURS, most=NEIGHBOURS * len(seeds))
    reached = list(dict.fromkeys([*seeds, *(other for _, _, other, _ in steps)]))
    with connection.cursor() as cursor:
        cursor.execute(
            MENTIONING.format(where=""),
            {
                "owner": stored.actor.owner_id,
                "entities": reached,
                "weights": [1.0] * len(reached),
                "live": Status.LIVE,
                "each": MOST_MENTIONS,
                "most": MENTIONED,
            },
        )
        cursor.fetchall()


def _timed(run: Callable[[], T]) -> float:
    begun = time.perf_counter()
    run()
    return (time.perf_counter() - begun) * 1000


def _median(spent: Sequence[float]) -> float:
    return round(float(np.median(spent[min(WARMED, len(spent) - 1) :])), 2)
