"""Fit the weights of the evidence signals: those that make the evidence most likely among a question's candidates.

Conditional logit (McFadden, 1974): for each question the softmax of the candidates' weighted signals is brought close
to an equal share for each piece of evidence, with a penalty on large weights; Newton's method with halved steps.
Figures are also given for weights that never saw the conversation they are tried on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench.quality import DEPTH, MEASURES, Answered, Corpus, adapted, averages, score
from memory.errors import InvalidInput
from memory.models import owner_scope
from memory.recall.evidence import WEIGHTS
from memory.recall.gathering import gather
from memory.recall.profiles import RecallProfile
from memory.recall.weighing import weigh

Matrix = NDArray[np.float64]

PENALTY: Final = 1.0
STEPS: Final = 30
LEAST_GAIN: Final = 1e-6
# Conversations that weights are tried on without having been fitted on them.
TRIED: Final = 2


@dataclass(frozen=True, slots=True)
class Case:
    """One question: its candidates' signals, which of them are evidence, and what it belongs to."""

    corpus: Corpus
    number: int
    items: Sequence[tuple[str, ...]]
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
            weighed = weigh(gather(query, profile, limit=DEPTH), query, profile)
            ground, columns = weighed.ground, weighed.columns
        items = [corpus.items(memory_id) for memory_id in ground.order]
        if items:
            evidence = np.array([not question.evidence.isdisjoint(one) for one in items], dtype=bool)
            # Questions without tokens have no signals of theirs, which weigh nothing then.
            nothing = np.zeros(len(items))
            rows = np.stack([columns.get(name, nothing) for name in names], axis=1)
            yield Case(corpus, number, items, rows, evidence)


def fit(cases: Sequence[Case]) -> Matrix:
    """Find the weights of the signals; questions none of whose candidates is evidence teach nothing.

    Raises:
        InvalidInput: there is no other question.
    """
    taught = [case for case in cases if case.evidence.any()]
    if not taught:
        raise InvalidInput("No question has evidence among its candidates: there is nothing to fit.", code="bench.fit")
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
    found: list[Answered] = []
    for store in stores_of(cases):
        weights = fitted([case for case in cases if case.store != store])
        found += answers([case for case in cases if case.store == store], weights)
    return found


def transfer(cases: Sequence[Case], fitted: Callable[[Sequence[Case]], Matrix]) -> dict[str, Any] | None:
    """Tell what is lost on conversations that were not fitted on, averaged over every choice of two of them.

    Returns:
        The figures of weights fitted on all conversations but the two, those of weights fitted on all, both on the two,
        and the loss between them; None for fewer than three conversations.
    """
    stores = stores_of(cases)
    if len(stores) <= TRIED:
        return None
    everything = fitted(cases)
    apart, together = [], []
    for tried in combinations(stores, TRIED):
        unseen = [case for case in cases if case.store in tried]
        apart.append(averages(answers(unseen, fitted([case for case in cases if case.store not in tried]))))
        together.append(averages(answers(unseen, everything)))
    means = [{name: fmean(row[name] for row in rows) for name in MEASURES} for rows in (apart, together)]
    return {
        "fitted_on_others": {name: round(means[0][name], 4) for name in MEASURES},
        "fitted_on_all": {name: round(means[1][name], 4) for name in MEASURES},
        "loss": {name: round(means[1][name] - means[0][name], 4) for name in MEASURES},
        "splits": len(apart),
    }


def stores_of(cases: Sequence[Case]) -> list[str]:
    """List the conversations of cases."""
    return list(dict.fromkeys(case.store for case in cases))


def measure(groups: Sequence[Sequence[Corpus]], *, tell: Callable[[str], None]) -> dict[str, Any]:
    """Fit on all stores and tell how the present, the new and the held-out weights do.

    Args:
        groups: stored data, source by source. Every question weighs as much as another, whatever its source.
        tell: told of progress.

    Returns:
        `weights` and `present_weights` by signal; the figures of the `present`, the `fitted` and the `rounded` weights,
        and of weights `held_out` conversation by conversation; `by_source` the first three for each source; `transfer`
        for the first source, see there. They are those of the order by the weighted signals alone, before decay and
        quoted phrases.

    Raises:
        InvalidInput: no question has evidence among its candidates.
    """
    names = [weight.signal for weight in WEIGHTS]
    profile = adapted("default")
    by_source = [collect(corpora, profile, names) for corpora in groups]
    cases = [case for part in by_source for case in part]
    tell(f"{len(cases)} questions collected")
    present = np.array([weight.value for weight in WEIGHTS])
    weights = fit(cases)
    tried = {"present": present, "fitted": weights, "rounded": np.round(weights, 1)}
    tell("fitted on everything")
    apart = averages(held_out(cases, fit)) if len(stores_of(cases)) > 1 else None
    tell("fitted without each conversation")
    return {
        "weights": {name: round(float(value), 3) for name, value in zip(names, weights, strict=True)},
        "present_weights": {weight.signal: weight.value for weight in WEIGHTS},
        **{name: averages(answers(cases, values)) for name, values in tried.items()},
        "held_out": apart,
        "by_source": [
            {
                "stores": stores_of(part),
                **{name: averages(answers(part, values)) for name, values in tried.items()},
                "n": len(part),
            }
            for part in by_source
        ],
        "transfer": transfer(by_source[0], fit),
        "n": len(cases),
    }
