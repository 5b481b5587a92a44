"""How long the parts of one recall take, each measured alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

import numpy as np

from memory.crypto.keyring import keyring
from memory.models import owner_scope
from memory.recall import evidence, late_interaction, signals
from memory.recall.gathering import Gathered, gather
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query
from memory.recall.weighing import weigh

# What the goals are stated for.
RERANKED: Final = 200
COMPARED: Final = 100

T = TypeVar("T")


def measure(queries: Sequence[Query], profile: RecallProfile) -> dict[str, float | None]:
    """Give the medians over some queries, in milliseconds.

    Returns:
        `gather_p50_ms`: asking the arms, with neighbours, exact scores and the candidates' numbers.
        `rerank_p50_ms`: signals, their sum and the order of `rerank_candidates` candidates, at most 200; no statement.
        `max_sim_p50_ms`: comparing the tokens of `max_sim_candidates` candidates, at most 100, with their statement and
        decryption; None where there are no tokens.
    """
    parts: dict[str, list[float]] = {"gather": [], "rerank": [], "max_sim": []}
    sizes: dict[str, list[int]] = {"rerank": [], "max_sim": []}
    for query in queries:
        with owner_scope(query.owner_id):
            gathered, spent = _timed(partial(gather, query, profile, limit=profile.limit))
            parts["gather"].append(spent)
            candidates = dict(list(gathered.candidates.items())[:RERANKED])
            some = replace(gathered, candidates=candidates)
            nearest, spent = _timed(partial(_nearest, query, some))
            if nearest:
                parts["max_sim"].append(spent)
                sizes["max_sim"].append(len(nearest))
            if candidates:
                _, spent = _timed(partial(_rerank, query, profile, some, nearest))
                parts["rerank"].append(spent)
                sizes["rerank"].append(len(candidates))
    return {
        **{f"{name}_p50_ms": round(float(np.median(times)), 2) if times else None for name, times in parts.items()},
        **{f"{name}_candidates": round(float(np.median(seen))) if seen else None for name, seen in sizes.items()},
    }


def _nearest(query: Query, gathered: Gathered) -> dict[UUID, late_interaction.Nearest]:
    if query.tokens is None:
        return {}
    return late_interaction.nearest(
        query.tokens,
        [(one.memory_id, one.sealed_for) for one in list(gathered.candidates.values())[:COMPARED]],
        ring=keyring().of(query.owner_id),
        space_id=query.space_id or 0,
    )


def _rerank(
    query: Query,
    profile: RecallProfile,
    gathered: Gathered,
    nearest: dict[UUID, late_interaction.Nearest],
) -> None:
    """Do what the pipeline does with gathered candidates, with tokens that were compared before."""
    weighed = weigh(gathered, query, replace(profile, late_interaction=False))
    ground, columns = weighed.ground, weighed.columns
    model, tokens = gathered.found.model, query.tokens
    if tokens is not None:
        shares = late_interaction.token_weights(
            tokens,
            asked=query.terms,
            frequencies=model.frequencies if model else {},
            rows=gathered.found.rows,
        )
        columns |= signals.late_signals(ground, nearest, shares / shares.sum())
    np.argsort(-evidence.logit(columns), kind="stable")


def _timed(run: Callable[[], T]) -> tuple[T, float]:
    begun = time.perf_counter()
    result = run()
    return result, (time.perf_counter() - begun) * 1000
