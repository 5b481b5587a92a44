"""How long it takes to divide a generated graph into communities, and how much longer another library takes."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bench.graph_data import planted, store
from memory.errors import InvalidInput
from memory.graph.adjacency import Adjacency, load
from memory.graph.communities import divide, modularity
from memory.models import owner_scope
from memory.services.clock import now
from memory.services.consolidation.communities import divide_graph

if TYPE_CHECKING:
    import networkx as nx

NODES_EACH: Final = 100
"""Nodes of a planted community, on average."""

HUB_DEGREE: Final = 5_000
RUNS: Final = 3


def measure(*, nodes: int, edges: int, tell: Callable[[str], None], compared: bool = True) -> dict[str, Any]:
    """Store a graph, divide it as the product does, and let networkx divide the same one.

    Args:
        nodes: entities; 100 or more.
        edges: relations.
        tell: told of progress.
        compared: whether networkx has a turn too, which takes some thirty times as long.

    Returns:
        `cluster_s`: seconds of the best of three divisions; `load_s` of reading the graph, `stage_s` of a whole first
        run of the stage, labels written; `modularity`, `nodes` and `edges` of what was divided, `communities` found;
        `ratio_to_networkx`: how many times as long networkx took in the same run, and its `networkx_modularity`;
        `rss_mib`: the highest memory of the process before networkx began.

    Raises:
        InvalidInput: too few nodes or edges.
    """
    if nodes < NODES_EACH or edges < 1:
        raise InvalidInput(f"Nodes start at {NODES_EACH}, edges at 1.", code="bench.range")
    hub = min(HUB_DEGREE, nodes // 10)
    pairs = planted(nodes=nodes, edges=edges, communities=nodes // NODES_EACH, hub_degree=hub)
    stored = store(pairs, nodes=nodes, memories=0)
    tell(f"{len(pairs.weights)} relations stored")
    begun = time.perf_counter()
    with owner_scope(stored.actor.owner_id):
        adjacency = load(scopes=None)
    loaded = time.perf_counter() - begun
    spent = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        labels = divide(adjacency)
        spent.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    divide_graph(stored.actor.owner_id, at=now())
    stage = time.perf_counter() - begun
    found: dict[str, Any] = {
        "cluster_s": round(min(spent), 3),
        "load_s": round(loaded, 3),
        "stage_s": round(stage, 3),
        "modularity": round(modularity(adjacency, labels), 4),
        "communities": int(labels.max(initial=-1)) + 1,
        "nodes": adjacency.nodes,
        "edges": adjacency.edges,
        "rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "ratio_to_networkx": None,
        "networkx_modularity": None,
    }
    tell(f"divided in {found['cluster_s']} s")
    if compared:
        import networkx as nx

        graph = as_networkx(adjacency)
        begun = time.perf_counter()
        other = nx.community.louvain_communities(graph, weight="weight", seed=1)
        found["ratio_to_networkx"] = round((time.perf_counter() - begun) / min(spent), 1)
        found["networkx_modularity"] = round(nx.community.modularity(graph, other, weight="weight"), 4)
    return found


def as_networkx(adjacency: Adjacency) -> nx.Graph[int]:
    """Give the same graph to the other library."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph()
    rows = np.repeat(np.arange(adjacency.nodes), np.diff(np.append(adjacency.starts, len(adjacency.others))))
    once = rows < adjacency.others
    graph.add_weighted_edges_from(
        zip(rows[once].tolist(), adjacency.others[once].tolist(), adjacency.weights[once].tolist(), strict=True)
    )
    return graph
