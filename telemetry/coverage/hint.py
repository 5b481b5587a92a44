"""What the numbers say about the next step, by the published thresholds.

Published (Praxis, "Pipeline Coverage Telemetry"), with one correction: "at most three clusters" counts clusters that
hold fallbacks. A report has a cluster for everything that agents do well too, so that counting all of them practically
never speaks for a few more spokes (decision 27).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ENOUGH: Final = 50
"""Turns under which nothing is concluded."""
WANTED: Final = 100
COVERED: Final = 0.05
FEW_GAPS: Final = 0.15
WIDE_GAP: Final = 0.30
POOR_QUALITY: Final = 0.10
FEW_CLUSTERS: Final = 3


@dataclass(frozen=True, slots=True)
class Figures:
    """What a hint rests on.

    Attributes:
        turns: all turns of the window.
        fallback_rate: share of turns where nothing fitted.
        failure_rate: share of turns that failed or ran out of time.
        fallback_clusters: clusters that hold at least one fallback.
        compared: whether the fallbacks were grouped by what was asked; else by their spoke.
    """

    turns: int
    fallback_rate: float
    failure_rate: float
    fallback_clusters: int
    compared: bool = True


def decision_hint(figures: Figures) -> str:
    """Say in a few sentences whether more spokes, or a way to make them as needed, are justified.

    Args:
        figures: of a report.

    Returns:
        Plain sentences. 5 % is the first fallback rate that counts as a gap, 15 % the first of a significant one, and
        30 % the first that calls for a stop; 10 % is the first failure rate that is remarked on.
    """
    turns = figures.turns
    if turns == 0:
        return "No data: no turn was recorded in this window."
    if turns < ENOUGH:
        return (
            f"Collect more data: {turns} {'turn is' if turns == 1 else 'turns are'} too few to decide. "
            f"Aim for {WANTED} over two weeks."
        )
    percent = f"{figures.fallback_rate:.1%} of turns fall back"
    if figures.fallback_rate < COVERED:
        return f"Stay with the present spokes (L0): only {percent}; an escape hatch is not justified." + _quality(
            figures
        )
    if figures.fallback_rate < FEW_GAPS:
        return _few_gaps(figures, percent)
    if figures.fallback_rate < WIDE_GAP:
        return f"Significant gap: {percent}. Build phase 1, the dynamic escape hatch (L1)."
    return f"STOP: {percent}. The spokes or the choice between them are broken; mend these before building on top."


def _quality(figures: Figures) -> str:
    if figures.failure_rate < POOR_QUALITY:
        return ""
    return f" But {figures.failure_rate:.1%} of turns fail: the quality of the present spokes is the problem."


def _few_gaps(figures: Figures, percent: str) -> str:
    count = figures.fallback_clusters
    clusters = f"{count} {'cluster' if count == 1 else 'clusters'}"
    if not figures.compared:
        return (
            f"Add spokes or begin phase 1: {percent}. Which of the two shows when the requests have been compared; "
            "until then they are grouped by their spokes."
        )
    if count <= FEW_CLUSTERS:
        return f"Add spokes: {percent}, in {clusters} of requests. One spoke for each covers them."
    return f"Phase 1 is justified: {percent}, spread over {clusters} of requests. Single spokes would not cover them."
