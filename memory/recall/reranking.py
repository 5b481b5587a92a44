"""Reranking: the last word about the order of hits, by diversity or by a model that reads query and text together.

Diversity (`mmr`, `rrf_mmr`) needs the stored vectors and runs inside the recall's transaction. Models (`cross_encoder`,
`llm`) may take seconds or sit behind a network: `rescored` runs after the texts were opened and the transaction ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memory.errors import BudgetExceeded, KeysUnavailable, RerankerUnavailable
from memory.models import Memory
from memory.ports import Reranker
from memory.ports.reading import reading as connection
from memory.privacy import injection
from memory.privacy.placeholders import Placeholders
from memory.providers.misconfigured import ProviderMisconfigured
from memory.recall.id_arrays import id_array
from memory.recall.query import Query
from memory.text.tokens import term_frequencies

logger = logging.getLogger(__name__)

DIVERSE: Final = frozenset({"mmr", "rrf_mmr"})
EXTERNAL: Final = frozenset({"cross_encoder", "llm"})
# Diversity is quadratic and a model reads every text, so both look at the head of the list only.
HEAD: Final = 50
# Characters of a text that a model is shown, before its own limit.
LONGEST_TEXT: Final = 4_000
# Characters of a text in which personal data are looked for before it is cut; no kind of them is longer than the rest.
READ_TEXT: Final = LONGEST_TEXT + 1_000

# As bytes: half-precision numbers in network order after two 16-bit fields, which parse a hundred times faster than
# text does.
VECTORS: Final = """
    SELECT memory_id, halfvec_send(vec) FROM memory_memoryvector
    WHERE owner_id = %(owner)s AND memory_id = ANY(%(ids)s::uuid[]) AND space_id = %(space)s AND live
"""
_HEADER_BYTES: Final = 4

Similarities = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Place:
    """What a reranker did with one hit: the rank it had before, counted from 1, and the score it got.

    The score is None for hits behind those that the reranker looked at.
    """

    from_rank: int
    score: float | None


@dataclass(frozen=True, slots=True)
class Reranked:
    """The hits in their new order, and where each came from.

    `degraded` names what could not be done (`reranker.unavailable`); the order is the former one then, and `places` is
    empty.
    """

    name: str
    order: tuple[UUID, ...]
    places: Mapping[UUID, Place]
    degraded: tuple[str, ...] = ()

    def reasons(self, memory_id: UUID) -> dict[str, Any]:
        """Give what belongs into a hit's reasons; nothing where the hit was not moved by a reranker."""
        place = self.places.get(memory_id)
        if place is None:
            return {}
        score = None if place.score is None else round(place.score, 6)
        return {"rerank": {"name": self.name, "score": score, "from_rank": place.from_rank}}


@dataclass(frozen=True, slots=True)
class OpenedHit:
    """One hit with its text as a reader sees it, the speaker before it."""

    memory_id: UUID
    text: str
    score: float


def wanted(reranker: str, limit: int) -> int:
    """Give how many hits to rank, when `limit` are to be shown: a reranker needs more than it leaves."""
    return limit if reranker == "none" else max(HEAD, limit)


def diverse(
    query: Query, ranked: Sequence[UUID], scores: Mapping[UUID, float], *, name: str, weight: float
) -> Reranked:
    """Reorder by maximal marginal relevance over the stored vectors (Carbonell and Goldstein, SIGIR 1998).

    Each step takes the hit with the highest `weight * score - (1 - weight) * similarity to the nearest one taken`,
    scores brought to 0-1. Similarity is the cosine of the vectors, at least 0; where one of two has no vector in the
    query's space, the share of words that they have in common. Run it in the owner's scope; it takes one statement,
    and a second one where vectors are missing. The 50 hits with the highest scores are reordered.

    Args:
        query: tells the owner and the space of the vectors.
        ranked: the hits in the profile's order; ranks in the reasons are counted in it.
        scores: what is relevance here: the profile's scores for `mmr`, the fusion of the arms' ranks for `rrf_mmr`
            (`memory.recall.fusion.reciprocal_ranks`). A hit without one, such as a neighbour that no arm found,
            counts as 0.
        name: what to call it in the reasons, `mmr` or `rrf_mmr`.
        weight: 1 orders by score, 0 looks at diversity only.
    """
    former = {memory_id: rank for rank, memory_id in enumerate(ranked, start=1)}
    by_score = sorted(ranked, key=lambda memory_id: -scores.get(memory_id, 0.0))
    head = by_score[:HEAD]
    places = {memory_id: Place(rank, None) for memory_id, rank in former.items()}
    taken = _marginal(_unit([scores.get(one, 0.0) for one in head]), _similarities(query, head), weight)
    for index, value in taken:
        places[head[index]] = Place(former[head[index]], value)
    return Reranked(name, (*(head[index] for index, _ in taken), *by_score[HEAD:]), places)


