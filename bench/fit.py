"""Fit the weights of the evidence signals: those that make the evidence most likely among a question's candidates.

Conditional logit (McFadden, 1974): for each question the softmax of the candidates' weighted signals is brought close
to an equal share for each piece of evidence, with a penalty on large weights; Newton's method with halved steps.
Figures are also given for weights that never saw the conversation they are tried on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.quality import DEPTH, Answered, Corpus, adapted, averages, score
from memory.models import owner_scope
from memory.recall.evidence import WEIGHTS
from memory.recall.pipeline import gather, weigh
from memory.recall.profiles import RecallProfile

Matrix = NDArray[np.float64]

PENALTY: Final = 1.0
STEPS: Final = 30
LEAST_GAIN: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Case:
    """One question: its candidates' signals, which of them are evidence, and what it belongs to."""

    corpus: Corpus
    number: int
    items: Sequence[str]
    signals: Matrix
    evidence: NDArray[np.bool_]

    @property
    def store(self) -> str:
        """Name the conversation."""
        return self.corpus.store.name


def collect(corpora: Sequence[Corpus], profile: RecallProfile, names: Sequence[str]) -> list[Case]:
    """Compute the signals of every question's candidates, as the product does."""
    return [case for corpus in corpora for case in _cases(corpus, profile, names)]


def _cases(corpus: Corpus, profile: RecallProfile, names: Sequence[str]) -> Iterator[Case]:
    for number, (question, query) in enumerate(corpus.prepared):
        with owner_scope(corpus.actor.owner_id):
            ground, columns = weigh(gather(query, profile, limit=DEPTH), query, profile)
        items = [corpus.item_of[memory_id] for memory_id in ground.order]
        if items:
            evidence = np.array([item in question.evidence for item in items], dtype=bool)
            yield Case(corpus, number, items, np.stack([columns[name] for name in names], axis=1), evidence)


def fit(cases: Sequence[Case]) -> Matrix:
    """Find the weights of the signals; questions none of whose candidates is evidence teach nothing."""
    taught = [case for case in cases if case.evidence.any()]
    everything = np.concatenate([case.signals for case in taught])
    scale = everything.std(axis=0)
    scale[scale == 0] = 1.0
    scaled: list[Matrix] = [case.signals / scale for case in taught]
    shares: list[Matrix] = [case.evidence / case.evidence.sum() for case in taught]
    weights: Matrix = np.zeros(everything.shape[1], dtype=np.float64)
    likelihood = _likelihood(scaled, shares, weights)
    for _ in range(STEPS):
        step: Matrix = _newton_step(scaled, shares, weights)
        size = 1.0
        better = _likelihood(scaled, shares, weights + step)
        while better < likelihood and size > LEAST_GAIN:
            size /= 2
            better = _likelihood(scaled, shares, weights + size * step)
        gained = better - likelihood
        weights = np.asarray(weights + size * step, dtype=np.float64)
        likelihood = better
        if gained < LEAST_GAIN * abs(likelihood):
            break
    found: Matrix = weights / scale
    return found


def _likelihood(scaled: Sequence[Matrix], shares: Sequence[Matrix], weights: Matrix) -> float:
    total = -0.5 * PENALTY * float(weights @ weights)
    for signals, share in zip(scaled, shares, strict=True):
        logits = signals @ weights
        highest = logits.max()
        total += float(share @ logits - highest - np.log(np.exp(logits - highest).sum()))
    return total


def _newton_step(scaled: Sequence[Matrix], shares: Sequence[Matrix], weights: Matrix) -> Matrix:
    gradient: Matrix = -PENALTY * weights
    curvature: Matrix = PENALTY * np.eye(len(weights), dtype=np.float64)
    for signals, share in zip(scaled, shares, strict=True):
        likely = np.exp(signals @ weights - (signals @ weights).max())
        likely /= likely.sum()
        mean: Matrix = likely @ signals
        gradient += share @ signals - mean
        curvature += (signals * likely[:, np.newaxis]).T @ signals - np.outer(mean, mean)
    step: Matrix = np.linalg.solve(curvature, gradient).astype(np.float64)
    return step


def answers(cases: Sequence[Case], weights: Matrix) -> list[Answered]:
    """Rank each question's candidates by the weighted signals and compare with its evidence."""
    found = []
    for case in cases:
        order = np.argsort(-(case.signals @ weights), kind="stable")[:DEPTH]
        question = case.corpus.store.questions[case.number]
        found.append(score(case.corpus, question, [case.items[place] for place in order]))
    return found


def held_out(cases: Sequence[Case], fitted: Callable[[Sequence[Case]], Matrix]) -> list[Answered]:
    """Answer each conversation's questions with weights fitted on all the others."""
    stores = list(dict.fromkeys(case.store for case in cases))
    found: list[Answered] = []
    for store in stores:
        weights = fitted([case for case in cases if case.store != store])
        found += answers([case for case in cases if case.store == store], weights)
    return found


def measure(corpora: Sequence[Corpus], *, tell: Callable[[str], None]) -> dict[str, Any]:
    """Fit on all stores and give the weights with the figures of the present, the new and the held-out weights."""
    names = [weight.signal for weight in WEIGHTS]
    cases = collect(corpora, adapted("default"), names)
    tell(f"{len(cases)} questions collected")
    present = np.array([weight.value for weight in WEIGHTS])
    weights = fit(cases)
    rounded = np.round(weights, 1)

    def figures(answered: Sequence[Answered]) -> Mapping[str, Any]:
        return averages(answered)

    return {
        "weights": {name: round(float(value), 3) for name, value in zip(names, weights, strict=True)},
        "present": figures(answers(cases, present)),
        "fitted": figures(answers(cases, weights)),
        "rounded": figures(answers(cases, rounded)),
        "held_out": figures(held_out(cases, fit)),
        "n": len(cases),
    }
