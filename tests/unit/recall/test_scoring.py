"""Decay, boosts, relevance, diversity, and the bounds of profiles."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import InvalidInput, NotFound
from memory.recall.candidates import Candidate
from memory.recall.profiles import SHIPPED, RecallProfile, shipped, with_changes
from memory.recall.relevance import absolute, bounded, calibrated
from memory.recall.reranking import jaccard
from memory.recall.scoring import Adjustment, adjustment

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def days_ago(days: float) -> float:
    return (NOW - timedelta(days=days)).timestamp()


def candidate(**changes: Any) -> Candidate:
    plain = Candidate(
        memory_id=UUID(int=1),
        tier="semantic",
        kind="fact",
        importance=0.5,
        salience=1.0,
        created_at=days_ago(7),
        access_count=0,
        last_accessed=None,
    )
    return replace(plain, **changes)


class TestPublishedFormulas:
    def test_prax_halves_in_seven_days_and_boosts_by_importance(self) -> None:
        change = adjustment(candidate(importance=0.9), shipped("prax"), NOW)
        assert change.apply(1.0) == pytest.approx(math.exp(-math.log(2) / 7 * 7) * (0.5 + 0.9))

    def test_praxis_adds_salience_accesses_and_freshness(self) -> None:
        change = adjustment(candidate(salience=0.8, access_count=3), shipped("praxis"), NOW)
        assert change.apply(2.0) == pytest.approx(2.0 + 0.8 + 0.1 * 3 + 1 / (1 + 7 / 30))

    def test_cortex_halves_at_its_half_life(self) -> None:
        assert adjustment(candidate(), shipped("cortex"), NOW).apply(3.0) == pytest.approx(1.5)

    def test_engram_halves_in_thirty_days(self) -> None:
        old = candidate(created_at=days_ago(30))
        assert adjustment(old, shipped("engram"), NOW).decay == pytest.approx(0.5)


def test_the_default_leaves_turns_as_they_are() -> None:
    old = days_ago(3000)
    turn = candidate(kind="turn", tier="episodic", created_at=old)
    fact = candidate(created_at=old)
    assert adjustment(turn, shipped("default"), NOW).decay == 1.0
    assert adjustment(fact, shipped("default"), NOW).decay < 0.01
    assert adjustment(turn, shipped("prax"), NOW).decay < 0.01


def test_recall_restarts_the_clock_where_the_profile_says_so() -> None:
    seen = candidate(created_at=days_ago(70), last_accessed=NOW.timestamp())
    by_access = with_changes(shipped("prax"), {"decay_clock": "accessed"})
    assert adjustment(seen, by_access, NOW).decay == 1.0
    assert adjustment(seen, shipped("prax"), NOW).decay < 0.01


def test_a_moment_in_the_future_does_not_raise_a_score() -> None:
    assert adjustment(candidate(created_at=days_ago(-9)), shipped("cortex"), NOW).decay == 1.0


class TestCommunity:
    BOOSTED = replace(shipped("cortex"), community_boost=0.5)

    def test_a_score_grows_by_its_part_after_decay(self) -> None:
        change = adjustment(candidate(community=7), self.BOOSTED, NOW, communities={7, 8})
        assert change.apply(3.0) == pytest.approx(3.0 * 0.5 * 1.5)

    def test_what_is_below_zero_comes_nearer_to_it(self) -> None:
        assert Adjustment(community=0.5).apply(-3.0) == pytest.approx(-2.0)

    def test_on_a_logit_it_is_added_beside_the_odds_of_age(self) -> None:
        change = adjustment(candidate(community=7), self.BOOSTED, NOW, communities={7})
        assert change.on_logit(2.0) == pytest.approx(2.0 + math.log(0.5) + 0.5)

    def test_what_does_not_decay_gains_too(self) -> None:
        turn = candidate(kind="turn", tier="episodic", community=7)
        boosted = with_changes(shipped("default"), {"community_boost": 2})
        assert adjustment(turn, boosted, NOW, communities={7}) == Adjustment(community=2.0)

    @pytest.mark.parametrize("number", [None, 6], ids=["of none", "of another"])
    def test_other_memories_gain_nothing(self, number: int | None) -> None:
        change = adjustment(candidate(community=number), self.BOOSTED, NOW, communities={7})
        assert change.apply(3.0) == pytest.approx(1.5)
        assert adjustment(candidate(community=number), self.BOOSTED, NOW).community == 0.0

    @pytest.mark.parametrize("name", sorted(SHIPPED))
    def test_no_shipped_profile_has_it(self, name: str) -> None:
        assert adjustment(candidate(community=7), shipped(name), NOW, communities={7}).community == 0.0


@given(st.floats(-5, 5), st.floats(0.01, 1))
def test_decay_never_raises_a_score(score: float, decay: float) -> None:
    assert Adjustment(decay=decay).apply(score) <= score + 1e-12


@given(st.floats(-1, 1), st.floats(0, 1))
def test_relevance_is_a_probability_and_grows(cosine: float, coverage: float) -> None:
    value = absolute(cosine, coverage)
    assert 0 < value < 1
    assert absolute(min(1.0, cosine + 0.1), coverage) >= value
    assert absolute(cosine, min(1.0, coverage + 0.1)) >= value
    assert absolute(None, None) < 0.05


@given(
    st.lists(st.floats(-20, 20), min_size=1, max_size=20),
    st.none() | st.floats(-1, 1),
    st.floats(0, 1),
    st.none() | st.floats(-1, 1),
)
def test_calibrated_relevance_keeps_the_order(
    logits: list[float], cosine: float | None, coverage: float, late: float | None
) -> None:
    values = calibrated(np.array(logits), cosine=cosine, coverage=coverage, late=late)
    assert ((values > 0) & (values < 1)).all()
    assert list(values) == [value for _, value in sorted(zip(logits, values, strict=True))] or sorted(logits) != logits
    best = values[int(np.argmax(logits))]
    assert best == values.max()


def test_a_list_that_answers_is_more_relevant_than_one_that_does_not() -> None:
    logits = np.array([2.0, 1.0])
    near = calibrated(logits, cosine=0.6, coverage=0.5, late=0.7)
    far = calibrated(logits, cosine=0.2, coverage=0.5, late=0.4)
    assert near[0] > 0.5 > 0.3 > far[0]
    assert (
        calibrated(logits, cosine=0.6, coverage=0.5, late=None)[0]
        > calibrated(logits, cosine=0.2, coverage=0.5, late=None)[0]
    )
    assert (
        calibrated(logits, cosine=None, coverage=1.0, late=None)[0]
        > calibrated(logits, cosine=None, coverage=0.1, late=None)[0]
    )
    assert len(calibrated(np.array([]), cosine=None, coverage=0.0, late=None)) == 0


def test_no_hit_is_more_relevant_than_its_own_scores_allow() -> None:
    likely = np.array([0.9, 0.9, 0.9])
    cosine, coverage = np.array([0.6, 0.1, 0.1]), np.array([0.0, 0.0, 1.0])
    held = np.zeros(3)
    values = bounded(likely, cosine=cosine, coverage=coverage, held=held, timely=np.zeros(3), vectors=True)
    assert 0.3 < values[0] < absolute(0.6, 0.0)
    assert values[1] < 0.1
    assert values[2] == 0.9
    assert (
        list(bounded(likely, cosine=cosine, coverage=coverage, held=held, timely=np.zeros(3), vectors=False))
        == [0.9] * 3
    )


def test_what_holds_nearly_all_words_is_worth_showing() -> None:
    likely = np.array([0.01, 0.01, 0.8])
    held = np.array([0.7, 0.3, 1.0])
    values = bounded(likely, cosine=np.full(3, 0.9), coverage=np.ones(3), held=held, timely=np.zeros(3), vectors=True)
    assert list(values) == [0.5, 0.01, 0.8]


def test_what_fits_the_time_asked_about_is_worth_a_look() -> None:
    none = np.zeros(2)
    values = bounded(np.full(2, 0.01), cosine=none, coverage=none, held=none, timely=np.array([0.5, 0.1]), vectors=True)
    assert values[0] > 0.3 > values[1]


def test_the_share_of_common_words() -> None:
    assert jaccard(frozenset(), frozenset()) == 0.0
    assert jaccard(frozenset("ab"), frozenset("bc")) == pytest.approx(1 / 3)


class TestProfiles:
    def test_the_five_are_there(self) -> None:
        assert set(SHIPPED) == {"default", "prax", "praxis", "cortex", "engram"}
        with pytest.raises(NotFound):
            shipped("mem0")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("threshold", 1.1),
            ("threshold", True),
            ("threshold", float("nan")),
            ("limit", 0),
            ("limit", 2.5),
            ("fusion", "magic"),
            ("arms", []),
            ("arms", ["dense", "telepathy"]),
            ("weights", {"dense": -1}),
            ("weights", {"other": 1}),
            ("half_life_days", {"semantic": 0}),
            ("half_life_days", {"eternal": 3}),
            ("fallback", "yes"),
            ("name", "mine"),
            ("no_such_field", 1),
            ("importance_base", "high"),
            ("community_boost", -0.1),
            ("community_boost", 10.1),
        ],
    )
    def test_changes_out_of_bounds_are_refused(self, name: str, value: Any) -> None:
        with pytest.raises(InvalidInput) as caught:
            with_changes(shipped("default"), {name: value})
        assert caught.value.machine_code == "profile.invalid"

    def test_changes_within_bounds(self) -> None:
        changed = with_changes(
            shipped("default"),
            {"arms": ["lexical"], "weights": {"lexical": 2}, "limit": 7, "importance_base": None, "mmr_lambda": 0},
        )
        assert changed.arms == ("lexical",)
        assert changed.limit == 7
        assert isinstance(changed, RecallProfile)
