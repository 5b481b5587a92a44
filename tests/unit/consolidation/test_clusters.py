"""Groups of near vectors: the published cases, chains, and more rows than are compared at once."""

from __future__ import annotations

import numpy as np
import pytest

from memory.consolidation.clusters import by_closeness, clusters_of
from memory.ports import Vectors


def vectors(*angles: float) -> Vectors:
    radians = np.radians(np.array(angles))
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


@pytest.mark.parametrize(
    ("angles", "groups"),
    [
        ((), []),
        ((0,), []),
        ((0, 1), []),
        ((0, 1, 2), [[0, 1, 2]]),
        ((0, 90, 1, 91, 2, 92), [[0, 2, 4], [1, 3, 5]]),
        ((0, 1, 2, 90), [[0, 1, 2]]),
        ((0, 41, 82), [[0, 1, 2]]),
        ((0, 42, 84), []),
    ],
    ids=["empty", "one", "two", "three", "two_groups", "singleton", "chain", "too_far"],
)
def test_groups(angles: tuple[float, ...], groups: list[list[int]]) -> None:
    assert clusters_of(vectors(*angles)) == groups


def test_length_does_not_count() -> None:
    assert clusters_of(vectors(0, 1, 2) * np.float32(7)) == [[0, 1, 2]]
    assert clusters_of(np.zeros((4, 3), dtype=np.float32)) == []


def test_many_rows_are_compared_part_by_part() -> None:
    generator = np.random.default_rng(7)
    middles = np.eye(4, 32, dtype=np.float32)
    rows = np.concatenate([middles[[place % 4]] for place in range(1_300)])
    rows += generator.normal(scale=0.01, size=rows.shape).astype(np.float32)
    found = clusters_of(rows)
    assert found == [[place for place in range(1_300) if place % 4 == group] for group in range(4)]


def test_the_nearest_to_the_middle_comes_first() -> None:
    assert by_closeness(vectors(0, 50, 9, 20), [0, 2, 3]) == [2, 0, 3]
