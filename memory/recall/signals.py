"""The signals of the candidates of one recall: what is known of each that tells evidence from what only sounds alike.

Every signal is a number that stands with the memory or follows from the list of candidates; no text is opened. They are
computed for all candidates at once, as columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.recall.candidates import Candidate
from memory.recall.neighbours import Neighbours
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query

Column = NDArray[np.float64]
Flags = NDArray[np.bool_]

# The words that a statement of its own counts for, whatever its length: an average turn's. Short turns seldom say
# anything, but a short statement was stored because it does.
STATEMENT_WORDS: Final = 15
# A question of whose other words none stands anywhere ("what happened last Tuesday?") asks for the time itself.
TIME_ALONE: Final = 3.0


@dataclass(frozen=True, slots=True)
class Ground:
    """What the signals are computed from: the candidates in a fixed order, and their scores.

    `dense` and `lexical` are exact scores; a row without a vector has the least cosine, one without a shared word zero.
    `timely` is how well a row fits the time that the query names, 0-1. `found` marks the rows that stand out by meaning
    or words; the others are neighbours of such rows, or of the right time. `words` has for each row which of
    the query's words stand in it, and `weights` what each of these words counts, all together one. `before` and `after`
    are the places of the neighbouring turns among the candidates, -1 where there is none; `conversation` numbers the
    conversations, -1 for a statement.
    """

    order: Sequence[UUID]
    candidates: Sequence[Candidate]
    dense: Column
    lexical: Column
    timely: Column
    found: Flags
    words: NDArray[np.bool_]
    weights: Column
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    conversation: NDArray[np.int64]


def lay_out(
    candidates: Mapping[UUID, Candidate],
    *,
    scores: Mapping[str, Mapping[UUID, float]],
    found: set[UUID],
    words: Mapping[UUID, int],
    weights: Sequence[float],
    neighbours: Mapping[UUID, Neighbours],
) -> Ground:
    """Bring candidates, scores and neighbours into columns."""
    # By the number, as comparing ids themselves is slow.
    order = sorted(candidates, key=attrgetter("int"))
    place = {memory_id: at for at, memory_id in enumerate(order)}
    rows = [candidates[memory_id] for memory_id in order]
    near, lexical, times = (scores.get(arm, {}) for arm in ("dense", "lexical", "time"))
    least = min(near.values(), default=0.0)
    before, after = _links(order, rows, place, neighbours)
    shares = np.array(weights, dtype=float)
    held = np.array([words.get(memory_id, 0) for memory_id in order], dtype=np.int64)
    numbers: dict[UUID, int] = {}
    conversation = [-1 if row.session_id is None else numbers.setdefault(row.session_id, len(numbers)) for row in rows]
    return Ground(
        order=order,
        candidates=rows,
        dense=np.array([near.get(memory_id, least) for memory_id in order]),
        lexical=np.array([lexical.get(memory_id, 0.0) for memory_id in order]),
        timely=np.array([times.get(memory_id, 0.0) for memory_id in order]),
        found=np.array([memory_id in found for memory_id in order], dtype=bool),
        words=held[:, np.newaxis] >> np.arange(len(weights)) & 1 > 0,
        weights=shares / shares.sum() if shares.sum() > 0 else shares,
        before=before,
        after=after,
        conversation=np.array(conversation, dtype=np.int64),
    )


def _links(
    order: Sequence[UUID],
    rows: Sequence[Candidate],
    place: Mapping[UUID, int],
    neighbours: Mapping[UUID, Neighbours],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give for each candidate the places of the turns before and after it; -1 where that is not a candidate."""
    before = np.full(len(order), -1, dtype=np.int64)
    after = np.full(len(order), -1, dtype=np.int64)

    def join(first: int, second: int) -> None:
        after[first], before[second] = second, first

    at_position = {
        (row.session_id, row.position): at
        for at, row in enumerate(rows)
        if row.session_id is not None and row.position is not None
    }
    for (session, position), at in at_position.items():
        following = at_position.get((session, position + 1))
        if following is not None:
            join(at, following)
    for memory_id, sides in neighbours.items():
        middle = place.get(memory_id)
        if middle is None:
            continue
        if sides.before is not None and sides.before in place:
            join(place[sides.before], middle)
        if sides.after is not None and sides.after in place:
            join(middle, place[sides.after])
    return before, after


def standardised(values: Column, among: Flags) -> Column:
    """Give z-scores over the marked rows, also of the rows that are not marked; zeros where all are alike."""
    chosen = values[among] if among.any() else values
    spread = float(chosen.std()) if len(chosen) else 0.0
    return (values - chosen.mean()) / spread if spread > 0 else np.zeros_like(values)


def fused(ground: Ground, weights: Mapping[str, float]) -> Column:
    """Give the weighted sum of the z-scores of both arms."""
    return weights.get("dense", 0.0) * standardised(ground.dense, ground.found) + weights.get(
        "lexical", 0.0
    ) * standardised(ground.lexical, ground.found)


