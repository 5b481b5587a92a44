"""The arithmetic of recall quality, against published cases and by its properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.bounds import LATENCY_SECONDS, SCORE_BOUNDS
from telemetry.quality import tuner
from telemetry.quality.drift import drift, stability_index, verdict_of
from telemetry.quality.histograms import counts, quantile
from telemetry.quality.intervals import clustered, difference, mean_of, quantile_of, whole, wilson
from telemetry.quality.ndcg import Floats, dcg, estimate, graded, ndcg

UNIT = st.floats(0, 1, allow_nan=False)


def rows(*grades: list[float]) -> Floats:
    """Give grades as rows of the same length."""
    width = max((len(one) for one in grades), default=0) or 1
    return np.array([[*one, *[0.0] * (width - len(one))] for one in grades])


def nothing_said(hits: Floats) -> dict[str, Any]:
    return {"verdicts": np.full(hits.shape, np.nan), "unhelpful": np.zeros(len(hits), dtype=bool)}


def test_dcg_of_the_published_example() -> None:
    # The grades 3, 2, 3, 0, 1, 2 of the worked example that textbooks give: 6.861, of at best 7.141.
    grades = [3.0, 2.0, 3.0, 0.0, 1.0, 2.0]
    found = dcg(rows(grades, sorted(grades, reverse=True)))
    assert found.tolist() == pytest.approx([6.861, 7.141], abs=0.001)
    assert ndcg(rows(grades))[0] == pytest.approx(0.961, abs=0.001)


def test_ndcg_of_nothing_and_of_nothing_useful_is_zero() -> None:
    assert ndcg(rows([], [0, 0], [0, 1])).tolist() == pytest.approx([0, 0, 1 / math.log2(3)])
    assert ndcg(np.zeros((0, 3))).tolist() == []


@given(st.lists(st.lists(UNIT, max_size=20), min_size=1, max_size=5))
def test_ndcg_lies_between_0_and_1_and_is_1_in_the_best_order(grades: list[list[float]]) -> None:
    found = ndcg(rows(*grades))
    assert np.all((found >= 0) & (found <= 1))
    best = ndcg(rows(*(sorted(one, reverse=True) for one in grades)))
    assert best.tolist() == pytest.approx([float(any(one)) for one in grades])
    # What stands beside a recall in the same table changes nothing about it.
    assert found.tolist() == pytest.approx([float(ndcg(rows(one))[0]) for one in grades])


def test_feedback_grades_before_relevance() -> None:
    hits, nan = rows([0.9, 0.5], [0.9, 0.5], [0.9, 0.5], [0.9, 0.5], [1.2, -0.1]), math.nan
    assert graded(hits, **nothing_said(hits))[4].tolist() == [1.0, 0.0]
    said = np.array([[nan, nan], [nan, 1], [nan, 1], [0, 1], [nan, nan]])
    unhelpful = np.array([False, False, True, False, True])
    found = graded(hits, verdicts=said, unhelpful=unhelpful)
    assert found.tolist() == [[0.9, 0.5], [0.9, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    assert estimate(hits, verdicts=said, unhelpful=unhelpful)[3:].tolist() == pytest.approx([0.6309, 0], abs=1e-4)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_interval_as_published(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson(successes, trials)
    assert found is not None
    assert [found.low, found.high] == pytest.approx([low, high], abs=5e-5)


def test_no_trials_have_no_interval() -> None:
    assert wilson(0, 0) is None


def test_stability_index_by_hand() -> None:
    # Shares .5/.5 against .6/.4: (-.1)ln(.5/.6) + (.1)ln(.5/.4).
    assert stability_index([50, 50], [60, 40]) == pytest.approx(0.1 * math.log(1.2) + 0.1 * math.log(1.25))
    assert stability_index([10, 20], [10, 20]) == 0
    assert stability_index([10, 0], [0, 10]) > 10


def test_stability_index_is_named_by_the_customary_bounds() -> None:
    assert [verdict_of(one) for one in (0.0, 0.0999, 0.1, 0.2499, 0.25)] == ["none", "none", "small", "small", "large"]


def test_drift_of_scores() -> None:
    before = [0.05 + 0.9 * at / 99 for at in range(100)]
    assert drift(before, before).verdict == "none"
    moved = drift([one / 2 for one in before], before)
    assert moved.verdict == "large"
    assert moved.shift == pytest.approx(-0.25)
    few = drift(before[:29], before)
    assert (few.verdict, few.index) == ("too_few", None)
    assert few.mean == pytest.approx(sum(before[:29]) / 29)
    assert drift([], []).mean is None


def test_buckets_hold_their_upper_bound() -> None:
    assert counts([0.005, 0.0051, 99.0], LATENCY_SECONDS)[:2] == [1, 1]
    assert counts([99.0], LATENCY_SECONDS)[-1] == 1
    assert counts([0.0, 0.1, 0.1001, 1.0], SCORE_BOUNDS) == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert list(LATENCY_SECONDS) == sorted(set(LATENCY_SECONDS))


def test_quantiles() -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert quantile([], 0.5) is None


def test_weighted_statistics() -> None:
    arm = clustered([3.0, 1.0, 2.0], ["c", "a", "b"])
    draws = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 0]])
    assert mean_of(arm, draws)[:2].tolist() == [2, 2]
    assert quantile_of(0.5)(arm, draws)[:2].tolist() == [1, 2]
    assert quantile_of(0.95)(arm, np.array([[0, 1, 1]])).tolist() == [2]
    assert (whole(arm, mean_of), whole(arm, quantile_of(0.95))) == (2, 3)
    assert math.isnan(mean_of(arm, draws)[2])
    assert math.isnan(quantile_of(0.5)(arm, draws)[2])


@given(
    st.lists(st.tuples(st.floats(0, 100), st.integers(0, 5)), min_size=1, max_size=60),
    st.lists(st.integers(0, 4), min_size=6, max_size=6),
    st.sampled_from([0.05, 0.5, 0.95]),
)
def test_statistics_of_drawn_agents_are_those_of_their_repeated_values(
    pairs: list[tuple[float, int]], times: list[int], share: float
) -> None:
    arm = clustered([value for value, _ in pairs], [agent for _, agent in pairs])
    draw = np.array([times[: arm.number]])
    repeated = sorted(value for value, agent in zip(arm.values, arm.agents, strict=True) for _ in range(times[agent]))
    if not repeated:
        assert math.isnan(quantile_of(share)(arm, draw)[0])
        return
    assert mean_of(arm, draw)[0] == pytest.approx(sum(repeated) / len(repeated))
    reached = next(value for at, value in enumerate(repeated, start=1) if at >= share * len(repeated))
    assert quantile_of(share)(arm, draw)[0] == reached


def test_difference_between_arms_by_agents() -> None:
    def arm(level: float) -> tuple[list[float], list[int]]:
        return [level + agent / 100 for agent in range(8) for _ in range(10)], [a for a in range(8) for _ in range(10)]

    low, high = clustered(*arm(0.2)), clustered(*arm(0.6))
    found = difference(low, high, mean_of)
    assert found is not None
    assert found.low < 0.4 < found.high
    assert found.low > 0.3
    assert difference(low, high, mean_of) == found
    same = difference(low, low, quantile_of(0.5))
    assert same is not None
    assert same.low <= 0 <= same.high


def test_few_agents_have_no_interval() -> None:
    few = clustered([0.1] * 400, [at % 4 for at in range(400)])
    many = clustered([0.1] * 400, [at % 9 for at in range(400)])
    assert difference(few, many, mean_of) is None


def test_smoothing_counts_a_new_value_015() -> None:
    assert tuner.smoothed(None, []) is None
    assert tuner.smoothed(None, [0.8]) == 0.8
    assert tuner.smoothed(1.0, [0.0]) == pytest.approx(0.85)
    assert tuner.smoothed(1.0, [0.0, 0.0]) == pytest.approx(0.7225)


def test_tuner_loosens_low_quality_tightens_high_and_leaves_the_middle() -> None:
    assert tuner.tuned(0.3, ndcg=0.2, recalls=5) == 0.29
    assert tuner.tuned(0.3, ndcg=0.9, recalls=5) == 0.31
    assert [tuner.tuned(0.3, ndcg=one, recalls=50) for one in (0.4, 0.5, 0.75)] == [0.3] * 3
    assert tuner.tuned(0.3, ndcg=0.9, recalls=4) == 0.3
    assert tuner.tuned(0.3, ndcg=None, recalls=50) == 0.3


@given(st.lists(UNIT, max_size=200), st.floats(0.10, 0.55))
def test_tuner_stays_within_its_bounds(qualities: list[float], threshold: float) -> None:
    for quality in qualities:
        threshold = tuner.tuned(threshold, ndcg=quality, recalls=10)
        assert 0.10 <= threshold <= 0.55


@given(UNIT, UNIT)
def test_tuner_never_moves_a_threshold_further_from_its_bounds(threshold: float, quality: float) -> None:
    moved = tuner.tuned(threshold, ndcg=quality, recalls=10)
    assert abs(moved - threshold) <= 0.0101
    if threshold > 0.55:
        assert moved <= threshold
    if threshold < 0.10:
        assert moved >= threshold
