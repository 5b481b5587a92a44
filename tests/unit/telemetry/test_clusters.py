"""Grouping requests: the published cases one by one, and what has to hold for any input."""

from __future__ import annotations

import math
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from telemetry.coverage import clusters
from telemetry.coverage.clusters import EXACT, KEPT_CLUSTERS, MOST_CLUSTERS, NONE, ArrayRows, cluster
from telemetry.coverage.next_spoke import next_spoke
from telemetry.coverage.pareto import pareto
from telemetry.coverage.turns import Groups, SpokeName, Turns, distinct, group, spokes_of

DIRECT, CALENDAR, FALLBACK = 0, 1, 2
SPOKES = (
    SpokeName(UUID(int=1), "direct", False),
    SpokeName(UUID(int=2), "calendar", False),
    SpokeName(UUID(int=3), "fallback", True),
)


def labels_of(vectors: NDArray[np.floating], weights: list[int] | None = None) -> list[int]:
    counted = np.array(weights or [1] * len(vectors), dtype=np.int64)
    return [int(label) for label in cluster(ArrayRows(vectors), counted)]


def plane(*degrees: float) -> NDArray[np.float64]:
    """Give unit vectors of a plane by their angles."""
    return np.array([[math.cos(math.radians(one)), math.sin(math.radians(one))] for one in degrees])


def turns_of(rows: list[tuple[int, int, bool]]) -> Turns:
    """Give turns from a request, a spoke and whether it failed, newest first."""
    requests, spokes, failed = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    return Turns(
        ids=np.array([number.to_bytes(16, "big") for number in range(len(rows))], dtype="S16"),
        at=np.arange(len(rows), 0, -1, dtype=np.int64),
        requests=np.array(requests, dtype=np.int64),
        spokes=np.array(spokes, dtype=np.int64),
        failed=np.array(failed, dtype=np.bool_),
        sizes=np.full(len(rows), 10, dtype=np.int64),
        spoke_names=SPOKES,
    )


def grouped(rows: list[tuple[int, int, bool]], by_request: dict[int, int]) -> tuple[Turns, Groups]:
    turns = turns_of(rows)
    found = distinct(turns.requests)
    labels = np.array([by_request.get(int(one), NONE) for one in found.requests], dtype=np.int64)
    return turns, group(turns, found, labels)


class TestPublished:
    def test_alike_requests_are_one_cluster_and_others_another(self) -> None:
        assert labels_of(plane(0, 90, 5, 92, 2)) == [0, 1, 0, 1, 0]

    def test_exactly_three_quarters_is_not_enough(self) -> None:
        edge = math.degrees(math.acos(0.75))
        assert labels_of(plane(0, edge)) == [0, 1]
        assert labels_of(plane(0, edge - 0.01)) == [0, 0]

    def test_lengths_say_nothing(self) -> None:
        assert labels_of(plane(0, 10, 80) * [[5.0], [0.1], [3.0]]) == [0, 0, 1]

    def test_the_mean_runs_along(self) -> None:
        # 60° is too far from the first one, but not from the mean of 0° and 40°.
        assert labels_of(plane(0, 60)) == [0, 1]
        assert labels_of(plane(0, 40, 60)) == [0, 0, 0]

    def test_the_order_counts_since_the_mean_does(self) -> None:
        assert labels_of(plane(0, 60, 40)) == [0, 1, 1]

    def test_the_best_match_wins_and_not_the_first(self) -> None:
        assert labels_of(plane(0, 50, 30)) == [0, 1, 1]
        assert labels_of(plane(0, 50, 20)) == [0, 1, 0]

    def test_what_came_often_pulls_the_mean(self) -> None:
        # The mean of 0° and 40° lies at 20° if both came once, at 4° if the first came nine times.
        assert labels_of(plane(0, 40, 50), [1, 1, 1]) == [0, 0, 0]
        assert labels_of(plane(0, 40, 50), [9, 1, 1]) == [0, 0, 1]

    def test_nothing_and_one(self) -> None:
        assert labels_of(np.empty((0, 2))) == []
        assert labels_of(plane(7)) == [0]

    @pytest.mark.parametrize("value", [0.0, math.nan, math.inf])
    def test_a_vector_without_direction_belongs_to_no_cluster(self, value: float) -> None:
        rows = plane(0, 0, 1)
        rows[1] = value
        assert labels_of(rows) == [0, NONE, 0]

    def test_without_vectors_turns_go_by_their_spoke(self) -> None:
        _, found = grouped([(1, CALENDAR, False), (2, FALLBACK, False), (3, CALENDAR, True), (4, DIRECT, False)], {})
        assert sorted(found.counts.tolist()) == [1, 1, 2]
        assert not found.by_vector.any()
        assert [int(found.anchors[place]) for place in found.of_turn] == [CALENDAR, FALLBACK, CALENDAR, DIRECT]

    def test_with_and_without_vectors_in_one_report(self) -> None:
        turns, found = grouped(
            [(1, CALENDAR, False), (2, FALLBACK, False), (1, FALLBACK, True), (9, FALLBACK, True)], {1: 0, 2: 0}
        )
        ranked = found.ranked()
        assert [found.counts[one] for one in ranked] == [1, 3]
        assert [found.fallback_rates[one] for one in ranked] == [1.0, 0.6667]
        assert found.by_vector[ranked].tolist() == [False, True]
        assert found.failures[ranked].tolist() == [1, 1]
        assert found.missed.tolist() == [0, 0]
        assert spokes_of(turns, found.members(ranked[1])) == ("fallback", "calendar")

    def test_clusters_are_ranked_by_rate_and_then_by_turns(self) -> None:
        _, found = grouped(
            [(1, CALENDAR, False)] * 5
            + [(2, FALLBACK, False)]
            + [(3, FALLBACK, False)] * 3
            + [(4, FALLBACK, False), (4, CALENDAR, True)],
            {1: 0, 2: 1, 3: 2, 4: 3},
        )
        ranked = found.ranked()
        assert found.counts[ranked].tolist() == [3, 1, 2, 5]
        assert found.missed[ranked].tolist() == [0, 0, 1, 0]


