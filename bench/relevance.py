"""Calibrate the relevance of the default profile: from the logit that orders a question's candidates to a share, 0-1.

Within one question relevance falls with the distance to its best candidate, so that it keeps the order of the logit.
How high the best one lies follows from what the whole list says about whether anything answers: the highest cosine, the
highest share of the question's words and the best late interaction. Logistic regression; a question that is asked to
somebody else's store shows what the list of an unanswerable one looks like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.dataset import Question
from bench.quality import DEPTH, Corpus, adapted, prepared
from memory.errors import InvalidInput
from memory.models import owner_scope
from memory.recall import evidence
from memory.recall.gathering import gather
from memory.recall.query import Query
from memory.recall.weighing import weigh

Matrix = NDArray[np.float64]

TERMS: Final = ("gap", "cosine", "coverage", "late")
# What can be missing, and the terms that are left then.
WAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "tokens": ("gap", "cosine", "late"),
    "vectors": ("gap", "cosine"),
    "words": ("gap", "coverage"),
}
# How many of the best rows that are no evidence are fitted on, of the question's own list and of a foreign one.
OWN_NEGATIVES: Final = 20
FOREIGN_NEGATIVES: Final = 5
# What evidence, the other rows of own lists and the rows of foreign lists weigh, however many each are. Half is even
# odds between a piece of evidence and a first hit where nothing answers.
SHARES: Final = (0.4, 0.2, 0.4)
PASSES: Final = 0.3
STEPS: Final = 100


@dataclass(frozen=True, slots=True)
class Listed:
    """A question's candidates, best first: their logits, which are evidence, and what the list says as a whole."""

    logits: Matrix
    evidence: NDArray[np.bool_]
    cosine: float
    coverage: float
    late: float

    def features(self, places: Sequence[int] | NDArray[np.int64]) -> Matrix:
        """Give the terms of some candidates, a row for each."""
        gaps = self.logits[places] - self.logits[0]
        whole = np.broadcast_to([self.cosine, self.coverage, self.late], (len(gaps), 3))
        return np.column_stack([gaps, whole])


@dataclass(frozen=True, slots=True)
class Asked:
    """One question asked to its own store and to a foreign one; a list may be empty."""

    own: Listed | None
    foreign: Listed | None


def fit_relevance(groups: Sequence[Sequence[Corpus]], *, tell: Callable[[str], None]) -> dict[str, Any]:
    """Fit the constants of the relevance, with tokens, without tokens and by words alone.

    Args:
        groups: stored data, source by source; each question is also asked to another store of its own source, since
            one of another source would give itself away by its subject.
        tell: told of progress.

    Returns:
        For each way the constants `bias` and one for each term, and the quality: `auc` over all rows that were
        fitted on, `evidence_passes` the share of questions whose best evidence has at least 0.3, `foreign_fails` that
        of foreign questions whose best hit has less.

    Raises:
        InvalidInput: a source with one store only.
    """
    if not groups or any(len(corpora) < 2 for corpora in groups):
        raise InvalidInput(
            "Relevance is fitted on sources of two stores at least: each question is also asked to another one.",
            code="bench.sources",
        )
    pairs = [pair for corpora in groups for pair in _pairs(corpora)]
    tell(f"{len(pairs)} questions made ready for a foreign store")
    found = {}
    for way, terms in WAYS.items():
        asked = [_ask(pair, way) for pair in pairs]
        found[way] = calibrate(asked, terms)
        tell(f"relevance with {way}: {_line(found[way])}")
    return found


@dataclass(frozen=True, slots=True)
class _Pair:
    """A question made ready for its own store, and for another one."""

    own: Corpus
    other: Corpus
    question: Question
    query: Query
    foreign: Query


def _pairs(corpora: Sequence[Corpus]) -> Iterator[_Pair]:
    """Pair every question with the other stores in turn."""
    for number, corpus in enumerate(corpora):
        others = [*corpora[number + 1 :], *corpora[:number]]
        for at, (question, query) in enumerate(corpus.prepared):
            other = others[at % len(others)]
            yield _Pair(corpus, other, question, query, prepared(other.actor, question.text))


def _ask(pair: _Pair, way: str) -> Asked:
    own = _listed(pair.own, _as(pair.query, way), pair.question.evidence)
    return Asked(own, _listed(pair.other, _as(pair.foreign, way), frozenset()))


