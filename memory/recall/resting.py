"""Summaries beside what they are made from: the more specific stands, what sums it up does not take a place too.

A question about one thing that was said finds the turn, and the summaries of its session, day and week that quote it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from memory.models import SummaryLevel
from memory.ports.reading import reading as connection
from memory.recall.duplicates import Distinct
from memory.recall.id_arrays import id_array

MOST_SOURCES: Final = 20_000
"""Pairs of a summary and something that it rests on which are read for one answer."""

STEPS: Final = 4
"""From everything over weeks, days and statements to turns."""

BREADTH: Final = {level: place for place, level in enumerate(
    (SummaryLevel.RAW, SummaryLevel.SESSION, SummaryLevel.DAILY, SummaryLevel.WEEKLY, SummaryLevel.GLOBAL)
)}  # fmt: skip

RESTS_ON: Final = """
    WITH RECURSIVE rests (summary, source, step) AS (
        SELECT s.memory_id, s.turn_id, 1 FROM memory_memorysource s
        WHERE s.owner_id = %(owner)s AND s.memory_id = ANY(%(ids)s::uuid[]) AND s.turn_id IS NOT NULL
        UNION
        SELECT r.summary, s.turn_id, r.step + 1 FROM rests r
        JOIN memory_memorysource s ON s.owner_id = %(owner)s AND s.memory_id = r.source
        WHERE r.step < %(steps)s AND s.turn_id IS NOT NULL
    )
    SELECT summary, source FROM rests LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of one hit: the words of the question that it holds, and how much a summary sums up.

    `breadth` is None for what is no summary, else its level's place in `BREADTH`.
    """

    words: AbstractSet[str]
    breadth: int | None = None


def rests_on(owner_id: UUID, summaries: Sequence[UUID]) -> dict[UUID, set[UUID]]:
    """Give all that summaries were made from, step by step down to the turns, by one query within the owner's scope."""
    found: dict[UUID, set[UUID]] = {one: set() for one in summaries}
    parameters: dict[str, Any] = {"owner": owner_id, "ids": id_array(summaries), "steps": STEPS, "most": MOST_SOURCES}
    with connection.cursor() as cursor:
        cursor.execute(RESTS_ON, parameters)
        for summary, source in cursor.fetchall():
            found[summary].add(source)
    return found


def without_retold(
    shown: Sequence[Distinct], found: Mapping[UUID, Found], sources: Mapping[UUID, AbstractSet[UUID]]
) -> list[Distinct]:
    """Leave out summaries that say nothing to the question beyond a more specific hit; that one names them.

    More specific than a summary is what it was made from, and a narrower summary that shares sources with it. A summary
    stays when it holds a word of the question that none of these holds, and where no word tells, when it is the better.

    Args:
        shown: hits, best first.
        found: what is known of each.
        sources: what each summary among them rests on, see `rests_on`.
    """
    places = {one.memory_id: place for place, one in enumerate(shown)}
    below: dict[UUID, UUID] = {}
    for one in sorted(shown, key=lambda hit: (found[hit.memory_id].breadth or 0, places[hit.memory_id])):
        known = found[one.memory_id]
        if known.breadth is None:
            continue
        narrower = [
            other.memory_id
            for other in shown
            if other.memory_id not in below and _narrower(other.memory_id, one.memory_id, found, sources)
        ]
        if not known.words:
            narrower = [other for other in narrower if places[other] < places[one.memory_id]]
        held = set[str]().union(*(found[other].words for other in narrower))
        if narrower and known.words <= held:
            below[one.memory_id] = narrower[0]
    kept = {one.memory_id: Distinct(one.memory_id, list(one.also)) for one in shown if one.memory_id not in below}
    for one in shown:
        if one.memory_id in below:
            kept[below[one.memory_id]].also += [one.memory_id, *one.also]
    return list(kept.values())


def _narrower(one: UUID, than: UUID, found: Mapping[UUID, Found], sources: Mapping[UUID, AbstractSet[UUID]]) -> bool:
    if one in sources[than]:
        return True
    breadth, other = found[one].breadth, found[than].breadth
    return breadth is not None and other is not None and breadth < other and not sources[one].isdisjoint(sources[than])
