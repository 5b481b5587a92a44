"""Communities of a graph by Louvain's method, their modularity, and numbers that stay from one division to the next.

Blondel, Guillaume, Lambiotte and Lefebvre 2008; modularity as in Newman 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.graph.adjacency import Adjacency

Labels = NDArray[np.int64]

SEED: Final = 20_080
LEAST_MEMBERS: Final = 2
NONE: Final = -1
"""The label of a node that belongs to no community."""

LEAST_SHARE: Final = 0.5
"""Of the former or of the present members: as many have to be the same for a community to count as the same one."""


def divide(adjacency: Adjacency) -> Labels:
    """Divide the nodes into communities; the same graph is always divided in the same way.

    Returns:
        A label from 0 for each node, the largest community first; `NONE` for a node that is alone.
    """
    if not adjacency.nodes:
        return np.zeros(0, dtype=np.int64)
    # Loaded here, since it costs every process that never divides anything half a second and 40 MiB.
    from scipy.sparse import csr_matrix
    from sknetwork.clustering import Louvain

    ends = np.append(adjacency.starts, len(adjacency.others))
    matrix = csr_matrix((adjacency.weights.astype(np.float64), adjacency.others, ends), shape=(adjacency.nodes,) * 2)
    found: Labels = np.asarray(Louvain(random_state=SEED).fit_predict(matrix), dtype=np.int64)
    sizes = np.bincount(found)
    # By size, then by the first member, whatever order the method gives them.
    firsts = np.full(len(sizes), adjacency.nodes)
    np.minimum.at(firsts, found, np.arange(adjacency.nodes))
    order = np.lexsort((firsts, -sizes))
    renamed = np.full(len(sizes), NONE, dtype=np.int64)
    kept = order[sizes[order] >= LEAST_MEMBERS]
    renamed[kept] = np.arange(len(kept))
    labels: Labels = renamed[found]
    return labels


def modularity(adjacency: Adjacency, labels: Labels) -> float:
    """Give the modularity Q of a division, -0.5 to 1.

    The share of all weight that lies within communities, less what would lie there if the same degrees were joined at
    random; summed over all communities, with nodes of none as communities of their own.
    """
    total = float(adjacency.degrees.sum())
    if total == 0:
        return 0.0
    inner, _ = weights(adjacency, labels)
    degrees = np.bincount(labels[labels >= 0], weights=adjacency.degrees[labels >= 0], minlength=len(inner))
    alone = adjacency.degrees[labels < 0]
    expected = float(np.square(degrees / total).sum() + np.square(alone / total).sum())
    return float(2 * inner.sum() / total) - expected


def weights(adjacency: Adjacency, labels: Labels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the summed weight of the edges within each community, and of those that lead out of it."""
    count = int(labels.max(initial=NONE)) + 1
    rows = np.repeat(labels, np.diff(np.append(adjacency.starts, len(adjacency.others))))
    other = labels[adjacency.others]
    within = (rows == other) & (rows >= 0)
    # Every edge stands in both of its rows.
    inner = np.bincount(rows[within], weights=adjacency.weights[within], minlength=count) / 2
    leaving = ~within & (rows >= 0)
    outer = np.bincount(rows[leaving], weights=adjacency.weights[leaving], minlength=count)
    return inner, outer.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Numbering:
    """The number of each label, and the number that the next new community gets."""

    numbers: NDArray[np.int64]
    following: int


def renumber(labels: Labels, former: Labels, *, following: int) -> Numbering:
    """Give communities the numbers of those that they continue, and new numbers to the others.

    One continues another when they share half of the members that either of them has; the largest overlaps choose
    first. A number is never given twice, so that a name given to a community does not pass to another.

    Args:
        labels: of the nodes now.
        former: the numbers of the same nodes in the division before, `NONE` for none.
        following: the first number that was never given.
    """
    count = int(labels.max(initial=NONE)) + 1
    following = max(following, int(former.max(initial=NONE)) + 1)
    both = (labels >= 0) & (former >= 0)
    pairs, overlap = np.unique(np.stack([labels[both], former[both]], axis=1), axis=0, return_counts=True)
    sizes = np.bincount(labels[labels >= 0], minlength=count)
    before: Mapping[int, int] = dict(
        zip(*(part.tolist() for part in np.unique(former, return_counts=True)), strict=True)
    )
    numbers = np.full(count, NONE, dtype=np.int64)
    taken: set[int] = set()
    for place in np.lexsort((pairs[:, 0], pairs[:, 1], -overlap)).tolist():
        label, number, shared = int(pairs[place, 0]), int(pairs[place, 1]), int(overlap[place])
        same = shared >= LEAST_SHARE * min(int(sizes[label]), before[number])
        if same and numbers[label] == NONE and number not in taken:
            numbers[label] = number
            taken.add(number)
    for label in np.flatnonzero(numbers == NONE).tolist():
        numbers[label] = following
        following += 1
    return Numbering(numbers, following)
