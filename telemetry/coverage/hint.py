"""What the numbers say about the next step, by the published thresholds.

Published (Praxis, "Pipeline Coverage Telemetry"), with one correction: "at most three clusters" counts clusters that
hold fallbacks. A report has a cluster for everything that agents do well too, so that counting all of them practically
never speaks for a few more spokes (decision 27).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext_noop

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


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of a hint with its values apart, as pages need it that speak another language."""

    text: str
    values: Mapping[str, str | int]

    def __str__(self) -> str:
        """Write it in English, which programs get."""
        return self.text % self.values


def hint(figures: Figures) -> tuple[Said, ...]:
    """Say in a few sentences whether more spokes, or a way to make them as needed, are justified.

    Args:
        figures: of a report.

    Returns:
        Plain sentences. 5 % is the first fallback rate that counts as a gap, 15 % the first of a significant one, and
        30 % the first that calls for a stop; 10 % is the first failure rate that is remarked on.
    """
    if figures.turns == 0:
        return (Said(gettext_noop("No data: no turn was recorded in this window."), {}),)
    if figures.turns < ENOUGH:
        return (_too_few(figures.turns),)
    rate = f"{figures.fallback_rate:.1%}"
    if figures.fallback_rate < COVERED:
        text = gettext_noop(
            "Stay with the present spokes (L0): only %(rate)s of turns fall back; an escape hatch is not justified."
        )
        return (Said(text, {"rate": rate}), *_quality(figures))
    if figures.fallback_rate < FEW_GAPS:
        return (_few_gaps(figures, rate),)
    if figures.fallback_rate < WIDE_GAP:
        text = gettext_noop(
            "Significant gap: %(rate)s of turns fall back. Build phase 1, the dynamic escape hatch (L1)."
        )
        return (Said(text, {"rate": rate}),)
    text = gettext_noop(
        "STOP: %(rate)s of turns fall back. The spokes or the choice between them are broken; mend these before "
        "building on top."
    )
    return (Said(text, {"rate": rate}),)


def _too_few(turns: int) -> Said:
    one = gettext_noop("Collect more data: %(turns)d turn is too few to decide. Aim for %(wanted)d over two weeks.")
    many = gettext_noop("Collect more data: %(turns)d turns are too few to decide. Aim for %(wanted)d over two weeks.")
    return Said(one if turns == 1 else many, {"turns": turns, "wanted": WANTED})


def _quality(figures: Figures) -> tuple[Said, ...]:
    if figures.failure_rate < POOR_QUALITY:
        return ()
    text = gettext_noop("But %(rate)s of turns fail: the quality of the present spokes is the problem.")
    return (Said(text, {"rate": f"{figures.failure_rate:.1%}"}),)


def _few_gaps(figures: Figures, rate: str) -> Said:
    values: dict[str, str | int] = {"rate": rate, "clusters": figures.fallback_clusters}
    if not figures.compared:
        text = gettext_noop(
            "Add spokes or begin phase 1: %(rate)s of turns fall back. Which of the two shows when the requests have "
            "been compared; until then they are grouped by their spokes."
        )
    elif figures.fallback_clusters == 1:
        text = gettext_noop(
            "Add spokes: %(rate)s of turns fall back, in %(clusters)d cluster of requests. One spoke for each covers "
            "them."
        )
    elif figures.fallback_clusters <= FEW_CLUSTERS:
        text = gettext_noop(
            "Add spokes: %(rate)s of turns fall back, in %(clusters)d clusters of requests. One spoke for each covers "
            "them."
        )
    else:
        text = gettext_noop(
            "Phase 1 is justified: %(rate)s of turns fall back, spread over %(clusters)d clusters of requests. Single "
            "spokes would not cover them."
        )
    return Said(text, values)
