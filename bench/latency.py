"""Latency of the recall service, and how much of the exact answer the dense arm finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bench import stages
from bench.database import bytes_by_table
from bench.synthetic import Generator, Population, build_index, open_space, populate
from memory.crypto.keyring import keyring
from memory.errors import InvalidInput
from memory.ids import new_id
from memory.models import EmbeddingSpace, owner_scope
from memory.providers.composition import embedder
from memory.recall import dense
from memory.recall.profiles import shipped
from memory.recall.query import Query
from memory.recall.statistics import owner_statistics
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import search

WARM_UP = 5
# From so many owners on one question of each warms up, since that alone fills every shared cache many times over.
MANY_OWNERS = 100
MOST_QUERIES = 2_000
OTHER_OWNER_ROWS = 5_000
STAGE_QUERIES = 100
DENSE_OWNERS = 10
DENSE_QUERIES = 25
DENSE_LIMIT = 100
TOLD = 100


def measure(
    *, owners: int, memories: int, other_rows: int, queries: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Measure recall over generated memories.

    The time is that of the service from the prepared query to opened hits, late interaction included: no embedding,
    reinforcement or HTTP. Owners are asked in turn, one question each, so that no owner is asked twice in a row.

    Args:
        owners: measured owners, at most 10,000.
        memories: memories of each, half of them turns of conversations.
        other_rows: memories of further owners that share the index tables.
        queries: questions for each measured owner, as long as they are not more than 2,000 together; more are spread
            evenly, at least one for each owner.
        tell: told of progress.

    Raises:
        InvalidInput: a number out of range.
    """
    if not (1 <= owners <= 10_000 and 1 <= memories <= 1_000_000 and 0 <= other_rows <= 2_000_000 and queries >= 1):
        raise InvalidInput("owners, memories and queries start at 1.", code="bench.range")
    generator = Generator()
    space = open_space()
    populations = []
    for number in range(owners):
        populations.append(populate(generator, space, memories))
        if owners <= TOLD or (number + 1) % TOLD == 0:
            tell(f"owner {number + 1} of {owners}: {memories} memories stored")
    for start in range(0, other_rows, OTHER_OWNER_ROWS):
        populate(generator, space, min(OTHER_OWNER_ROWS, other_rows - start))
    build_index(space)
    tell("index built")
    each = max(1, min(queries, MOST_QUERIES // owners))
    for _ in range(WARM_UP if owners < MANY_OWNERS else 1):
        _round(generator, populations, space)
    times = [spent for _ in range(each) for spent in _round(generator, populations, space)]
    tell(f"{len(times)} questions asked")
    return {
        "recall_p50_ms": _percentile(times, 50),
        "recall_p95_ms": _percentile(times, 95),
        **_stages(generator, populations, space),
        "embed_p50_ms": _embed_time(generator),
        "dense_recall_at_100": round(
            float(np.mean([_dense_recall(generator, one, space) for one in _spread(populations, DENSE_OWNERS)])), 4
        ),
        "bytes_per_memory": _bytes_each(owners * memories + other_rows),
        "memories": memories,
        "owners": owners,
        "other_rows": other_rows,
        "queries": len(times),
    }


def _bytes_each(stored: int) -> dict[str, int]:
    """Give the bytes that a memory takes in all tables, and in each that has a hundredth of them or more."""
    sizes = bytes_by_table()
    each = {name: round(size / stored) for name, size in sizes.items() if size * 100 >= sum(sizes.values())}
    return {"all": round(sum(sizes.values()) / stored), **each}


def _round(generator: Generator, populations: Sequence[Population], space: EmbeddingSpace) -> list[float]:
    """Ask every owner one question."""
    return [_time(query) for population in populations for query in _asked(generator, population, space, 1)]


def _stages(generator: Generator, populations: Sequence[Population], space: EmbeddingSpace) -> dict[str, float | None]:
    some = _spread(populations, STAGE_QUERIES)
    asked = [query for one in some for query in _asked(generator, one, space, STAGE_QUERIES // len(some))]
    return stages.measure(asked, shipped("default"))


def _spread(populations: Sequence[Population], most: int) -> list[Population]:
    """Choose owners evenly."""
    return list(populations[:: max(1, len(populations) // most)])[:most]


def _asked(generator: Generator, population: Population, space: EmbeddingSpace, count: int) -> Iterator[Query]:
    """Make questions ready, each when it is its turn."""
    ring = keyring().of(population.actor.owner_id)
    for text, vector in generator.questions(population, count):
        prepared = prepare_query(population.actor, text, RecallRequest(query=text), wants_vector=False)
        yield replace(
            prepared,
            vector=vector,
            tokens=generator.query_tokens(text, ring),
            space_id=space.pk,
            dimension=space.dimension,
        )


def _time(query: Query) -> float:
    """Give the milliseconds of one search in its owner's scope, transaction included."""
    profile = shipped("default")
    request = RecallRequest(query=query.text)
    begun = time.perf_counter()
    with owner_scope(query.owner_id):
        search(query, profile, request, new_id())
    return (time.perf_counter() - begun) * 1000


def _dense_recall(generator: Generator, population: Population, space: EmbeddingSpace) -> float:
    shares = []
    for query in _asked(generator, population, space, DENSE_QUERIES):
        with owner_scope(query.owner_id):
            exact = set(dense.search(query, DENSE_LIMIT, exact=True))
            owner = owner_statistics(query.owner_id)
            as_chosen, width = dense.choose_exact(owner), dense.breadth(owner)
            chosen = set(dense.search(query, DENSE_LIMIT, exact=as_chosen, breadth=width))
        shares.append(len(exact & chosen) / len(exact))
    return float(np.mean(shares))


def _embed_time(generator: Generator) -> float:
    model = embedder()
    texts = [" ".join(words) for words in generator.texts(30)]
    model.embed(texts[:1])
    times = []
    for text in texts:
        begun = time.perf_counter()
        model.embed([text])
        times.append((time.perf_counter() - begun) * 1000)
    return _percentile(times, 50)


def _percentile(values: Sequence[float], share: float) -> float:
    return round(float(np.percentile(values, share)), 2)
