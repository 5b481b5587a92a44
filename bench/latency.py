"""Latency of the recall service, and how much of the exact answer the dense arm finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bench.synthetic import Generator, Population, build_index, open_space, populate
from memory.errors import InvalidInput
from memory.ids import new_id
from memory.models import EmbeddingSpace, owner_scope
from memory.providers.composition import embedder
from memory.recall import dense
from memory.recall.profiles import shipped
from memory.recall.query import Query
from memory.recall.statistics import owner_statistics
from memory.services.recall import RecallRequest, prepare_query, search

WARM_UP = 5
OTHER_OWNER_ROWS = 5_000
DENSE_QUERIES = 25
DENSE_LIMIT = 100


def measure(
    *, owners: int, memories: int, other_rows: int, queries: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Measure recall over generated memories.

    The time is that of the service from the prepared query to opened hits: no embedding, reinforcement or HTTP.

    Args:
        owners: measured owners.
        memories: memories of each.
        other_rows: memories of further owners that share the index tables.
        queries: questions for each measured owner.
        tell: told of progress.

    Raises:
        InvalidInput: a number out of range.
    """
    if not (1 <= owners <= 1000 and 1 <= memories <= 1_000_000 and 0 <= other_rows <= 2_000_000 and queries >= 1):
        raise InvalidInput("owners, memories and queries start at 1.", code="bench.range")
    generator = Generator()
    space = open_space()
    populations = []
    for number in range(owners):
        populations.append(populate(generator, space, memories))
        tell(f"owner {number + 1} of {owners}: {memories} memories stored")
    for start in range(0, other_rows, OTHER_OWNER_ROWS):
        populate(generator, space, min(OTHER_OWNER_ROWS, other_rows - start))
    build_index(space)
    tell("index built")
    times: list[float] = []
    arms: list[float] = []
    for population in populations:
        timed = [
            _time(_query(population, space, text, vector)) for text, vector in _asked(generator, population, queries)
        ]
        times += timed[WARM_UP:]
        arms.append(_dense_recall(generator, population, space))
    return {
        "recall_p50_ms": _percentile(times, 50),
        "recall_p95_ms": _percentile(times, 95),
        "embed_p50_ms": _embed_time(generator),
        "dense_recall_at_100": round(float(np.mean(arms)), 4),
        "memories": memories,
        "owners": owners,
        "other_rows": other_rows,
        "queries": len(times),
    }


def _asked(generator: Generator, population: Population, queries: int) -> list[tuple[str, Any]]:
    return list(generator.questions(population, queries + WARM_UP))


def _query(population: Population, space: EmbeddingSpace, text: str, vector: Any) -> Query:
    prepared = prepare_query(population.actor, text, RecallRequest(query=text), wants_vector=False)
    return replace(prepared, vector=vector, space_id=space.pk, dimension=space.dimension)


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
    for text, vector in _asked(generator, population, DENSE_QUERIES):
        query = _query(population, space, text, vector)
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
