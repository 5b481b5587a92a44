"""Weighing candidates by evidence: their signals, their logit and their relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.crypto.keyring import keyring
from memory.recall import arms, evidence, late_interaction, signals
from memory.recall.gathering import Gathered
from memory.recall.late_interaction import QueryTokens
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query
from memory.recall.relevance import bounded, calibrated

# Likeliest candidates whose tokens, and those of the turns beside them, are compared with the query's.
WITH_TOKENS: Final = 50


@dataclass(frozen=True, slots=True)
class Weighed:
    """The candidates' signals; `late` is the best weighted mean of late interaction, None where it took no part."""

    ground: signals.Ground
    columns: dict[str, signals.Column]
    late: float | None = None


def weigh(gathered: Gathered, query: Query, profile: RecallProfile) -> Weighed:
    """Compute the evidence signals of the gathered candidates, the tokens' of the likeliest ones only."""
    found = gathered.found
    model = found.model
    ground = signals.lay_out(
        gathered.candidates,
        scores=found.complete,
        found={memory_id for arm in ("dense", "lexical") for memory_id in found.asked.get(arm, ())},
        words=found.words,
        weights=list(model.weights.values()) if model else [],
        neighbours=gathered.neighbours,
    )
    columns = signals.signals(ground, query, profile)
    tokens = query.tokens
    if not profile.late_interaction or tokens is None or not ground.order:
        return Weighed(ground, columns)
    likeliest = np.argsort(-evidence.logit(columns), kind="stable")[:WITH_TOKENS]
    nearest = arms.guarded("late_interaction", found, lambda: _nearest(query, tokens, ground, likeliest))
    if not nearest:
        return Weighed(ground, columns)
    weights = late_interaction.token_weights(
        tokens, asked=query.terms, frequencies=model.frequencies if model else {}, rows=found.rows
    )
    shares = weights.astype(np.float64) / float(weights.sum())
    best = max(float(cosines @ shares) for cosines in nearest.values())
    return Weighed(ground, columns | signals.late_signals(ground, nearest, shares), best)


def _nearest(
    query: Query, tokens: QueryTokens, ground: signals.Ground, likeliest: NDArray[np.int64]
) -> dict[UUID, NDArray[np.float32]]:
    """Compare the query's tokens with those of the likeliest candidates and of the turns beside them."""
    beside = np.concatenate([likeliest, ground.before[likeliest], ground.after[likeliest]])
    compared = [ground.candidates[place] for place in dict.fromkeys(beside[beside >= 0].tolist())]
    return late_interaction.nearest(
        tokens,
        [(candidate.memory_id, candidate.sealed_for) for candidate in compared],
        ring=keyring().of(query.owner_id),
        space_id=query.space_id or 0,
    )


def scores_of(gathered: Gathered, weighed: Weighed, query: Query) -> tuple[dict[UUID, float], dict[UUID, float]]:
    """Give the logit and the relevance of every candidate."""
    found, ground = gathered.found, weighed.ground
    order = ground.order
    if not order:
        return {}, {}
    logits = evidence.logit(weighed.columns)
    near = found.complete.get("dense")
    likely = calibrated(
        logits,
        cosine=max(near.values()) if near else None,
        coverage=max(found.coverage(memory_id) or 0.0 for memory_id in order),
        late=weighed.late,
    )
    beside = [signals.at(ground.dense, places, missing=-1.0) for places in (ground.before, ground.after)]
    likely = bounded(
        likely,
        cosine=np.maximum.reduce([ground.dense, *beside]),
        coverage=weighed.columns["window"],
        held=ground.words @ ground.weights * (found.model.known if found.model and query.telling else 0.0),
        timely=ground.timely,
        vectors=bool(near),
    )
    return dict(zip(order, logits.tolist(), strict=True)), dict(zip(order, likely.tolist(), strict=True))
