"""The labelled names: enough of every kind, no false merge above what is sure, and figures that count what they say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bench.resolution import HALVES, PAIRS, NamePair, curve_table, measure, page_text, read_pairs
from memory.errors import InvalidInput


def pair(same: bool, first: str, second: str, half: str = "tune") -> NamePair:
    return NamePair(half, same, "topic", "area", first, second)


def test_the_set_is_large_and_balanced() -> None:
    pairs = read_pairs()
    assert len(pairs) >= 400
    counts = Counter((one.half, one.same) for one in pairs)
    assert all(counts[half, same] >= 80 for half in HALVES for same in (True, False))
    areas = Counter(one.area for one in pairs)
    assert {"people", "initials", "nicknames", "slips", "emoji", "codes", "dates", "places", "organisations"} <= set(
        areas
    )
    assert min(areas.values()) >= 10


def test_nothing_is_merged_wrongly_above_what_is_sure() -> None:
    figures = measure()
    assert figures["pairs"] == len(read_pairs())
    for part in (figures, *figures["halves"].values(), *figures["areas"].values()):
        assert part["false_merges"] == 0
    assert figures["precision"] == 1.0
    assert figures["recall"] > 0.6
    assert figures["reviewed_share"] < 0.25
    assert figures["missed_share"] < 0.10


def test_figures_count_what_they_say() -> None:
    pairs = [
        pair(True, "Git Hub", "GitHub"),
        pair(True, "Merrivale", "Merryvale"),
        pair(True, "Moscow", "Москва", "test"),
        pair(False, "GitHub", "Git-Hub", "test"),
        pair(False, "Room 101", "Room 102", "test"),
    ]
    figures = measure(pairs)
    assert (figures["precision"], figures["recall"], figures["false_merges"]) == (0.5, 0.3333, 1)
    assert (figures["reviewed_share"], figures["missed_share"], figures["pairs"]) == (0.2, 0.3333, 5)
    assert [figures["halves"][half]["false_merges"] for half in HALVES] == [0, 1]
    at = {row["threshold"]: row for row in figures["curve"]}
    assert (at[0.8]["merged"], at[0.8]["recall"], at[0.95]["merged"], at[1.0]["precision"]) == (3, 0.6667, 2, None)
    assert [row["merged"] for row in figures["curve"]] == sorted(
        (row["merged"] for row in figures["curve"]), reverse=True
    )
    assert any(line.startswith("| **0.95** | 2 | 1 |") for line in curve_table(figures))
    assert page_text(figures).startswith("5 pairs: 1 false merges")


HEADER = PAIRS.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize(
    "line",
    [
        "tune\tperhaps\ttopic\ta\tx\ty",
        "tune\tsame\tanimal\ta\tx\ty",
        "dev\tsame\ttopic\ta\tx\ty",
        "tune\tsame\ttopic\ta\tx",
    ],
    ids=["label", "type", "half", "short"],
)
def test_a_line_that_cannot_be_used_is_refused(tmp_path: Path, line: str) -> None:
    page = tmp_path / "pairs.tsv"
    page.write_text(f"{HEADER}\n{line}\n", encoding="utf-8")
    with pytest.raises(InvalidInput):
        read_pairs(page)


def test_a_pair_stands_once(tmp_path: Path) -> None:
    page = tmp_path / "pairs.tsv"
    lines = [HEADER, "tune\tsame\ttopic\ta\tx\ty", "test\tdiffer\ttopic\ta\ty\tx"]
    page.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InvalidInput):
        read_pairs(page)
