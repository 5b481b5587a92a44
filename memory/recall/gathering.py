"""The candidates of one recall: what the arms find, with the turns beside it, scored exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from memory.recall import arms
from memory.recall.arms import Found
from memory.recall.candidates import Candidate, load_candidates
from memory.recall.neighbours import Neighbours, neighbours_of
from memory.recall.profiles import RecallProfile
from memory.recall.query import Query

# Rows of each arm, best first, whose neighbouring turns become candidates too.
WITH_NEIGHBOURS: Final = 20


@dataclass(slots=True)
class Gathered:
    """The candidates of one recall before they are weighed."""

    found: Found
    candidates: dict[UUID, Candidate]
    neighbours: dict[UUID, Neighbours]


def gather(query: Query, profile: RecallProfile, *, limit: int) -> Gathered:
    """Ask the arms, add the neighbours of their best rows, score all exactly and load their numbers."""
    found = arms.ask(query, profile, limit=limit)
    neighbours: dict[UUID, Neighbours] = {}
    if profile.spread_before or profile.spread_after:
        # What the graph leads to is near as it is; the turns beside it only disturb.
        rows = [asked for name, asked in found.asked.items() if name != "graph"]
        best = {memory_id for asked in rows for memory_id in list(asked)[:WITH_NEIGHBOURS]}
        neighbours = arms.guarded("neighbours", found, lambda: neighbours_of(query, best)) or {}
    beside = {side for sides in neighbours.values() for side in (sides.before, sides.after) if side is not None}
    arms.complete(query, found, beside)
    return Gathered(found, load_candidates(query, found.candidates | beside), neighbours)
