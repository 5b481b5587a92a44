"""What a run leaves out, how answers are scored, and how figures are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import compare, report
from bench.dataset import Question, Store
from bench.quality import DEPTH, PARTS, Corpus, adapted, averages, grouped, score
from memory.errors import InvalidInput, NotFound
from memory.ids import new_id
from memory.recall.profiles import SHIPPED, shipped
from memory.services.actors import person


def test_nothing_left_out_is_the_shipped_profile_at_the_depth_of_the_bench() -> None:
    for name in SHIPPED:
        profile = adapted(name)
        assert profile.limit == DEPTH
        assert (profile.arms, profile.weights, profile.evidence) == (
            shipped(name).arms,
            shipped(name).weights,
            shipped(name).evidence,
        )


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_left_out_alone(part: str) -> None:
    whole, without = adapted("default"), adapted("default", without=[part])
    changed = {name for name in without.__slots__ if getattr(whole, name) != getattr(without, name)}
    assert changed == {
        "spread": {"spread_before", "spread_after"},
        "priors": {"evidence"},
        "late": {"late_interaction"},
        "decay": {"half_life_days"},
    }.get(part, {"arms"})
    assert part not in without.arms


def test_several_parts_and_one_arm_alone() -> None:
    several = adapted("default", without=["late", "time"])
    assert not several.late_interaction
    assert "time" not in several.arms
    alone = adapted("default", arm="lexical")
    assert (alone.arms, alone.evidence, alone.spread_before, alone.fusion) == (("lexical",), False, 0.0, "sum")


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"nothing called 'magic' to leave out. There are: spread, priors"):
        adapted("default", without=["late", "magic"])
    with pytest.raises(InvalidInput, match="no arm 'nose'"):
        adapted("default", arm="nose")
    with pytest.raises(InvalidInput, match="Without any arm"):
        adapted("default", without=["dense", "lexical", "time", "graph"])
    with pytest.raises(NotFound):
        adapted("nobody")


def test_a_comparison_has_every_profile_and_every_part() -> None:
    runs = list(compare.runs())
    labels = [run.label for run in runs]
    assert labels[0] == "default"
    assert len(set(labels)) == len(labels)
    assert set(SHIPPED) <= set(labels)
    assert {f"default without {part}" for part in PARTS} <= set(labels)
    assert {"dense arm alone", "lexical arm alone"} <= set(labels)
    assert sum(run.profile == adapted("default") for run in runs) == 1


@pytest.fixture
def corpus() -> Corpus:
    made = Corpus(Store("store", [], []), person(new_id()))
    made.session_of = {f"{session}{number}": session for session in "abcdefg" for number in range(5)}
    return made


def test_shares_ranks_and_sessions(corpus: Corpus) -> None:
    question = Question("?", frozenset({"a1", "g1"}), "kind")
    ranked = [("b1",), ("a1",), ("b2",), ("c1",), ("d1",), ("e1",), ("g1",)]
    found = score(corpus, question, ranked)
    assert found.found == {5: 0.5, 10: 1.0, 20: 1.0}
    assert (found.hit, found.reciprocal) == (1.0, 0.5)
    assert found.session_found == 0.5, "g is the sixth session"
    nothing = score(corpus, question, [])
    assert (nothing.found[20], nothing.hit, nothing.reciprocal, nothing.session_found) == (0.0, 0.0, 0.0, 0.0)
    assert averages([found, nothing])["r@10"] == 0.5
    assert grouped([found, nothing], lambda one: one.category)["kind"]["n"] == 2


def test_a_fact_stands_for_what_it_was_drawn_from(corpus: Corpus) -> None:
    question = Question("?", frozenset({"a1", "b2", "c3"}), "kind")
    fact = new_id()
    corpus.drawn[fact] = ("a1", "b2")
    found = score(corpus, question, [("d1",), corpus.items(fact), ("a1",), corpus.items(new_id())])
    assert found.found[5] == pytest.approx(2 / 3)
    assert found.reciprocal == 0.5


ROWS = {"short": {"r@5": 0.5, "n": 12}, "a longer one": {"r@5": 1.0, "n": 3}}


def test_tables_are_aligned_and_numbers_short() -> None:
    assert report.aligned(ROWS, first="profile", columns={"r@5": "R@5", "mrr": "MRR"}) == [
        "profile         R@5  MRR   n",
        "short          .500    –  12",
        "a longer one  1.000    –   3",
    ]
    assert report.markdown(ROWS, columns={"r@5": "R@5"}) == [
        "|  | R@5 | n |",
        "|---|---|---|",
        "| short | .500 | 12 |",
        "| a longer one | 1.000 | 3 |",
    ]


def test_only_what_is_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n\n{report.BEGIN}\nold\n{report.END}\n\nAfter, with `{{}}` and \\1.\n", encoding="utf-8")
    for text in ("| new |", "| \\1 newer |"):
        report.write_between(page, text)
        assert page.read_text(encoding="utf-8") == (
            f"# Before\n\n{report.BEGIN}\n\n{text}\n\n{report.END}\n\nAfter, with `{{}}` and \\1.\n"
        )


@pytest.mark.parametrize(
    "content",
    [
        "nothing",
        report.BEGIN,
        report.END + report.BEGIN,
        report.BEGIN + report.END + report.END,
        report.BEGIN + report.BEGIN + report.END,
    ],
    ids=["none", "no end", "turned round", "two ends", "two beginnings"],
)
def test_a_page_without_its_marks_is_left_as_it_was(tmp_path: Path, content: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"page.md needs"):
        report.write_between(page, "text")
    assert page.read_text(encoding="utf-8") == content
