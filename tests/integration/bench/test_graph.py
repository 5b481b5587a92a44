"""The benches of the graph end to end, on small graphs."""

from __future__ import annotations

import pytest

from bench import communities, graph
from bench.graph_data import planted
from memory.errors import InvalidInput

REAL = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def quiet(*lines: str) -> None:
    """Say nothing."""


def test_the_same_seed_draws_the_same_graph() -> None:
    first, second, other = (planted(nodes=500, edges=2_000, communities=5, hub_degree=50, seed=s) for s in (1, 1, 2))
    assert (first.sources == second.sources).all()
    assert (first.weights == second.weights).all()
    assert len(first.weights) != len(other.weights) or (first.targets != other.targets).any()
    assert (first.sources < first.targets).all(), "each edge once, from the smaller number, none to itself"
    assert (first.sources == 0).sum() >= 50


@REAL
def test_communities() -> None:
    found = communities.measure(nodes=1_000, edges=5_000, tell=quiet)
    assert found["nodes"] <= 1_000
    assert 4_000 < found["edges"] <= 5_100
    assert found["communities"] >= 5
    assert found["modularity"] > 0.3
    assert abs(found["modularity"] - found["networkx_modularity"]) < 0.05
    assert found["ratio_to_networkx"] > 1
    assert communities.measure(nodes=200, edges=500, tell=quiet, compared=False)["ratio_to_networkx"] is None


@REAL
def test_steps_and_walks() -> None:
    found = graph.measure(entities=1_000, relations=4_000, memories=200, queries=6, tell=quiet)
    assert set(found) >= {"hop1_p50_ms", "hub_hop1_p50_ms", "hop2_p50_ms", "ppr_ms", "load_ms"}
    assert (found["entities"], found["hub_degree"] >= 100) == (1_000, True)
    assert 300 < found["mentions"] <= 600
    assert found["relations"] > 3_500


@pytest.mark.parametrize("nodes", [0, 99])
def test_a_graph_has_a_least_size(nodes: int) -> None:
    with pytest.raises(InvalidInput):
        communities.measure(nodes=nodes, edges=10, tell=quiet)
    with pytest.raises(InvalidInput):
        graph.measure(entities=nodes, relations=10, memories=1, queries=1, tell=quiet)
