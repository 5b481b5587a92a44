"""Intervals of 95 % for what was observed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
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
    """Values of one arm in ascending order, each with the number of the agent that it comes from, counted from 0."""

    values: Floats
    agents: NDArray[np.int64]

    @property
    def number(self) -> int:
        """Give how many agents there are."""
        return int(self.agents.max()) + 1 if len(self.agents) else 0


Draws = NDArray[np.int64]
"""How often each agent of an arm counts: a row for each draw, a column for each agent."""
Statistic = Callable[[Clustered, Draws], Floats]
"""Gives its value for each draw; NaN where nothing counts."""


def mean_of(arm: Clustered, draws: Draws) -> Floats:
    """Give the mean of each draw, from the sums and counts of agents."""
    sums = np.bincount(arm.agents, weights=arm.values, minlength=arm.number)
    counts = np.bincount(arm.agents, minlength=arm.number)
    number = (draws @ counts).astype(np.float64)
    found: Floats = np.divide(draws @ sums, number, out=np.full(len(draws), math.nan), where=number > 0)
    return found


def quantile_of(share: float) -> Statistic:
    """Make the statistic that gives a quantile: the least value at which so much of the weight is reached.

    Values are counted in blocks by agent first, so that a draw adds up blocks, and single values in one of them only.
    """

    def statistic(arm: Clustered, draws: Draws) -> Floats:
        size = max(1, math.isqrt(len(arm.values)))
        blocks = np.arange(len(arm.values)) // size
        held = np.zeros((int(blocks[-1]) + 1 if len(blocks) else 0, arm.number), dtype=np.int64)
        np.add.at(held, (blocks, arm.agents), 1)
        reached = np.cumsum(draws @ held.T, axis=1)
        found = np.full(len(draws), math.nan)
        for place, (draw, sums) in enumerate(zip(draws, reached, strict=True)):
            if not len(sums) or not sums[-1]:
                continue
            wanted = share * sums[-1]
            block = int(np.searchsorted(sums, wanted))
            begin = block * size
            within = np.cumsum(draw[arm.agents[begin : begin + size]]) + (sums[block - 1] if block else 0)
            found[place] = arm.values[begin + int(np.searchsorted(within, wanted))]
        return found

    return statistic


def whole(arm: Clustered, statistic: Statistic) -> float:
    """Give a statistic of an arm as it is, every agent counted once."""
    return float(statistic(arm, np.ones((1, arm.number), dtype=np.int64))[0])


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
    found = statistic(variant, _draws(variant, generator)) - statistic(control, _draws(control, generator))
    low, high = np.nanquantile(found, (0.025, 0.975))
    return Interval(float(low), float(high))


def _draws(arm: Clustered, generator: np.random.Generator) -> Draws:
    return generator.multinomial(arm.number, np.full(arm.number, 1 / arm.number), size=RESAMPLES)


def clustered(values: Sequence[float] | Floats, agents: Iterable[object]) -> Clustered:
    """Number the agents of values, and put these in ascending order."""
    numbers: dict[object, int] = {}
    numbered = np.fromiter((numbers.setdefault(agent, len(numbers)) for agent in agents), dtype=np.int64)
    given = np.asarray(values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    return Clustered(given[order], numbered[order])
