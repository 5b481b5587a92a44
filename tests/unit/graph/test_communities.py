"""Modularity against hand-computed values and another library, divisions, and numbers that stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from bench.graph_data import planted
from memory.graph.adjacency import Adjacency, assemble
from memory.graph.communities import NONE, divide, modularity, renumber, weights

WEIGHTED = np.dtype([("first", "S16"), ("second", "S16"), ("weight", ">i4")])
PAIR = np.dtype([("first", "S16"), ("second", "S16")])
TRIANGLE = [(1, 2, 1.0), (2, 3, 1.0), (1, 3, 1.0)]


def node(number: int) -> bytes:
    return number.to_bytes(16, "big")


def edges(given: Sequence[tuple[int, int, float]]) -> NDArray[Any]:
    return np.array([(node(a), node(b), round(w * 1_000_000)) for a, b, w in given], dtype=WEIGHTED)


def graph(given: Sequence[tuple[int, int, float]]) -> Adjacency:
    return assemble(edges(given), np.zeros(0, dtype=PAIR), edges([]))


def as_networkx(adjacency: Adjacency) -> nx.Graph[int]:
    found: nx.Graph[int] = nx.Graph()
    ends = np.append(adjacency.starts, len(adjacency.others))
    for row in range(adjacency.nodes):
        for at in range(ends[row], ends[row + 1]):
            found.add_edge(row, int(adjacency.others[at]), weight=float(adjacency.weights[at]))
    return found


def groups(labels: NDArray[np.int64]) -> list[set[int]]:
    alone = [{int(at)} for at in np.flatnonzero(labels == NONE)]
    return [set(np.flatnonzero(labels == label).tolist()) for label in range(labels.max(initial=-1) + 1)] + alone


class TestModularity:
    def test_a_triangle_alone_has_none(self) -> None:
        assert modularity(graph(TRIANGLE), np.zeros(3, dtype=np.int64)) == pytest.approx(0.0, abs=1e-12)

    def test_two_triangles_and_a_bridge(self) -> None:
        # Seven edges; each side holds three of them and a degree of seven: 2 * (3/7 - (7/14)^2).
        two = graph([*TRIANGLE, (4, 5, 1.0), (5, 6, 1.0), (4, 6, 1.0), (3, 4, 1.0)])
        assert modularity(two, np.array([0, 0, 0, 1, 1, 1])) == pytest.approx(6 / 7 - 1 / 2)

    def test_nodes_of_no_community_count_with_their_degrees(self) -> None:
        # An edge between the pair of one community and a node of none: 1/2 - (3/4)^2 - (1/4)^2.
        path = graph([(1, 2, 1.0), (2, 3, 1.0)])
        assert modularity(path, np.array([0, 0, NONE])) == pytest.approx(1 / 2 - 9 / 16 - 1 / 16)

    def test_of_nothing(self) -> None:
        assert modularity(graph([]), np.zeros(0, dtype=np.int64)) == 0.0

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_as_networkx_computes_it(self, seed: int) -> None:
        drawn = planted(nodes=300, edges=1_200, communities=8, hub_degree=40, seed=seed)
        pairs = zip(drawn.sources.tolist(), drawn.targets.tolist(), drawn.weights.tolist(), strict=True)
        adjacency = graph([(a + 1, b + 1, w) for a, b, w in pairs])
        labels = divide(adjacency)
        expected = nx.community.modularity(as_networkx(adjacency), groups(labels), weight="weight")
        assert modularity(adjacency, labels) == pytest.approx(expected, abs=1e-6)
        other = nx.community.louvain_communities(as_networkx(adjacency), weight="weight", seed=seed)
        best = nx.community.modularity(as_networkx(adjacency), other, weight="weight")
        assert modularity(adjacency, labels) > best - 0.03


class TestDividing:
    def test_two_triangles_are_two(self) -> None:
        two = graph([*TRIANGLE, (4, 5, 1.0), (5, 6, 1.0), (4, 6, 1.0), (3, 4, 0.1)])
        assert divide(two).tolist() == [0, 0, 0, 1, 1, 1]

    def test_it_is_the_same_every_time_and_in_any_order(self) -> None:
        drawn = planted(nodes=400, edges=1_500, communities=9, seed=4)
        given = [
            (a + 1, b + 1, w)
            for a, b, w in zip(drawn.sources.tolist(), drawn.targets.tolist(), drawn.weights.tolist(), strict=True)
        ]
        first = divide(graph(given))
        assert (divide(graph(given)) == first).all()
        assert (divide(graph([(b, a, w) for a, b, w in reversed(given)])) == first).all()

    def test_the_largest_comes_first(self) -> None:
        star = [(10, n, 1.0) for n in range(11, 18)]
        assert divide(graph([*TRIANGLE, *star])).tolist() == [1, 1, 1, *[0] * 8]

    def test_of_nothing(self) -> None:
        assert divide(graph([])).tolist() == []

    def test_inner_and_outer_weights(self) -> None:
        two = graph([*TRIANGLE, (4, 5, 1.0), (5, 6, 0.5), (4, 6, 1.0), (3, 4, 0.25)])
        inner, outer = weights(two, np.array([0, 0, 0, 1, 1, 1]))
        assert inner.tolist() == pytest.approx([3.0, 2.5])
        assert outer.tolist() == pytest.approx([0.25, 0.25])


class TestNumbers:
    def test_they_stay(self) -> None:
        found = renumber(np.array([0, 0, 0, 1, 1]), np.array([7, 7, 7, 3, 3]), following=9)
        assert (found.numbers.tolist(), found.following) == ([7, 3], 9)

    def test_the_greater_part_keeps_the_number_and_the_rest_gets_a_new_one(self) -> None:
        found = renumber(np.array([0, 0, 0, 1, 1]), np.array([4, 4, 4, 4, 4]), following=5)
        assert (found.numbers.tolist(), found.following) == ([4, 5], 6)

    def test_a_union_takes_the_number_of_the_greater_part(self) -> None:
        found = renumber(np.array([0, 0, 0, 0, 0]), np.array([2, 2, 1, 1, 1]), following=3)
        assert (found.numbers.tolist(), found.following) == ([1], 3)

    def test_one_shared_member_of_many_continues_nothing(self) -> None:
        labels, former = np.zeros(8, dtype=np.int64), np.array([6, *[NONE] * 7])
        others = np.full(8, NONE, dtype=np.int64)
        found = renumber(np.concatenate([labels, others]), np.concatenate([former, np.full(8, 6)]), following=7)
        assert (found.numbers.tolist(), found.following) == ([7], 8)

    def test_numbers_beyond_the_next_one_are_not_given_again(self) -> None:
        found = renumber(np.array([0, 0, 1, 1]), np.array([12, 12, NONE, NONE]), following=2)
        assert (found.numbers.tolist(), found.following) == ([12, 13], 14)
