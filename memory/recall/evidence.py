"""Evidence priors: what tells a memory that answers from one that only sounds like the question.

A candidate's signals (`memory.recall.signals`), weighted and added, are a logit: by it the candidates are ordered, and
its sigmoid, moved so that a question without any answer stays low, is the relevance that thresholds and percentages
use. `manage.py bench fit` computes the weights: those that make the evidence most likely among its candidates
(conditional logit, McFadden 1974), regularised, rounded to one decimal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from memory.recall.signals import Column


@dataclass(frozen=True, slots=True)
class Weight:
    """The weight of one signal, and what the signal is."""

    signal: str
    value: float
    meaning: str


WEIGHTS: Final = (
    Weight("spread_rank", 0.4, "Logarithm of the rank by the spread score: the first few differ most."),
    Weight("second_before", 0.3, "The score of the turn before the one before: a subject lasts several turns."),
    Weight("conversation", 0.2, "The best score in the same conversation; a statement stands for itself."),
    Weight("window", 0.7, "The share of the question's words, by weight, that stand here or in the turns beside."),
    Weight("subject", 1.2, "The share of the question's words that the conversation's candidates hold together."),
    Weight("length", 0.4, "Logarithm of the number of words: short turns seldom say anything."),
    Weight("question", -1.1, "A question is seldom the answer to one."),
    Weight("answers", 0.7, "What follows a question often answers it."),
    Weight("timely", 5.7, "How well the memory fits the time that the question names."),
    Weight("time", 1.9, "The question asks when, and the text holds a word of time."),
    Weight("number", 2.1, "The question asks how many or how long, and the text holds a number."),
    Weight("other_speaker", -0.8, "The question names one speaker, and another one said this."),
    Weight("late", 0.4, "How well each word of the question finds a word of like meaning, rare words first."),
    Weight("late_window", 0.7, "The same, where the turns beside may help."),
    Weight("graph", 0.1, "The question asks for several things: logarithm of the rank by nearness in the graph."),
)
"""At most twenty, fitted together; a signal that is not listed weighs nothing."""


def logit(signals: Mapping[str, Column], weights: tuple[Weight, ...] = WEIGHTS) -> Column:
    """Give the weighted sum of the signals of each candidate."""
    columns = [weight.value * signals[weight.signal] for weight in weights if weight.signal in signals]
    total: Column = np.sum(columns, axis=0)
    return total


def terms(signals: Mapping[str, Column], place: int, weights: tuple[Weight, ...] = WEIGHTS) -> dict[str, float]:
    """Give what each signal adds to the logit of one candidate; signals that add nothing are left out."""
    found = {
        weight.signal: weight.value * float(signals[weight.signal][place])
        for weight in weights
        if weight.signal in signals
    }
    return {signal: value for signal, value in found.items() if abs(value) >= 0.0005}
