"""What one more spoke would cover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.coverage.turns import Groups, rate


@dataclass(frozen=True, slots=True)
class Gain:
    """The cluster that one more spoke would cover best: how many fallbacks, and the fallback rate that is left."""

    cluster: int
    covers: int
    fallback_rate_after: float


def next_spoke(groups: Groups, *, turns: int) -> Gain | None:
    """Find the cluster of alike requests with the most fallbacks; the larger fallback rate decides between equals.

    What is grouped by its spoke alone has no subject that a spoke could be made for, and does not count.

    Args:
        groups: the clusters.
        turns: all turns of the window.

    Returns:
        The gain if the spoke took all of these requests; None where no cluster of alike requests holds a fallback.
    """
    fallbacks = np.where(groups.by_vector, groups.fallbacks, 0)
    if not fallbacks.any():
        return None
    best = int(np.lexsort((groups.newest, -groups.fallback_rates, -fallbacks))[0])
    covered = int(fallbacks[best])
    return Gain(best, covered, rate(int(groups.fallbacks.sum()) - covered, turns))