def naive(vectors: NDArray[np.float64]) -> list[int]:
    """Do the published pass as it is written down."""
    sums: list[NDArray[np.float64]] = []
    found = []
    for vector in vectors:
        cosines = [float(vector @ one / np.linalg.norm(one)) for one in sums]
        best = int(np.argmax(cosines)) if cosines else NONE
        if not cosines or cosines[best] <= 0.75:
            sums.append(vector.copy())
            found.append(len(sums) - 1)
        else:
            sums[best] += vector
            found.append(best)
    return found


def scattered(seed: int, *, count: int, topics: int, spread: float) -> NDArray[np.float64]:
    """Give unit vectors around some topics, in 24 dimensions."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(topics, 24))[random.integers(0, topics, count)]
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors += random.normal(size=(count, 24)) * spread / math.sqrt(24)
    found: NDArray[np.float64] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_first_requests_are_grouped_as_the_published_pass_does(seed: int) -> None:
    vectors = scattered(seed, count=EXACT, topics=12, spread=0.7)
    assert labels_of(vectors) == naive(vectors)


def same_parts(left: list[int], right: list[int]) -> bool:
    """Tell whether two labellings put the same rows together."""
    pairs = set(zip(left, right, strict=True))
    return len(pairs) == len(set(left)) == len(set(right))


@pytest.mark.parametrize("topics", [1, 40, 300])
def test_blocks_group_clear_topics_as_the_published_pass_does(topics: int) -> None:
    vectors = scattered(topics, count=3 * clusters.BLOCK + 77, topics=topics, spread=0.2)
    assert same_parts(labels_of(vectors), naive(vectors))


def test_blocks_leave_nothing_out_that_is_close_to_a_cluster() -> None:
    vectors = scattered(3, count=4 * clusters.BLOCK, topics=30, spread=0.6)
    found = np.array(labels_of(vectors))
    assert (found != NONE).all()
    sums = np.array([vectors[found == one].sum(axis=0) for one in range(found.max() + 1)])
    cosines = (vectors * (sums / np.linalg.norm(sums, axis=1, keepdims=True))[found]).sum(axis=1)
    # Means move on after a request has joined, so a few end below the bound; none far below it.
    assert np.mean(cosines > 0.75) > 0.9
    assert cosines.min() > 0.5


def test_too_many_clusters_are_bounded_and_the_heavy_ones_stay() -> None:
    random = np.random.default_rng(0)
    count = MOST_CLUSTERS + 3 * clusters.BLOCK
    vectors = random.normal(size=(count, 200))
    weights = [1] * count
    heavy = [5, count // 2, count - 5]
    for place in heavy:
        weights[place] = 50
    found = np.array(labels_of(vectors, weights))
    assert KEPT_CLUSTERS <= found.max() + 1 <= MOST_CLUSTERS
    assert (found[heavy] != NONE).all()
    assert (found == NONE).any()
    assert sorted(set(found[found != NONE])) == list(range(found.max() + 1))


ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2), st.booleans()), max_size=80)


@settings(deadline=None)
@given(ROWS, st.integers(0, 2**32 - 1))
def test_counts_add_up_and_nothing_depends_on_chance(rows: list[tuple[int, int, bool]], seed: int) -> None:
    turns = turns_of(rows)
    found = distinct(turns.requests)
    assert found.requests[found.places].tolist() == turns.requests.tolist()
    assert int(found.weights.sum()) == len(turns)
    vectors = scattered(seed, count=13, topics=4, spread=0.6)[found.requests]
    labels = cluster(ArrayRows(vectors), found.weights)
    assert labels.tolist() == cluster(ArrayRows(vectors.copy()), found.weights.copy()).tolist()
    groups = group(turns, found, labels)
    assert int(groups.counts.sum()) == len(turns)
    assert int(groups.fallbacks.sum()) == sum(spoke == FALLBACK for _, spoke, _ in rows)
    assert int(groups.failures.sum()) == sum(failed for _, _, failed in rows)
    assert int(groups.missed.sum()) == sum(failed and spoke != FALLBACK for _, spoke, failed in rows)
    assert sorted(groups.ranked()) == list(range(len(groups)))
    keys = list(zip(groups.by_vector.tolist(), groups.anchors.tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    for most in (1, 2, 20):
        bars = pareto(groups, most=most)
        assert sum(bar.fallback_count for bar in bars) == int(groups.fallbacks.sum())
        if bars:
            assert bars[-1].cumulative == 1
            assert [bar.cumulative for bar in bars] == sorted(bar.cumulative for bar in bars)
        single = [bar.fallback_count for bar in bars if bar.cluster is not None]
        assert single == sorted(single, reverse=True)
        assert len(single) <= most
    gain = next_spoke(groups, turns=len(turns))
    if gain is not None:
        assert gain.covers == max(groups.fallbacks[groups.by_vector])
        assert gain.fallback_rate_after == round((int(groups.fallbacks.sum()) - gain.covers) / len(turns), 4)


class TestPareto:
    def test_bars_and_the_rest(self) -> None:
        _, found = grouped(
            [(1, FALLBACK, False)] * 6 + [(2, FALLBACK, False)] * 3 + [(3, FALLBACK, False), (4, CALENDAR, False)],
            {1: 0, 2: 1, 3: 2, 4: 3},
        )
        bars = pareto(found, most=2)
        assert [(bar.fallback_count, bar.share, bar.cumulative) for bar in bars] == [
            (6, 0.6, 0.6),
            (3, 0.3, 0.9),
            (1, 0.1, 1.0),
        ]
        assert bars[-1].cluster is None
        assert [bar.cluster is None for bar in pareto(found, most=3)] == [False] * 3

    def test_no_bar_where_nothing_fell_back(self) -> None:
        _, found = grouped([(1, CALENDAR, True)], {1: 0})
        assert pareto(found, most=20) == ()
        assert next_spoke(found, turns=1) is None

    def test_the_next_spoke_covers_the_largest_cluster_of_alike_requests(self) -> None:
        _, found = grouped(
            [(1, FALLBACK, False)] * 2 + [(2, FALLBACK, False)] * 3 + [(3, FALLBACK, False)] * 4 + [(4, DIRECT, False)],
            {1: 0, 2: 1, 4: 2},
        )
        gain = next_spoke(found, turns=10)
        assert gain is not None
        assert (gain.covers, gain.fallback_rate_after) == (3, 0.6)

    def test_what_goes_by_its_spoke_is_no_subject_for_a_spoke(self) -> None:
        _, found = grouped([(1, FALLBACK, False)] * 2, {})
        assert next_spoke(found, turns=2) is None
