"""The Pareto chart of fallbacks: which few sorts of requests make up most of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.coverage.turns import Groups, rate


@dataclass(frozen=True, slots=True)
class Slice:
    """One bar.

    Attributes:
        cluster: the place of its cluster; None for all that have no bar of their own.
        count: turns.
        fallback_count: those of them where nothing fitted; the height of the bar.
        share: of all fallbacks, 0 to 1.
        cumulative: share of this bar and those before it; 1 at the last.
    """

    cluster: int | None
    count: int
    fallback_count: int
    share: float
    cumulative: float


def pareto(groups: Groups, *, most: int) -> tuple[Slice, ...]:
    """Rank clusters by their fallbacks.

    Args:
        groups: the clusters.
        most: bars of single clusters; the rest is one more bar.

    Returns:
        Bars, the highest first, of equally high ones the one with the newer turn; none where nothing fell back.
    """
    order = np.lexsort((groups.newest, -groups.fallbacks))
    order = order[groups.fallbacks[order] > 0]
    shown = [(int(place), int(groups.counts[place]), int(groups.fallbacks[place])) for place in order[:most]]
    rest = order[most:]
    bars: list[tuple[int | None, int, int]] = list(shown)
    if len(rest):
        bars.append((None, int(groups.counts[rest].sum()), int(groups.fallbacks[rest].sum())))
    total = sum(fallbacks for _, _, fallbacks in bars)
    sums = np.cumsum([fallbacks for _, _, fallbacks in bars])
    return tuple(
        Slice(cluster, count, fallbacks, rate(fallbacks, total), rate(int(sums[place]), total))
        for place, (cluster, count, fallbacks) in enumerate(bars)
    )