def rescored(make: Callable[[], Reranker], query: str, hits: Sequence[OpenedHit], *, name: str) -> Reranked:
    """Reorder hits by a model that reads each together with the query; never call it inside a transaction.

    As many hits as the model takes at once are scored, at most 50; the others keep their order behind them, and equal
    scores the order that they had. A model elsewhere gets placeholders for personal data; a text that becomes part of
    a prompt is cleaned of instructions.

    Args:
        make: gives the reranker, for example `memory.providers.composition.reranker`; its failure counts as one.
        query: what was asked, as it was asked.
        hits: opened hits, best first.
        name: what to call it in the reasons, `cross_encoder` or `llm`.

    Returns:
        The new order; the former one with `reranker.unavailable` in `degraded` when the model failed, or with
        `budget.exceeded` when it must not be asked.
    """
    former = tuple(hit.memory_id for hit in hits)
    if len(hits) < 2 or not query.strip():
        return Reranked(name, former, {})
    try:
        reranker = make()
        head = hits[: min(HEAD, reranker.most_texts)]
        asked, texts = _shown(reranker, query, head)
        scores = reranker.rerank(asked, texts).tolist()
    except BudgetExceeded as error:
        return Reranked(name, former, {}, (error.machine_code,))
    except (RerankerUnavailable, ProviderMisconfigured) as error:
        logger.warning("reranking failed, hits keep their order: %s", error.machine_code)
        return Reranked(name, former, {}, ("reranker.unavailable",))
    order = sorted(range(len(head)), key=lambda index: -scores[index])
    places = {hit.memory_id: Place(rank, None) for rank, hit in enumerate(hits, start=1)}
    places |= {hit.memory_id: Place(index + 1, scores[index]) for index, hit in enumerate(head)}
    return Reranked(name, (*(head[index].memory_id for index in order), *former[len(head) :]), places)


def _shown(reranker: Reranker, query: str, hits: Sequence[OpenedHit]) -> tuple[str, list[str]]:
    """Give query and texts as the reranker may see them."""
    texts = [hit.text[:READ_TEXT] for hit in hits]
    if not reranker.local:
        # Before the cut, which could leave the half of a number that no pattern knows any more.
        placeholders = Placeholders()
        query, texts = placeholders.conceal(query), [placeholders.conceal(text) for text in texts]
    texts = [text[:LONGEST_TEXT] for text in texts]
    return query, [injection.clean(text) for text in texts] if reranker.prompts else texts


def _unit(scores: Sequence[float]) -> NDArray[np.float64]:
    values = np.array(scores, dtype=np.float64)
    span = float(np.ptp(values)) if len(values) else 0.0
    return (values - values.min()) / span if span else np.zeros_like(values)


def _marginal(scores: NDArray[np.float64], similar: Similarities, weight: float) -> list[tuple[int, float]]:
    """Give indexes in the order of their marginal relevance, each with its value when it was taken; ties as before."""
    nearest = np.zeros(len(scores))
    open_ = np.ones(len(scores), dtype=bool)
    taken: list[tuple[int, float]] = []
    for _ in range(len(scores)):
        values = np.where(open_, weight * scores - (1 - weight) * nearest, -np.inf)
        best = int(values.argmax())
        taken.append((best, float(values[best])))
        open_[best] = False
        nearest = np.maximum(nearest, similar[best])
    return taken


def _similarities(query: Query, ids: Sequence[UUID]) -> Similarities:
    vectors = _vectors(query, ids) if query.space_id is not None else {}
    similar = np.zeros((len(ids), len(ids)))
    known = [at for at, memory_id in enumerate(ids) if memory_id in vectors]
    if known:
        table = np.stack([vectors[ids[at]] for at in known]).astype(np.float64)
        table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12)
        similar[np.ix_(known, known)] = np.clip(table @ table.T, 0.0, 1.0)
    unknown = [at for at in range(len(ids)) if ids[at] not in vectors]
    if unknown:
        words = _words(ids)
        for at in unknown:
            shared = [jaccard(words[ids[at]], words[other]) for other in ids]
            similar[at, :] = similar[:, at] = shared
    return similar


def _vectors(query: Query, ids: Sequence[UUID]) -> dict[UUID, NDArray[np.float16]]:
    with connection.cursor() as cursor:
        cursor.execute(VECTORS, {"owner": query.owner_id, "ids": id_array(ids), "space": query.space_id})
        return {
            memory_id: np.frombuffer(bytes(value), dtype=">f2", offset=_HEADER_BYTES)
            for memory_id, value in cursor.fetchall()
        }


def _words(ids: Sequence[UUID]) -> dict[UUID, frozenset[str]]:
    """Open the texts and split them; one that does not open, or is gone, resembles nothing."""
    words: dict[UUID, frozenset[str]] = dict.fromkeys(ids, frozenset())
    for row in Memory.objects.filter(pk__in=ids).only("id", "owner_id", "visibility", "agent_id", "text"):
        try:
            words[row.pk] = frozenset(term_frequencies(row.text[:LONGEST_TEXT]))
        except KeysUnavailable:
            logger.error("memory %s does not open with its owner's key", row.pk)
    return words


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Give the share of words that two texts have in common, 0-1."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0
