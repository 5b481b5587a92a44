"""A number of recalls in figures: how many found something, helped, and how long they took."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.quality.histograms import quantile
from telemetry.quality.intervals import wilson
from telemetry.services.recalls.reading import Floats, Recalls


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % interval after Wilson; share and interval are None where there is nothing to share.

    Recalls of one agent resemble each other, which the interval does not know: it is rather too narrow.
    """

    count: int
    of: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Summary:
    """Recalls in figures.

    Attributes:
        recalls: all of them.
        looked: those that looked for anything; the gate lets no greeting through.
        found: those of them with a hit as relevant as was asked for.
        nothing: how many of them showed nothing at all.
        fallbacks: how many of them were answered by the scan of texts.
        helpful: of those of which something was said, those that have helped.
        ndcg: the mean estimate over those that looked, see `telemetry.quality.ndcg.estimate`; None of none.
        p50_ms, p95_ms, p99_ms: quantiles of what they took, in milliseconds; None of none.
    """

    recalls: int
    looked: int
    found: Rate
    nothing: int
    fallbacks: int
    helpful: Rate
    ndcg: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


def rate(count: int, of: int) -> Rate:
    """Make a rate of counts."""
    interval = wilson(count, of)
    if interval is None:
        return Rate(count, of, None, None, None)
    return Rate(count, of, count / of, interval.low, interval.high)


def summary(recalls: Recalls) -> Summary:
    """Sum up recalls."""
    looked = recalls.those(recalls.looked)
    verdicts = looked.helpful[~np.isnan(looked.helpful)]
    return Summary(
        recalls=len(recalls),
        looked=len(looked),
        found=rate(int(looked.found.sum()), len(looked)),
        nothing=int((looked.shown == 0).sum()),
        fallbacks=int(looked.fallback.sum()),
        helpful=rate(int(verdicts.sum()), len(verdicts)),
        ndcg=float(looked.ndcg.mean()) if len(looked) else None,
        p50_ms=milliseconds(looked.seconds, 0.5),
        p95_ms=milliseconds(looked.seconds, 0.95),
        p99_ms=milliseconds(looked.seconds, 0.99),
    )


def milliseconds(seconds: Floats, share: float) -> float | None:
    """Give a quantile of seconds in milliseconds, None of nothing."""
    found = quantile(seconds, share)
    return None if found is None else round(found * 1000, 3)