def _as(query: Query, way: str) -> Query:
    if way == "tokens":
        return query
    return replace(query, tokens=None, vector=query.vector if way == "vectors" else None)


def _listed(corpus: Corpus, query: Query, wanted: frozenset[str]) -> Listed | None:
    profile = adapted("default")
    with owner_scope(corpus.actor.owner_id):
        gathered = gather(query, profile, limit=DEPTH)
        if not gathered.candidates:
            return None
        weighed = weigh(gathered, query, profile)
    found, ground = gathered.found, weighed.ground
    logits = evidence.logit(weighed.columns)
    order = np.argsort(-logits, kind="stable")
    return Listed(
        logits=logits[order],
        evidence=np.array([not wanted.isdisjoint(corpus.items(ground.order[place])) for place in order], dtype=bool),
        cosine=max([0.0, *found.complete.get("dense", {}).values()]),
        coverage=max(found.coverage(memory_id) or 0.0 for memory_id in ground.order),
        late=weighed.late or 0.0,
    )


def calibrate(asked: Sequence[Asked], terms: Sequence[str]) -> dict[str, Any]:
    """Fit the constants on lists and tell how good they are."""
    chosen = [TERMS.index(term) for term in terms]
    groups: list[list[Matrix]] = [[], [], []]
    for one in asked:
        if one.own is not None:
            near = np.arange(len(one.own.logits)) < OWN_NEGATIVES
            groups[0].append(one.own.features(np.flatnonzero(one.own.evidence)))
            groups[1].append(one.own.features(np.flatnonzero(near & ~one.own.evidence)))
        if one.foreign is not None:
            groups[2].append(one.foreign.features(np.arange(min(FOREIGN_NEGATIVES, len(one.foreign.logits)))))
    stacked = [np.concatenate([*rows, np.empty((0, len(TERMS)))])[:, chosen] for rows in groups]
    rows, right = np.concatenate(stacked), np.repeat([1.0, 0.0, 0.0], [len(part) for part in stacked])
    weights = np.repeat(
        [share / max(len(part), 1) for share, part in zip(SHARES, stacked, strict=True)],
        [len(part) for part in stacked],
    )
    constants = logistic(rows, right, weights)

    def relevance(listed: Listed, place: int) -> float:
        value = constants[0] + float(listed.features([place])[0, chosen] @ constants[1:])
        return float(1 / (1 + np.exp(-value)))

    passes = [
        one.own is not None
        and bool(one.own.evidence.any())
        and relevance(one.own, int(one.own.evidence.argmax())) >= PASSES
        for one in asked
    ]
    fails = [one.foreign is None or relevance(one.foreign, 0) < PASSES for one in asked]
    return {
        "bias": round(float(constants[0]), 2),
        **{term: round(float(value), 2) for term, value in zip(terms, constants[1:], strict=True)},
        "auc": round(area(rows @ constants[1:], right), 4),
        "evidence_passes": round(float(np.mean(passes)), 4),
        "foreign_fails": round(float(np.mean(fails)), 4),
        "n": len(asked),
    }


def logistic(rows: Matrix, right: Matrix, weights: Matrix) -> Matrix:
    """Fit a weighted logistic regression by Newton's method; gives the bias, then a constant for each column."""
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    scaled = np.column_stack([np.ones(len(rows)), (rows - centre) / scale])
    share = weights / weights.sum()
    found: Matrix = np.zeros(scaled.shape[1])
    # A trace of a penalty keeps columns without any spread, or groups without overlap, from running away.
    penalty = 1e-6 * np.eye(len(found))
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-np.clip(scaled @ found, -40, 40)))
        curvature = (scaled * (share * likely * (1 - likely))[:, np.newaxis]).T @ scaled + penalty
        step: Matrix = np.linalg.solve(curvature, scaled.T @ (share * (right - likely)) - penalty @ found)
        found = found + step
        if np.abs(step).max() < 1e-8:
            break
    constants = found[1:] / scale
    return np.array([found[0] - float(centre @ constants), *constants])


def area(scores: Matrix, right: Matrix) -> float:
    """Give the chance that a right row scores higher than a wrong one (area under the curve); 0.5 without either."""
    good, bad = np.sort(scores[right > 0]), np.sort(scores[right <= 0])
    if not len(good) or not len(bad):
        return 0.5
    below = np.searchsorted(bad, good, side="left") + np.searchsorted(bad, good, side="right")
    return float(below.sum() / (2 * len(good) * len(bad)))


def _line(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in figures.items())
