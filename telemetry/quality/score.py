"""The score of an owner's memory: 100, less what is wrong with it. Cortex's rules, with what each means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext_noop

FULL: Final = 100
ACTIVE_ABOVE: Final = 0.5
"""Share that time has left of a memory, above which it counts as active."""
STALE_BELOW: Final = 0.1
"""Share that time has left of a memory, below which it counts as stale."""
FADED_BELOW: Final = 0.3
"""Average share below which memories have faded on the whole."""
FEW: Final = 10
"""Up to so many memories, averages say nothing."""
SELDOM_USED_BELOW: Final = 0.1
"""Share of memories that were ever recalled, below which they are seldom used."""
MANY_ENTITIES: Final = 100
UNSURE_BELOW: Final = 0.5
"""Average confidence below which reflections are unsure; each begins with 0.5 or more."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is counted of an owner's live memories and graph.

    Attributes:
        memories, active, stale: how many, and how many of them are active or stale.
        average_decay: share that time has left of a memory, on average, 0 to 1; 0 where there is none.
        used: memories that were recalled at least once.
        entities, unrelated_entities, relations: of the graph; open relations that are believed.
        reflections: how many.
        reflection_confidence: on average, 0 to 1; 0 where there is none.
    """

    memories: int
    active: int
    stale: int
    average_decay: float
    used: int
    entities: int
    unrelated_entities: int
    relations: int
    reflections: int
    reflection_confidence: float


@dataclass(frozen=True, slots=True)
class Deduction:
    """What is taken off the score: points, a word for programs, what it means, and what to do about it."""

    code: str
    points: int
    meaning: str
    remedy: str


@dataclass(frozen=True, slots=True)
class _Rule:
    deduction: Deduction
    holds: Callable[[Standing], bool]


def deductions_of(standing: Standing) -> tuple[Deduction, ...]:
    """Give what is taken off, the heaviest first.

    Source: Cortex's published health score (25 all stale, 10 more than half stale, 8 average decay below 0.3 of more
    than 10, 3 low access, 10 entities without relations, 5 more than 100 entities, 8 low reflection confidence). What
    counts as low access and as low confidence is not published; `SELDOM_USED_BELOW` and `UNSURE_BELOW` are ours.
    """
    found = [rule.deduction for rule in _RULES if rule.holds(standing)]
    return tuple(sorted(found, key=lambda one: -one.points))


def score_of(deductions: tuple[Deduction, ...]) -> int:
    """Give the score: 100 less the points, from 41 to 100, since at most one of the two for staleness holds."""
    return FULL - sum(one.points for one in deductions)


def _all_stale(one: Standing) -> bool:
    return 0 < one.memories == one.stale


_RULES: Final = (
    _Rule(
        Deduction(
            "memories.all_stale",
            25,
            gettext_noop("Every memory has faded: none was stored or recalled for a long time."),
            gettext_noop("See whether agents still store and recall: their keys, and Health for the worker."),
        ),
        _all_stale,
    ),
    _Rule(
        Deduction(
            "memories.mostly_stale",
            10,
            gettext_noop("More than half of the memories have faded and are not used."),
            gettext_noop("Let consolidation run, or choose a retention policy that archives what has faded."),
        ),
        lambda one: not _all_stale(one) and 2 * one.stale > one.memories,
    ),
    _Rule(
        Deduction(
            "memories.faded",
            8,
            gettext_noop("On average, time has left less than three tenths of a memory."),
            gettext_noop("Recall what matters, raise its importance, or choose a policy with a longer half-life."),
        ),
        lambda one: one.memories > FEW and one.average_decay < FADED_BELOW,
    ),
    _Rule(
        Deduction(
            "memories.seldom_used",
            3,
            gettext_noop("Fewer than one memory in ten was ever recalled."),
            gettext_noop("Let agents ask for context before they answer, and look at how recall does in use."),
        ),
        lambda one: one.memories > FEW and one.used < SELDOM_USED_BELOW * one.memories,
    ),
    _Rule(
        Deduction(
            "graph.unrelated",
            10,
            gettext_noop("There are entities, and nothing is known of how they relate."),
            gettext_noop("Let consolidation run with a language model, or state relations."),
        ),
        lambda one: one.entities > 0 and one.relations == 0,
    ),
    _Rule(
        Deduction(
            "graph.many_entities",
            5,
            gettext_noop("There are more than a hundred entities, among which the same thing often stands twice."),
            gettext_noop("Look through the duplicates of the graph and merge them."),
        ),
        lambda one: one.entities > MANY_ENTITIES,
    ),
    _Rule(
        Deduction(
            "reflections.unsure",
            8,
            gettext_noop("Reflections are unsure on average: what was drawn from episodes has little to stand on."),
            gettext_noop("Review what waits; reflections that nothing confirms fade by themselves."),
        ),
        lambda one: one.reflections > 0 and one.reflection_confidence < UNSURE_BELOW,
    ),
)
