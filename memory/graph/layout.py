"""Places in the plane for the nodes of a graph: communities apart from each other, neighbours close together.

The same graph gives the same places. A graph of which most places are known keeps those, and what is new enters beside
its neighbours, so that a picture is the same on the next visit.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Places = NDArray[np.int64]

SEED: Final = 20
KEPT_FROM: Final = 0.5
"""Share of known places from which on these are kept."""

GOLDEN: Final = np.pi * (3 - np.sqrt(5))
"""The angle between following leaves of a sunflower, which fills a disc evenly."""

STEPS: Final = 40
EXACT: Final = 250
"""Nodes of a community up to which each pushes each; above it a drawn part of them does."""

DRAWN: Final = 48
GAP: Final = 2.0
"""Between the discs of two communities."""

MOST_DISCS: Final = 600
"""Communities up to which these are moved by what joins them; more stand on a spiral, the largest within."""

DISC_STEPS: Final = 80
NEW_ROUNDS: Final = 3
JITTER: Final = 0.8


def lay_out(*, starts: Places, others: NDArray[np.int32], weights: Points, labels: Places, former: Points) -> Points:
    """Give every node of a graph a place.

    Args:
        starts: where each node's edges begin, in compressed rows; both directions of every edge are there.
        others: the node at the other end of each edge.
        weights: of each edge, above 0.
        labels: the community of each node; negative for none.
        former: places known from before, one row for each node; NaN where there is none.

    Returns:
        One row for each node: x and y, without a unit; neighbours stand about one apart.
    """
    count = len(starts)
    if not count:
        return np.zeros((0, 2))
    rows = np.repeat(np.arange(count), np.diff(np.append(starts, len(others))))
    known = ~np.isnan(former[:, 0])
    if known.mean() >= KEPT_FROM:
        return beside_neighbours(former, rows=rows, others=others, weights=weights)
    groups = _groups(labels)
    sizes = np.bincount(groups)
    radii = np.sqrt(sizes) * 0.9 + 0.5
    centres = discs(radii, groups[rows], groups[others], weights)
    placed = np.zeros((count, 2))
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(len(sizes) + 1))
    within = groups[rows] == groups[others]
    inner_rows, inner_others, inner_weights = rows[within], others[within], weights[within]
    inner_order = np.argsort(groups[inner_rows], kind="stable")
    edge_bounds = np.searchsorted(groups[inner_rows][inner_order], np.arange(len(sizes) + 1))
    local = np.zeros(count, dtype=np.int64)
    dice = np.random.default_rng(SEED)
    for group in range(len(sizes)):
        members = order[bounds[group] : bounds[group + 1]]
        local[members] = np.arange(len(members))
        edges = inner_order[edge_bounds[group] : edge_bounds[group + 1]]
        shape = _spread(
            len(members), local[inner_rows[edges]], local[inner_others[edges]], inner_weights[edges], dice=dice
        )
        placed[members] = centres[group] + shape * radii[group]
    return placed


def beside_neighbours(former: Points, *, rows: Places, others: NDArray[np.int32], weights: Points) -> Points:
    """Keep the places that are known; let the others enter beside their neighbours, or at the rim without any.

    Args:
        former: places, NaN where none is known.
        rows, others, weights: the edges, both directions of each.
    """
    placed = former.copy()
    count = len(placed)
    angles = np.arange(count) * GOLDEN
    jitter = np.column_stack([np.cos(angles), np.sin(angles)]) * JITTER
    for _ in range(NEW_ROUNDS):
        missing = np.isnan(placed[:, 0])
        if not missing.any():
            return placed
        told = missing[rows] & ~missing[others]
        total = np.bincount(rows[told], weights=weights[told], minlength=count)
        reached = total > 0
        for axis in (0, 1):
            summed = np.bincount(rows[told], weights=weights[told] * placed[others[told], axis], minlength=count)
            placed[reached, axis] = summed[reached] / total[reached] + jitter[reached, axis]
    missing = np.isnan(placed[:, 0])
    if missing.any():
        seen = placed[~missing]
        centre = seen.mean(axis=0) if len(seen) else np.zeros(2)
        reach = np.sqrt(((seen - centre) ** 2).sum(axis=1)).max(initial=1.0) + GAP
        placed[missing] = centre + jitter[missing] / JITTER * reach
    return placed


def sunflower(count: int) -> Points:
    """Give evenly spread points of the unit disc, from its middle outwards."""
    steps = np.arange(count)
    radii = np.sqrt((steps + 0.5) / max(count, 1))
    return np.column_stack([radii * np.cos(steps * GOLDEN), radii * np.sin(steps * GOLDEN)])


def _groups(labels: Places) -> Places:
    """Number the communities from 0, the largest first; what belongs to none is one group, the last."""
    found = np.where(labels < 0, -1, labels)
    names, numbers, counts = np.unique(found, return_inverse=True, return_counts=True)
    ranked = np.lexsort((names, -counts, names == -1))
    place = np.empty(len(names), dtype=np.int64)
    place[ranked] = np.arange(len(names))
    of_nodes: Places = place[numbers]
    return of_nodes


def discs(radii: Points, first: Places, second: Places, weights: Points) -> Points:
    """Give the middles of discs that do not overlap, those that are joined near each other."""
    count = len(radii)
    reach = np.sqrt((radii**2).sum()) * 1.5 + GAP
    centres: Points = sunflower(count) * reach
    if count == 1 or count > MOST_DISCS:
        return centres if count > 1 else np.zeros((1, 2))
    apart = first != second
    pulls = np.zeros((count, count))
    np.add.at(pulls, (first[apart], second[apart]), weights[apart])
    strongest = pulls.max()
    if strongest > 0:
        pulls = np.sqrt(pulls / strongest)
    room = radii[:, None] + radii[None, :] + GAP
    for step in range(DISC_STEPS):
        heat = 1 - step / DISC_STEPS
        across = centres[None, :, 0] - centres[:, None, 0]
        along = centres[None, :, 1] - centres[:, None, 1]
        distances = np.hypot(across, along) + 1e-9
        overlap = np.clip(room - distances, 0, None)
        np.fill_diagonal(overlap, 0)
        pull = pulls * np.clip(distances - room, 0, None) * 0.08 * heat
        force = (pull - overlap * 0.5) / distances
        moved = np.column_stack([(force * across).sum(axis=1), (force * along).sum(axis=1)])
        centres = centres + moved / np.sqrt(count) - centres * 0.01 * heat
    return centres


def _spread(count: int, rows: Places, others: Places, weights: Points, *, dice: np.random.Generator) -> Points:
    """Lay out one community within the unit disc: edges pull, all push each other away."""
    degrees = np.bincount(rows, weights=weights, minlength=count)
    shape = np.empty((count, 2))
    shape[np.argsort(-degrees, kind="stable")] = sunflower(count)
    if count < 3 or not len(rows):
        return shape
    ideal = 1.6 / np.sqrt(count)
    pulls = weights / np.maximum(np.sqrt(degrees[rows] * degrees[others]), 1e-9)
    for step in range(STEPS):
        heat = 0.3 * (1 - step / STEPS) + 0.01
        if count <= EXACT:
            against, scale = np.arange(count), 1.0
        else:
            against = dice.choice(count, size=DRAWN, replace=False)
            scale = count / DRAWN
        across = shape[:, None, 0] - shape[None, against, 0]
        along = shape[:, None, 1] - shape[None, against, 1]
        push_by = ideal**2 * 0.5 * scale / (across**2 + along**2 + 1e-6)
        push = np.column_stack([(across * push_by).sum(axis=1), (along * push_by).sum(axis=1)])
        ways = shape[others] - shape[rows]
        strength = pulls * np.hypot(ways[:, 0], ways[:, 1]) / ideal
        pull = np.column_stack(
            [np.bincount(rows, weights=ways[:, axis] * strength, minlength=count) for axis in (0, 1)]
        )
        move = push + pull - shape * 0.2
        size = np.hypot(move[:, 0], move[:, 1]) + 1e-9
        shape = shape + move / size[:, None] * np.minimum(size, heat)[:, None]
    shape = shape - shape.mean(axis=0)
    farthest = np.quantile(np.sqrt((shape**2).sum(axis=1)), 0.98)
    spread: Points = np.clip(shape / max(float(farthest), 1e-9), -1.2, 1.2)
    return spread
