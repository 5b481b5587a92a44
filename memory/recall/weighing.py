"""Weighing candidates by evidence: their signals, their logit and their relevance."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    """Compute the evidence signals of the gathered candidates, the tokens' of the likeliest ones only.

    Nearness in the graph comes last, since it starts from the likeliest by all the others.
    """
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
    late = _late(query, profile, gathered, ground, columns)
    return _with_graph(gathered, late or Weighed(ground, columns))


def _with_graph(gathered: Gathered, weighed: Weighed) -> Weighed:
    """Add the nearness in the graph, walked to anew from what is likeliest by all other signals."""
    answer, ground = gathered.found.graph, weighed.ground
    if answer is None or answer.walk is None or not ground.order:
        return weighed
    logits = evidence.logit(weighed.columns)
    hits = arms.leading(dict(zip(ground.order, logits.tolist(), strict=True)))
    near = answer.walk.of(answer.walk.nearness(hits), ground.order)
    return replace(weighed, columns=weighed.columns | signals.graph_signals(ground, near))


def _late(
    query: Query, profile: RecallProfile, gathered: Gathered, ground: signals.Ground, columns: dict[str, signals.Column]
) -> Weighed | None:
    """Add late interaction; None where it takes no part."""
    tokens, found = query.tokens, gathered.found
    model = found.model
    if not profile.late_interaction or tokens is None or not ground.order:
        return None
    likeliest = np.argsort(-evidence.logit(columns), kind="stable")[:WITH_TOKENS]
    nearest = arms.guarded("late_interaction", found, lambda: _nearest(query, tokens, ground, likeliest))
    if not nearest:
        return None
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
