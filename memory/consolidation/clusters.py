"""Which memories are about the same: groups of vectors that are joined by nearness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from memory.ports import Vectors

THRESHOLD: Final = 0.75
LEAST: Final = 3
ROWS_AT_ONCE: Final = 512


class UnionFind:
    """Disjoint sets of the numbers from 0; the least member stands for its set."""

    def __init__(self, count: int) -> None:
        """Begin with every number in a set of its own."""
        self._above = list(range(count))

    def find(self, member: int) -> int:
        """Give the number that stands for a member's set."""
        while self._above[member] != member:
            self._above[member] = self._above[self._above[member]]
            member = self._above[member]
        return member

    def join(self, first: int, second: int) -> None:
        """Make one set of two."""
        low, high = sorted((self.find(first), self.find(second)))
        self._above[high] = low

    def sets(self) -> list[list[int]]:
        """Give the sets, each in order, by their least members."""
        found: dict[int, list[int]] = {}
        for member in range(len(self._above)):
            found.setdefault(self.find(member), []).append(member)
        return list(found.values())


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
    sets = UnionFind(count)
    for start in range(0, count, ROWS_AT_ONCE):
        part = unit[start : start + ROWS_AT_ONCE] @ unit.T
        for row, column in np.argwhere(part >= threshold):
            if start + row < column:
                sets.join(int(start + row), int(column))
    return [members for members in sets.sets() if len(members) >= least]


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
