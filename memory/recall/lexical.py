"""The lexical arm: exact BM25 over keyed postings, in one or two statements.

The inverse document frequency is Lucene's, ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative. It is counted
over the rows that the caller may read, so that words of hidden rows do not betray themselves; how many rows there are,
and how long they are on average, is the owner's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from memory.ports.reading import reading as connection
from memory.recall.document_frequency import document_frequencies
from memory.recall.id_arrays import id_array
from memory.recall.profiles import RecallProfile
from memory.recall.query import MAX_TERMS, Query
from memory.recall.statistics import OwnerStatistics

# Postings that one query may touch before the rarest terms choose the candidates and the others only complete them:
# at least so many, or this share of the owner's rows. Measured with questions of conversations over 100,000 turns: of
# the exact first ten .998 are found, of the first hundred .968. Fewer are read sooner than candidates are completed.
LEAST_BUDGET: Final = 20_000
BUDGET_SHARE: Final = 0.2
# How many of the candidates that the rarest terms chose are completed with the skipped terms.
COMPLETED: Final = 300

# The casts keep the arithmetic out of numeric, which is several times slower.
BM25 = (
    "q.weight * p.tf * (%(k1)s::float8 + 1) "
    "/ (p.tf + %(k1)s::float8 * (1 - %(b)s::float8 + %(b)s::float8 * p.length / %(average)s::float8))"
)
# Prax: augmented term frequency under a logarithm, no document frequency.
PRAX_SPARSE = "q.weight * ln(1.5::float8 + 0.5::float8 * p.tf / greatest(p.highest_tf, 1))"

POSTINGS = """
    FROM unnest(%(terms)s::bigint[], %(weights)s::float8[], %(bits)s::integer[]) AS q (term, weight, bit)
    JOIN memory_lexposting p ON p.owner_id = %(owner)s AND p.term = q.term AND p.live
"""


@dataclass(frozen=True, slots=True)
class WordScore:
    """A row's lexical score, and which of the query's words stand in it: bit `n` for the model's `n`th term."""

    score: float
    words: int


@dataclass(frozen=True, slots=True)
class LexicalModel:
    """The weights of a query's terms and the numbers of the scoring formula.

    `frequencies` tells in how many memories every known term stands, also of terms that do not count. `best_possible`
    bounds the score of any row; `known` is the share of the query's weight whose words stand anywhere; `skipped` are
    the terms beyond the budget, rarest first.
    """

    formula: str
    weights: Mapping[int, float]
    frequencies: Mapping[int, int]
    kept: tuple[int, ...]
    skipped: tuple[int, ...]
    parameters: Mapping[str, float]
    best_possible: float
    known: float = 1.0


def build_model(query: Query, profile: RecallProfile, owner: OwnerStatistics) -> LexicalModel | None:
    """Count the query's terms and weigh them; None when no term is known.

    At most 16 terms count, the rarest first.
    """
    found = document_frequencies.of(query.owner_id, query.terms, rows=owner.rows, scopes=query.scopes)
    if not found:
        return None
    n = owner.rows
    rarest = dict(sorted(found.items(), key=lambda item: (item[1], item[0]))[:MAX_TERMS])
    parameters = {"k1": profile.bm25_k1, "b": profile.bm25_b, "average": max(owner.total_length / max(n, 1), 1.0)}
    if profile.lexical == "prax_sparse":
        top = max(query.terms.values())
        weights = {term: query.shares[term] * math.log(1.5 + 0.5 * query.terms[term] / top) for term in rarest}
        return LexicalModel(
            PRAX_SPARSE, weights, found, tuple(rarest), (), parameters, sum(weights.values()) * math.log(2)
        )
    weights = {
        term: math.log(1 + (max(n, count) - count + 0.5) / (count + 0.5))
        * query.shares[term]
        * (query.terms[term] if profile.repeat_terms else 1)
        for term, count in rarest.items()
    }
    kept, skipped = _within_budget(rarest, max(LEAST_BUDGET, int(BUDGET_SHARE * n)))
    best = sum(weights.values()) * (profile.bm25_k1 + 1)
    known = sum(weights.values()) / (sum(weights.values()) + _unknown_weight(query, found, n))
    return LexicalModel(BM25, weights, found, kept, skipped, parameters, best, known)


def _unknown_weight(query: Query, found: Mapping[int, int], rows: int) -> float:
    """Give the weight of the words that stand in no memory, each as rare as a word can be."""
    rarest = math.log(1 + (rows + 0.5) / 0.5)
    return rarest * sum(query.shares[term] for term in query.terms if term not in found)


def _within_budget(frequencies: Mapping[int, int], budget: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    touched = 0
    kept: list[int] = []
    skipped: list[int] = []
    for term, count in frequencies.items():
        touched += count
        (kept if touched <= budget or not kept else skipped).append(term)
    return tuple(kept), tuple(skipped)


def search(query: Query, model: LexicalModel, limit: int) -> dict[UUID, WordScore]:
    """Score rows by the query's words and give the best, highest first."""
    first = max(limit, COMPLETED) if model.skipped else limit
    scores = _ranked(query, model, model.kept, first)
    if not model.skipped or not scores:
        return scores
    for memory_id, extra in _scored(query, model, model.skipped, list(scores)).items():
        known = scores[memory_id]
        scores[memory_id] = WordScore(known.score + extra.score, known.words | extra.words)
    return dict(sorted(scores.items(), key=lambda item: (-item[1].score, item[0]))[:limit])


def complete(query: Query, model: LexicalModel, memory_ids: Sequence[UUID]) -> dict[UUID, WordScore]:
    """Score given rows exactly; rows without any of the words are left out."""
    return _scored(query, model, tuple(model.weights), memory_ids)


def _ranked(query: Query, model: LexicalModel, terms: Sequence[int], limit: int) -> dict[UUID, WordScore]:
    join, where, narrowing = query.narrowing("p")
    statement = (
        f"SELECT p.memory_id, sum({model.formula}) AS score, bit_or(q.bit) {POSTINGS} {join} WHERE true {where} "
        "GROUP BY p.memory_id ORDER BY score DESC, p.memory_id LIMIT %(limit)s"
    )
    return _run(statement, {**_parameters(query, model, terms), **narrowing, "limit": limit})


def _scored(
    query: Query, model: LexicalModel, terms: Sequence[int], memory_ids: Sequence[UUID]
) -> dict[UUID, WordScore]:
    statement = (
        f"SELECT p.memory_id, sum({model.formula}), bit_or(q.bit) {POSTINGS} AND p.memory_id = ANY(%(ids)s::uuid[]) "
        "GROUP BY p.memory_id"
    )
    return _run(statement, {**_parameters(query, model, terms), "ids": id_array(memory_ids)})


def _parameters(query: Query, model: LexicalModel, terms: Sequence[int]) -> dict[str, Any]:
    bits = {term: 1 << place for place, term in enumerate(model.weights)}
    return {
        "owner": query.owner_id,
        "terms": list(terms),
        "weights": [model.weights[term] for term in terms],
        "bits": [bits[term] for term in terms],
        **model.parameters,
    }


def _run(statement: str, parameters: Mapping[str, Any]) -> dict[UUID, WordScore]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return {memory_id: WordScore(float(score), words) for memory_id, score, words in cursor.fetchall()}
