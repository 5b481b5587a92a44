"""Relevance, 0-1: how sure recall is that a hit is worth showing.

In profiles with evidence priors it falls with the distance to the question's best candidate, so it keeps the order of
the logit; how high the best one lies follows from what the whole list says about whether anything answers at all. The
constants are those of `manage.py bench fit-relevance`: a logistic regression over evidence, other candidates, and the
lists of questions that were asked to somebody else's memories. Half is about even odds.

No hit is more relevant than its own scores, and those of the turns beside it, allow. And what holds nearly all words of
a question is worth showing, whatever an embedder thinks of an identifier or a name, and so is what fits the time that
it names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from memory.recall.signals import Column


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constants of one way of asking; a term that it does not have counts nothing."""

    bias: float
    gap: float
    cosine: float = 0.0
    coverage: float = 0.0
    late: float = 0.0


BY_TOKENS: Final = Calibration(bias=-7.64, gap=0.46, cosine=7.19, late=6.25)
BY_VECTORS: Final = Calibration(bias=-5.35, gap=0.51, cosine=10.51)
# By words alone a question that nothing answers can hardly be told from one that something does.
BY_WORDS: Final = Calibration(bias=-0.55, gap=0.30, coverage=1.27)

# The absolute form, for profiles that do not weigh evidence: a logistic regression of "is evidence" on cosine and
# lexical coverage over the candidates of questions about conversations, with the intercept moved to even odds.
ABSOLUTE_BIAS: Final = -3.4
ABSOLUTE_COSINE: Final = 6.5
ABSOLUTE_COVERAGE: Final = 7.3

# A little stricter than the absolute form, since it only bounds.
BOUND_BIAS: Final = -4.0
NEARLY_ALL: Final = 0.6
WORTH_SHOWING: Final = 0.5
# A question may ask for nothing but a time: "what happened last Tuesday?"
OF_THE_TIME: Final = 0.45
WORTH_A_LOOK: Final = 0.35


def calibrated(logits: Column, *, cosine: float | None, coverage: float, late: float | None) -> Column:
    """Give the relevance of every candidate of one question.

    Args:
        logits: of the candidates, before decay and boosts.
        cosine: the highest cosine among them; None where the question has no vector.
        coverage: the highest lexical score among them, as a share of the best possible one.
        late: the highest weighted mean of late interaction among them; None where it did not take part.
    """
    if not len(logits):
        return logits
    way = BY_WORDS if cosine is None else BY_VECTORS if late is None else BY_TOKENS
    level = way.bias + way.cosine * max(cosine or 0.0, 0.0) + way.coverage * coverage + way.late * (late or 0.0)
    likely: Column = 1 / (1 + np.exp(-(level + way.gap * (logits - logits.max()))))
    return likely


def bounded(likely: Column, *, cosine: Column, coverage: Column, held: Column, timely: Column, vectors: bool) -> Column:
    """Keep the relevance of candidates within what their own scores allow.

    Args:
        likely: what `calibrated` gives.
        cosine: of each candidate or of the turns beside it, the highest.
        coverage: the share of the known words that stand in each or in the turns beside it.
        held: the share of all the question's words, by weight, that stand in each; words that no memory holds count.
        timely: how well each fits the time that the question names, 0-1.
        vectors: whether the question has a vector; without one nothing is said about cosines.
    """
    if vectors:
        logits = BOUND_BIAS + ABSOLUTE_COSINE * np.maximum(cosine, 0.0) + ABSOLUTE_COVERAGE * coverage
        likely = np.minimum(likely, 1 / (1 + np.exp(-logits)))
    likely = np.where(held >= NEARLY_ALL, np.maximum(likely, WORTH_SHOWING), likely)
    return np.where(timely >= OF_THE_TIME, np.maximum(likely, WORTH_A_LOOK), likely)


def absolute(cosine: float | None, coverage: float | None) -> float:
    """Estimate a row's relevance from its own scores alone.

    Args:
        cosine: similarity of the vectors; None where there is none.
        coverage: the lexical score as a share of the best possible one; None where no word is shared.
    """
    logit = ABSOLUTE_BIAS + ABSOLUTE_COSINE * max(cosine or 0.0, 0.0) + ABSOLUTE_COVERAGE * (coverage or 0.0)
    return 1 / (1 + math.exp(-logit))