def at(values: Column, places: NDArray[np.int64], missing: float = 0.0) -> Column:
    """Pick values by place; `missing` where the place is -1."""
    return np.where(places >= 0, values[np.maximum(places, 0)], missing) if len(values) else values


def spread(ground: Ground, own: Column, *, before: float, after: float) -> Column:
    """Let every turn inherit a part of the scores of the turns before and after it."""
    return own + before * at(own, ground.before) + after * at(own, ground.after)


def ranks(values: Column) -> Column:
    """Give ranks from 1 for the highest value; ties in the order of the rows."""
    places = np.empty(len(values))
    places[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return places


def signals(ground: Ground, query: Query, profile: RecallProfile) -> dict[str, Column]:
    """Compute the signals of every candidate; what each means stands with its weight in `memory.recall.evidence`."""
    rows = ground.candidates
    own = fused(ground, profile.weights)
    shared = spread(ground, own, before=profile.spread_before, after=profile.spread_after)
    asks = query.asks
    named = np.array([row.is_named for row in rows], dtype=bool)
    question = _flags(rows, "is_question")
    length = np.log1p(np.array([row.token_count for row in rows], dtype=float))
    turn = ground.conversation >= 0
    return {
        "spread_rank": -np.log(ranks(shared)),
        "second_before": at(own, _second(ground.before)),
        "conversation": _best_of_conversation(ground, own),
        "window": _window(ground) @ ground.weights,
        "subject": _words_of_conversation(ground) @ ground.weights,
        "length": np.where(turn, length, np.log1p(STATEMENT_WORDS)),
        "question": question,
        "answers": at(question, ground.before),
        "timely": ground.timely * (1.0 if len(ground.weights) else TIME_ALONE),
        "time": _flags(rows, "has_time") * asks.asks_when,
        "number": _flags(rows, "has_number") * (asks.asks_how_many or asks.asks_how_long),
        "other_speaker": (turn & ~named).astype(float) if named.any() else np.zeros(len(rows)),
    }


def late_signals(ground: Ground, nearest: Mapping[UUID, NDArray[np.float32]], weights: Column) -> dict[str, Column]:
    """Compute the signals of late interaction.

    Args:
        ground: the candidates.
        nearest: for some of them the highest cosine that each token of the query has to a token of the text; the others
            are taken for average ones.
        weights: what each token of the query counts for `late`, all together one.
    """
    known = np.array([memory_id in nearest for memory_id in ground.order], dtype=bool)
    if not known.any():
        return {}
    tokens = np.full((len(known), len(weights)), -1.0)
    tokens[known] = np.stack([nearest[memory_id] for memory_id in ground.order if memory_id in nearest])
    window = tokens.copy()
    for places in (ground.before, ground.after):
        beside = np.where((places >= 0)[:, np.newaxis], tokens[np.maximum(places, 0)], -1.0)
        window = np.maximum(window, beside)
    return {
        "late": np.where(known, standardised(tokens @ weights, known), 0.0),
        "late_window": np.where(known, standardised(window.mean(axis=1), known), 0.0),
    }


def graph_signals(ground: Ground, nearness: Mapping[UUID, float]) -> dict[str, Column]:
    """Compute the signal of a walk over the graph.

    Args:
        ground: the candidates.
        nearness: how near the walk has come to some of them; the others share the last place.
    """
    near = np.array([nearness.get(memory_id, 0.0) for memory_id in ground.order])
    reached = int(np.count_nonzero(near > 0))
    if not reached:
        return {}
    return {"graph": -np.log(np.where(near > 0, ranks(near), reached + 1.0))}


def _flags(rows: Sequence[Candidate], name: str) -> Column:
    return np.array([getattr(row, name) for row in rows], dtype=float)


def _second(first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the places of the neighbours' neighbours in the same direction."""
    return np.where(first >= 0, first[np.maximum(first, 0)], -1)


def _window(ground: Ground) -> Flags:
    """Tell which words of the query stand in a turn or in the turns beside it."""
    words = ground.words.copy()
    for places in (ground.before, ground.after):
        words |= ground.words[np.maximum(places, 0)] & (places >= 0)[:, np.newaxis]
    return words


def _words_of_conversation(ground: Ground) -> Flags:
    """Tell which words of the query stand in the candidates of the same conversation; a statement has its own."""
    words = ground.words.copy()
    turn = ground.conversation >= 0
    if turn.any():
        said = np.zeros((int(ground.conversation.max()) + 1, words.shape[1]), dtype=bool)
        np.logical_or.at(said, ground.conversation[turn], words[turn])
        words[turn] = said[ground.conversation[turn]]
    return words


def _best_of_conversation(ground: Ground, own: Column) -> Column:
    """Give the best score in a turn's conversation; a statement stands for itself."""
    best = own.copy()
    turn = ground.conversation >= 0
    if turn.any():
        highest = np.full(int(ground.conversation.max()) + 1, -np.inf)
        np.maximum.at(highest, ground.conversation[turn], own[turn])
        best[turn] = highest[ground.conversation[turn]]
    return best
