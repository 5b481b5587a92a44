"""Which names the rules make one: false merges, what a person is asked, and what other thresholds would do.

The pairs stand in `name_pairs.tsv`. Each says in which half it is, whether the two names mean the same, the type, the
area and both names. Rules are changed with the half `tune` in view; `test` only tells what that gives elsewhere.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memory.consolidation.resolution import FLOOR, SURE, Judgement, Verdict, judge
from memory.errors import InvalidInput
from memory.models import EntityType

PAIRS: Final = Path(__file__).with_name("name_pairs.tsv")
BEGIN: Final = "<!-- resolution:begin -->"
END: Final = "<!-- resolution:end -->"
THRESHOLDS: Final = (0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94, 0.95, 0.96, 0.97, 0.99, 1.0)
HALVES: Final = ("tune", "test")


@dataclass(frozen=True, slots=True)
class NamePair:
    """Two names, whether they mean the same, and what kind of difference they show."""

    half: str
    same: bool
    type: str
    area: str
    first: str
    second: str


def read_pairs(path: Path = PAIRS) -> list[NamePair]:
    """Read the labelled pairs; raises InvalidInput when a line cannot be used or a pair stands there twice."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    pairs = [_pair(row) for row in rows]
    if len({(pair.type, frozenset((pair.first, pair.second))) for pair in pairs}) < len(pairs):
        raise InvalidInput(f"{path.name} has a pair twice.", code="bench.pairs")
    return pairs


def measure(pairs: Sequence[NamePair] | None = None) -> dict[str, Any]:
    """Judge every pair and count.

    Returns:
        `precision` and `recall` of what is merged without asking, `false_merges`, `reviewed_share` (of the pairs, how
        many a person is asked about), `missed_share` (of the pairs that mean the same, how many are neither merged nor
        asked about), `pairs`; all of it again by half and by area, and `curve`, precision and recall at each threshold.
    """
    found = [(pair, judge(pair.first, pair.second, type_=pair.type)) for pair in pairs or read_pairs()]
    areas = dict.fromkeys(pair.area for pair, _ in found)
    return {
        **_figures(found),
        "sure": SURE,
        "floor": FLOOR,
        "halves": {half: _figures([one for one in found if one[0].half == half]) for half in HALVES},
        "areas": {area: _figures([one for one in found if one[0].area == area]) for area in areas},
        "curve": [_at(found, threshold) for threshold in THRESHOLDS],
    }


def curve_table(figures: Mapping[str, Any]) -> list[str]:
    """Write the curve as a Markdown table, the threshold that ships marked."""
    lines = ["| threshold | merged | false merges | precision | recall |", "|---|---|---|---|---|"]
    for row in figures["curve"]:
        at = f"**{row['threshold']:.2f}**" if row["threshold"] == figures["sure"] else f"{row['threshold']:.2f}"
        counts = f"{row['merged']} | {row['false_merges']}"
        lines.append(f"| {at} | {counts} | {_share(row['precision'])} | {_share(row['recall'])} |")
    return lines


def area_table(figures: Mapping[str, Any]) -> list[str]:
    """Write what becomes of the pairs as a Markdown table, by half and by area."""
    lines = ["| | pairs | false merges | precision | recall | asked | missed |", "|---|---|---|---|---|---|---|"]
    for name, row in {**figures["halves"], **figures["areas"]}.items():
        shares = " | ".join(_share(row[key]) for key in ("precision", "recall", "reviewed_share", "missed_share"))
        lines.append(f"| {name} | {row['pairs']} | {row['false_merges']} | {shares} |")
    return lines


def page_text(figures: Mapping[str, Any]) -> str:
    """Write both tables for the page."""
    summary = (
        f"{figures['pairs']} pairs: {figures['false_merges']} false merges, recall {_share(figures['recall'])} without "
        f"asking, a person is asked about {_share(figures['reviewed_share'])} of the pairs."
    )
    return "\n".join([summary, "", *curve_table(figures), "", *area_table(figures)])


def _pair(row: Mapping[str, str | None]) -> NamePair:
    values = [row.get(name) or "" for name in ("half", "label", "type", "area", "first", "second")]
    half, label, type_, area, first, second = values
    if (
        half not in HALVES
        or label not in ("same", "differ")
        or type_ not in EntityType.values
        or not (first and second)
    ):
        raise InvalidInput(f"A line of {PAIRS.name} cannot be used: {values}.", code="bench.pairs")
    return NamePair(half, label == "same", type_, area, first, second)


def _figures(found: Iterable[tuple[NamePair, Judgement]]) -> dict[str, Any]:
    judged = list(found)
    merged = [pair for pair, judgement in judged if judgement.verdict == Verdict.SAME]
    asked = [pair for pair, judgement in judged if judgement.verdict == Verdict.ASK]
    same = sum(pair.same for pair, _ in judged)
    right = sum(pair.same for pair in merged)
    return {
        "precision": _ratio(right, len(merged)),
        "recall": _ratio(right, same),
        "false_merges": len(merged) - right,
        "reviewed_share": _ratio(len(asked), len(judged)),
        "missed_share": _ratio(same - right - sum(pair.same for pair in asked), same),
        "pairs": len(judged),
    }


def _at(found: Sequence[tuple[NamePair, Judgement]], threshold: float) -> dict[str, Any]:
    merged = [pair for pair, judgement in found if judgement.score >= threshold]
    right = sum(pair.same for pair in merged)
    return {
        "threshold": threshold,
        "merged": len(merged),
        "false_merges": len(merged) - right,
        "precision": _ratio(right, len(merged)),
        "recall": _ratio(right, sum(pair.same for pair, _ in found)),
    }


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}".removeprefix("0") if value < 1 else "1.000"
