"""Intervals of 95 % for what was observed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

# The 97.5 % quantile of the normal distribution.
Z: Final = 1.959963984540054
RESAMPLES: Final = 1_000
# With fewer agents than this an arm can be drawn anew in too few ways for an interval to mean anything.
LEAST_AGENTS: Final = 5
SEED: Final = 20020412

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with its two ends."""

    low: float
    high: float


def wilson(successes: int, trials: int) -> Interval | None:
    """Give the score interval of a share (Wilson 1927; Newcombe 1998, method 3); None without trials."""
    if not trials:
        return None
    share, square = successes / trials, Z * Z
    middle = share + square / (2 * trials)
    reach = Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials * trials))
    below = 1 + square / trials
    return Interval(max(0.0, (middle - reach) / below), min(1.0, (middle + reach) / below))


@dataclass(frozen=True, slots=True)
class Clustered:
    """Values of one arm, each with the number of the agent that it comes from, counted from 0."""

    values: Floats
    agents: NDArray[np.int64]

    @property
    def number(self) -> int:
        """Give how many agents there are."""
        return int(self.agents.max()) + 1 if len(self.agents) else 0


Statistic = Callable[[Floats, Floats], float]
"""Takes values and how often each counts; gives NaN where nothing counts."""


def mean_of(values: Floats, weights: Floats) -> float:
    """Give the weighted mean."""
    whole = float(weights.sum())
    return float(values @ weights) / whole if whole else math.nan


def quantile_of(share: float) -> Statistic:
    """Make the statistic that gives a quantile: the least value at which so much of the weight is reached.

    The values have to be ascending.
    """

    def statistic(values: Floats, weights: Floats) -> float:
        reached = np.cumsum(weights)
        if not len(reached) or not reached[-1]:
            return math.nan
        return float(values[np.searchsorted(reached, share * reached[-1])])

    return statistic


def difference(control: Clustered, variant: Clustered, statistic: Statistic) -> Interval | None:
    """Give the interval of what a statistic of the variant has more than that of the control.

    A bootstrap over agents (Davison and Hinkley 1997, section 3.8): recalls of one agent resemble each other, so whole
    agents are drawn, with replacement, in each arm. Percentiles of 1,000 draws with a fixed seed, so that the same data
    give the same interval.

    Returns:
        None where an arm has fewer than 5 agents.
    """
    if min(control.number, variant.number) < LEAST_AGENTS:
        return None
    generator = np.random.default_rng(SEED)
    found = _drawn(variant, statistic, generator) - _drawn(control, statistic, generator)
    low, high = np.nanquantile(found, (0.025, 0.975))
    return Interval(float(low), float(high))


def _drawn(arm: Clustered, statistic: Statistic, generator: np.random.Generator) -> Floats:
    number = arm.number
    draws = generator.multinomial(number, np.full(number, 1 / number), size=RESAMPLES)
    return np.array([statistic(arm.values, draw[arm.agents].astype(np.float64)) for draw in draws])


def clustered(values: Sequence[float], agents: Sequence[object]) -> Clustered:
    """Number the agents of values, and put these in ascending order."""
    numbers: dict[object, int] = {}
    numbered = np.array([numbers.setdefault(agent, len(numbers)) for agent in agents], dtype=np.int64)
    given = np.asarray(values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    return Clustered(given[order], numbered[order])
