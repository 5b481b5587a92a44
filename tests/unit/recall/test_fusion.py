"""Fusion: published cases of reciprocal ranks, and what z-scores promise."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.recall.fusion import ranking, reciprocal_ranks, weighted_sum, zscore_sum

A, B, C, D = (UUID(int=number) for number in range(1, 5))


def ranked(*order: UUID) -> dict[UUID, float]:
    return {one: float(len(order) - place) for place, one in enumerate(order)}


def test_a_single_list_keeps_its_order() -> None:
    assert ranking(reciprocal_ranks({"x": ranked(A, B, C)}, {})) == [A, B, C]


def test_two_equal_lists_add_up() -> None:
    fused = reciprocal_ranks({"x": ranked(A, B), "y": ranked(A, B)}, {})
    assert fused[A] == pytest.approx(2 / 61)
    assert fused[A] > fused[B]


def test_a_candidate_in_both_lists_wins() -> None:
    fused = reciprocal_ranks({"x": ranked(A, B, C), "y": ranked(C, A, B)}, {})
    assert fused[A] > fused[B]


def test_disjoint_single_items_are_equal() -> None:
    fused = reciprocal_ranks({"x": ranked(A), "y": ranked(B)}, {})
    assert fused[A] == fused[B]


def test_three_lists() -> None:
    fused = reciprocal_ranks({"x": ranked(A, B), "y": ranked(B, C), "z": ranked(A, C)}, {})
    assert fused[A] > fused[C]


def test_weights_count_and_missing_ones_are_one() -> None:
    arms = {"x": ranked(A), "y": ranked(B)}
    assert reciprocal_ranks(arms, {}) == reciprocal_ranks(arms, {"x": 1.0, "y": 1.0})
    heavier = reciprocal_ranks(arms, {"y": 1.5})
    assert heavier[B] == pytest.approx(1.5 * heavier[A])
    assert reciprocal_ranks({"x": ranked(A)}, {"x": 0.0}) == {A: 0.0}


@pytest.mark.parametrize("fuse", [reciprocal_ranks, zscore_sum, weighted_sum])
def test_nothing_gives_nothing(fuse: object) -> None:
    assert fuse({}, {}) == {}  # type: ignore[operator]
    assert fuse({"x": {}}, {}) == {}  # type: ignore[operator]


def test_a_hit_of_one_arm_alone_can_win() -> None:
    words = {A: 9.0, B: 0.4, C: 0.3}
    meaning = {B: 0.5, C: 0.5, D: 0.5}
    assert ranking(zscore_sum({"lexical": words, "dense": meaning}, {"lexical": 0.4, "dense": 0.6}))[0] == A


def test_z_scores_do_not_care_for_scale() -> None:
    arms = {"x": {A: 1.0, B: 3.0, C: 2.0}, "y": {A: 0.1, B: 0.2, C: 0.9}}
    scaled = {"x": {one: 40 * score for one, score in arms["x"].items()}, "y": arms["y"]}
    weights = {"x": 0.4, "y": 0.6}
    for one, score in zscore_sum(arms, weights).items():
        assert zscore_sum(scaled, weights)[one] == pytest.approx(score)


def test_an_arm_that_cannot_tell_candidates_apart_is_left_out() -> None:
    fused = zscore_sum({"x": {A: 1.0, B: 1.0}, "y": {A: 0.1, B: 0.2}}, {"x": 5.0, "y": 1.0})
    assert fused[B] > fused[A]


@given(st.dictionaries(st.integers(1, 30).map(lambda number: UUID(int=number)), st.floats(-5, 5), max_size=12))
def test_ranking_is_total_and_repeatable(scores: dict[UUID, float]) -> None:
    order = ranking(scores)
    assert sorted(order) == sorted(scores)
    assert list(order) == list(ranking(dict(reversed(scores.items()))))
    assert all(scores[one] >= scores[other] for one, other in zip(order, order[1:], strict=False))
