"""Places in the plane: the same for the same graph, apart for communities, kept once they are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.graph.layout import discs, lay_out

EACH = 12
UNKNOWN = np.nan


def compressed(pairs: list[tuple[int, int]], nodes: int) -> dict[str, Any]:
    rows = np.array([end for pair in pairs for end in pair])
    others = np.array([end for first, second in pairs for end in (second, first)], dtype=np.int32)
    order = np.argsort(rows, kind="stable")
    return {
        "starts": np.searchsorted(rows[order], np.arange(nodes)),
        "others": others[order],
        "weights": np.ones(len(rows)),
    }


@pytest.fixture
def two_groups() -> dict[str, Any]:
    """Two groups in which everybody knows three others, joined by one edge."""
    pairs = [(group * EACH + one, group * EACH + (one + step) % EACH)
             for group in (0, 1) for one in range(EACH) for step in (1, 2, 3)]  # fmt: skip
    return compressed([*pairs, (0, EACH)], 2 * EACH) | {"labels": np.repeat([4, 9], EACH)}


def unknown(nodes: int) -> NDArray[np.float64]:
    return np.full((nodes, 2), UNKNOWN)


def test_the_same_graph_has_the_same_places(two_groups: dict[str, Any]) -> None:
    first, second = (lay_out(**two_groups, former=unknown(2 * EACH)) for _ in range(2))
    assert np.array_equal(first, second)
    assert np.isfinite(first).all()


def test_communities_stand_apart(two_groups: dict[str, Any]) -> None:
    placed = lay_out(**two_groups, former=unknown(2 * EACH))
    middles = placed[:EACH].mean(axis=0), placed[EACH:].mean(axis=0)
    reach = max(np.linalg.norm(part - middle, axis=1).max() for part, middle in
                zip((placed[:EACH], placed[EACH:]), middles, strict=True))  # fmt: skip
    assert np.linalg.norm(middles[0] - middles[1]) > 1.5 * reach


def test_known_places_stay_and_new_things_enter_beside_their_neighbours(two_groups: dict[str, Any]) -> None:
    former = lay_out(**two_groups, former=unknown(2 * EACH))
    former[3] = UNKNOWN
    placed = lay_out(**two_groups, former=former)
    others = np.arange(2 * EACH) != 3
    assert np.array_equal(placed[others], former[others])
    near = np.linalg.norm(placed[:EACH] - placed[3], axis=1)
    far = np.linalg.norm(placed[EACH:] - placed[3], axis=1)
    assert np.median(near) < far.min()


def test_what_has_no_known_neighbour_stands_at_the_rim() -> None:
    graph = compressed([(0, 1), (1, 2), (3, 4)], 5) | {"labels": np.full(5, -1)}
    former = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [UNKNOWN, UNKNOWN], [UNKNOWN, UNKNOWN]])
    placed = lay_out(**graph, former=former)
    assert np.isfinite(placed).all()
    assert np.linalg.norm(placed[3:] - former[:3].mean(axis=0), axis=1).min() > 1


def test_things_without_an_edge_have_places_too() -> None:
    graph: dict[str, Any] = {"starts": np.zeros(3, dtype=np.int64), "others": np.zeros(0, dtype=np.int32),
                             "weights": np.zeros(0), "labels": np.full(3, -1)}  # fmt: skip
    placed = lay_out(**graph, former=unknown(3))
    assert len({tuple(one) for one in placed.round(3).tolist()}) == 3
    empty = graph | {"starts": np.zeros(0, dtype=np.int64), "labels": np.zeros(0, dtype=np.int64)}
    assert lay_out(**empty, former=unknown(0)).shape == (0, 2)


def test_discs_do_not_overlap() -> None:
    radii = np.array([5.0, 3.0, 3.0, 1.0, 1.0, 1.0])
    middles = discs(radii, np.array([0, 1]), np.array([1, 0]), np.ones(2))
    for one in range(len(radii)):
        for other in range(one):
            assert np.linalg.norm(middles[one] - middles[other]) > (radii[one] + radii[other]) * 0.95
