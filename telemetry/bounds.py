"""The bounds by which durations and scores are counted, the same in reports, pages and metrics."""

from __future__ import annotations

from typing import Final

LATENCY_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the latency of a recall, in seconds, each included; what takes longer falls in one more bucket."""

STAGE_SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper bounds of one stage of a recall, in seconds, each included."""

SCORE_BOUNDS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Inner bounds of ten equal bins of relevance, 0 to 1; a value on a bound belongs to the bin below it."""
