"""Stage 13: the owner's graph is divided into communities, which label its entities and memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memory.graph.adjacency import Adjacency, graph_version, load
from memory.graph.communities import NONE, divide, modularity, renumber, weights
from memory.models import Community, CommunityState, DueWork, current_owner, owner_scope
from memory.recall.id_arrays import id_array
from memory.services.consolidation.stages import SKIPPED, StageContext, StageReport
from memory.services.writing import call_for_work

# Rows labelled in one transaction: who edits one of them waits no longer than that takes.
BATCH: Final = 2_000

LABELLED: Final = "SELECT id, community FROM {table} WHERE owner_id = %(owner)s AND community IS NOT NULL"
# The rows are locked in the order of their ids before they are written, like everywhere.
LABEL: Final = """
    UPDATE {table} t SET community = nullif(n.number, -1)
    FROM (
        SELECT r.id, l.number FROM unnest(%(ids)s::uuid[], %(numbers)s::int[]) AS l (id, number)
        JOIN {table} r ON r.owner_id = %(owner)s AND r.id = l.id ORDER BY r.id FOR UPDATE OF r
    ) n
    WHERE t.owner_id = %(owner)s AND t.id = n.id AND t.community IS DISTINCT FROM nullif(n.number, -1)
"""
ENTITIES: Final = "memory_entity"
MEMORIES: Final = "memory_memory"

Numbers = dict[UUID, int]


@dataclass(frozen=True, slots=True)
class Division:
    """What a division has found: how many of what, its modularity, and how many rows got another label."""

    version: int
    modularity: float
    communities: int
    nodes: int
    edges: int
    relabelled: int


def divide_communities(context: StageContext) -> Sequence[StageReport]:
    """Divide the graph where it has changed since the last division, or where somebody asks for it."""
    report = StageReport("communities")
    found = divide_graph(context.actor.owner_id, at=context.moment, again=context.by_hand, beat=context.beat)
    if found is None:
        report.state, report.skipped_reason = SKIPPED, "graph.unchanged"
        return [report]
    for name in ("communities", "nodes", "edges", "relabelled"):
        report.count(name, getattr(found, name))
    report.count("modularity_thousandths", round(1000 * found.modularity))
    return [report]


def divide_graph(
    owner_id: UUID, *, at: datetime, again: bool = False, beat: Callable[[], None] = lambda: None
) -> Division | None:
    """Divide an owner's graph and label what belongs together; the same graph gives the same labels.

    Reads in one transaction, computes in none, and labels in small ones, so that it can be killed anywhere and
    repeated. One at a time for an owner: the caller holds the lease.

    Args:
        owner_id: whose graph.
        at: the moment that counts as now.
        again: divide although the graph has not changed since the last time.
        beat: called between transactions; may raise to stop.

    Returns:
        What was found; None where nothing has changed.
    """
    with owner_scope(owner_id):
        version = graph_version()
        state = CommunityState.objects.first()
        if not again and (state.graph_version if state else 0) == version:
            return None
        adjacency = load(scopes=None)
        former = {table: _labelled(table) for table in (ENTITIES, MEMORIES)}
    beat()
    labels = divide(adjacency)
    before = _in_order(adjacency, former)
    numbering = renumber(labels, before, following=state.next_number if state else 1)
    numbers = np.where(labels >= 0, numbering.numbers[labels], NONE) if len(labels) else labels
    found = Division(
        version=version,
        modularity=modularity(adjacency, labels),
        communities=len(numbering.numbers),
        nodes=adjacency.nodes,
        edges=adjacency.edges,
        relabelled=sum(
            _label(owner_id, table, wanted, former[table], beat)
            for table, wanted in zip((ENTITIES, MEMORIES), _by_table(adjacency, numbers), strict=True)
        ),
    )
    with owner_scope(owner_id):
        _keep_communities(adjacency, labels, numbering.numbers, at)
        _keep_state(found, numbering.following, at)
        call_for_work(DueWork.LAYOUT, due_at=at)
    return found


def _labelled(table: str) -> Numbers:
    with connection.cursor() as cursor:
        cursor.execute(LABELLED.format(table=table), {"owner": current_owner()})
        return dict(cursor.fetchall())


def _in_order(adjacency: Adjacency, former: dict[str, Numbers]) -> NDArray[np.int64]:
    """Give the former number of each node."""
    before = np.full(adjacency.nodes, NONE, dtype=np.int64)
    for table, memories in ((ENTITIES, False), (MEMORIES, True)):
        places = adjacency.places(list(former[table]), memories=memories)
        known = places >= 0
        before[places[known]] = np.array(list(former[table].values()), dtype=np.int64)[known]
    return before


def _by_table(adjacency: Adjacency, numbers: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Give the numbers of entities and of memories that have one."""
    ids, values = adjacency.uuids(range(adjacency.nodes)), numbers.tolist()
    parts = (slice(0, adjacency.entities), slice(adjacency.entities, None))
    first, second = (
        {one: number for one, number in zip(ids[part], values[part], strict=True) if number != NONE} for part in parts
    )
    return first, second


def _label(owner_id: UUID, table: str, wanted: Numbers, former: Numbers, beat: Callable[[], None]) -> int:
    """Write the numbers that differ from the stored ones; gives how many rows were written."""
    changed = sorted(
        (one, wanted.get(one, NONE)) for one in wanted.keys() | former.keys() if wanted.get(one) != former.get(one)
    )
    written = 0
    for start in range(0, len(changed), BATCH):
        part = changed[start : start + BATCH]
        parameters: dict[str, Any] = {
            "owner": owner_id,
            "ids": id_array(one for one, _ in part),
            "numbers": [number for _, number in part],
        }
        with owner_scope(owner_id), connection.cursor() as cursor:
            cursor.execute(LABEL.format(table=table), parameters)
            written += cursor.rowcount
        beat()
    return written


def _keep_communities(
    adjacency: Adjacency, labels: NDArray[np.int64], numbers: NDArray[np.int64], at: datetime
) -> None:
    """Write the row of each community, and drop those that are no more; what a person has called one stays with it."""
    inner, outer = weights(adjacency, labels)
    among, memories = labels[: adjacency.entities], labels[adjacency.entities :]
    sizes = [np.bincount(part[part >= 0], minlength=len(numbers)).tolist() for part in (among, memories)]
    Community.objects.exclude(number__in=numbers.tolist()).delete()
    known = {row.number: row for row in Community.objects.all()}
    for label, number in sorted(enumerate(numbers.tolist()), key=lambda pair: pair[1]):
        row = known.get(number) or Community(number=number, created_at=at)
        values = (sizes[0][label], sizes[1][label], round(float(inner[label]), 6), round(float(outer[label]), 6))
        if (row.entities, row.memories, row.inner_weight, row.outer_weight) == values and number in known:
            continue
        row.entities, row.memories, row.inner_weight, row.outer_weight = values
        row.updated_at = at
        row.save(force_insert=number not in known)


def _keep_state(found: Division, following: int, at: datetime) -> None:
    values = {
        "graph_version": found.version,
        "modularity": found.modularity,
        "communities": found.communities,
        "nodes": found.nodes,
        "edges": found.edges,
        "next_number": following,
        "computed_at": at,
    }
    if not CommunityState.objects.update(**values):
        CommunityState.objects.create(owner_id=current_owner(), **values)
