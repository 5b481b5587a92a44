"""Which memories are about the same: groups of vectors that are joined by nearness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from memory.ports import Vectors

THRESHOLD: Final = 0.75
LEAST: Final = 3
ROWS_AT_ONCE: Final = 512


def clusters_of(vectors: Vectors, *, threshold: float = THRESHOLD, least: int = LEAST) -> list[list[int]]:
    """Group rows that are joined by chains of near pairs.

    Args:
        vectors: one row each, of any length above zero.
        threshold: least cosine of a near pair.
        least: members of a group, at least; smaller ones are no groups.

    Returns:
        The row numbers of each group in order, groups by their first row. Cost is quadratic in the rows, memory 512
        rows times all.
    """
    count = len(vectors)
    if count < least:
        return []
    unit = _unit(np.asarray(vectors, dtype=np.float32))
    pairs = [_near(unit, start, threshold) for start in range(0, count, ROWS_AT_ONCE)]
    first, second = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(count, count))
    _, sets = connected_components(graph, directed=False)
    found: dict[int, list[int]] = {}
    for member, number in enumerate(sets.tolist()):
        found.setdefault(number, []).append(member)
    return [members for members in found.values() if len(members) >= least]


def _near(unit: Vectors, start: int, threshold: float) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Give the near pairs of 512 rows with themselves and all later ones, each pair once."""
    part = unit[start : start + ROWS_AT_ONCE] @ unit[start:].T
    rows, columns = np.nonzero(np.triu(part >= threshold, k=1))
    return (rows + start).astype(np.int32), (columns + start).astype(np.int32)


def by_closeness(vectors: Vectors, members: Sequence[int]) -> list[int]:
    """Order the members of a group by nearness to its middle, the nearest first; equal ones by their number."""
    unit = _unit(np.asarray(vectors, dtype=np.float32)[list(members)])
    nearness = unit @ unit.mean(axis=0)
    return [
        members[place] for place in sorted(range(len(members)), key=lambda at: (-round(float(nearness[at]), 6), at))
    ]


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), dtype=np.float32)
