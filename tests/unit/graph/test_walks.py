"""The matrix of a graph, PageRank against another library, and spreading activation against hand-computed numbers."""

from __future__ import annotations

import math
from uuid import UUID

import networkx as nx
import numpy as np
import pytest

from bench.graph_data import planted
from memory.graph.activation import Spreading, spread
from memory.graph.adjacency import Adjacency, assemble
from memory.graph.pagerank import personalised
from tests.unit.graph.test_communities import PAIR, as_networkx, edges, graph, node

IDS = [UUID(int=number) for number in range(10)]
ENGRAM = Spreading(seeds=5)


def mentions(*pairs: tuple[int, int]) -> Adjacency:
    return assemble(edges([]), np.array([(node(a), node(b)) for a, b in pairs], dtype=PAIR), edges([]))


class TestMatrix:
    def test_parallel_edges_are_added_in_both_directions(self) -> None:
        found = graph([(1, 2, 0.5), (2, 1, 0.25), (2, 3, 1.0)])
        assert (found.nodes, found.entities, found.edges) == (3, 3, 2)
        assert found.others.tolist() == [1, 0, 2, 1]
        assert found.weights.tolist() == [0.75, 0.75, 1.0, 1.0]
        assert found.degrees.tolist() == [0.75, 1.75, 1.0]

    def test_what_everything_mentions_tells_little(self) -> None:
        # Of four memories one entity is in all, one in two, one in one.
        found = mentions((1, 11), (1, 12), (1, 13), (1, 14), (2, 11), (2, 12), (3, 13))
        rarest = math.log(5 / 1.5)
        assert found.idf.tolist() == pytest.approx([math.log(5 / 4.5) / rarest, math.log(2) / rarest, 1.0])
        assert found.entities == 3
        assert found.nodes == 7

    def test_places_and_ids(self) -> None:
        found = mentions((256, 2), (1, 512))
        assert found.uuids(range(found.nodes)) == [UUID(int=1), UUID(int=256), UUID(int=2), UUID(int=512)]
        assert found.places([UUID(int=256), UUID(int=2)], memories=False).tolist() == [1, -1]
        assert found.places([UUID(int=512), UUID(int=1)], memories=True).tolist() == [3, -1]
        assert found.places([], memories=True).tolist() == []

    def test_of_nothing(self) -> None:
        nothing = graph([])
        assert (nothing.nodes, nothing.edges, nothing.degrees.tolist()) == (0, 0, [])
        assert nothing.places([UUID(int=1)], memories=False).tolist() == [-1]
        assert personalised(nothing, np.zeros(0)).tolist() == []


class TestPageRank:
    def test_of_a_path_by_hand(self) -> None:
        # a - b with half of the walk returning to a: x = 1/2 + y/2, y = x/2.
        found = personalised(graph([(1, 2, 1.0)]), np.array([1.0, 0.0]), damping=0.5, steps=40)
        assert found.tolist() == pytest.approx([2 / 3, 1 / 3])

    @pytest.mark.parametrize("damping", [0.5, 0.85])
    def test_as_networkx_computes_it(self, damping: float) -> None:
        drawn = planted(nodes=200, edges=700, communities=5, hub_degree=30, seed=9)
        pairs = zip(drawn.sources.tolist(), drawn.targets.tolist(), drawn.weights.tolist(), strict=True)
        adjacency = graph([(a + 1, b + 1, w) for a, b, w in pairs])
        seeds = np.zeros(adjacency.nodes)
        seeds[[3, 50]] = (3.0, 1.0)
        expected = nx.pagerank(
            as_networkx(adjacency), alpha=damping, personalization={3: 3.0, 50: 1.0}, weight="weight", tol=1e-12
        )
        found = personalised(adjacency, seeds, damping=damping, steps=120)
        assert found.tolist() == pytest.approx([expected[at] for at in range(adjacency.nodes)], abs=1e-6)
        assert found.sum() == pytest.approx(1.0, abs=1e-5)

    def test_no_seed_reaches_nothing(self) -> None:
        assert personalised(graph([(1, 2, 1.0)]), np.zeros(2)).tolist() == [0.0, 0.0]


class TestActivation:
    def test_hits_gain_and_others_come_in(self) -> None:
        first, second, third, fourth = IDS[:4]
        links = [
            (first, second, 0.9),
            (second, first, 0.9),
            (first, third, 0.5),
            (second, third, 0.4),
            (first, fourth, 0.4),
        ]
        found = spread({first: 0.02, second: 0.01}, links, ENGRAM)
        # Activation: of the first 0.5 * 0.9, of the second 0.9, of the third 0.5 + 0.5 * 0.4; the fourth has only 0.4.
        assert found == pytest.approx(
            {
                first: 0.02 + 0.02 * 0.2 * 0.45,
                second: 0.01 + 0.02 * 0.2 * 0.9,
                third: 0.02 * 0.15 * 0.7,
            }
        )

    def test_ten_others_at_most_the_most_activated_first(self) -> None:
        others = [UUID(int=100 + number) for number in range(12)]
        links = [(IDS[0], other, 0.5 + number / 100) for number, other in enumerate(others)]
        assert set(spread({IDS[0]: 1.0}, links, ENGRAM)) == {IDS[0], *others[2:]}

    def test_nothing_spreads_from_scores_of_zero(self) -> None:
        assert spread({IDS[0]: 0.0}, [(IDS[0], IDS[1], 1.0)], ENGRAM) == {IDS[0]: 0.0}
        assert spread({}, [], ENGRAM) == {}
