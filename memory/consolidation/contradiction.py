"""Which of two statements that cannot both hold takes the other's place; claims decide, names never do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

CONTESTED: Final = "contested"
PARTLY: Final = "partly"
WEIGHTY: Final = 0.8
"""Importance from which a statement is not retired by what is not as sure."""
SURE: Final = 0.8
"""Confidence from which what was only extracted may retire such a statement."""


@dataclass(frozen=True, slots=True)
class Held:
    """One claim: keyed hashes of whose what and which, whether it holds, and whether only one value can."""

    slot: int
    value: int
    polarity: int
    single: bool

    def contradicts(self, other: Held) -> bool:
        """Tell whether the two cannot both hold."""
        if self.slot != other.slot:
            return False
        if self.value == other.value:
            return self.polarity != other.polarity
        return (self.single or other.single) and self.polarity == other.polarity == 1


@dataclass(frozen=True, slots=True)
class Claimant:
    """A live statement with its claims.

    Attributes:
        begins: since when it holds, as far as it says.
        stated_at: when it was last stated, by itself or by what it was drawn from again.
        stated_by_person: whether a person said or confirmed it.
        extracted: whether it was only drawn from something.
    """

    memory_id: UUID
    claims: tuple[Held, ...]
    begins: datetime
    stated_at: datetime
    importance: float
    confidence: float
    stated_by_person: bool = False
    extracted: bool = True


@dataclass(frozen=True, slots=True)
class Retirement:
    """That one statement takes another's place from a moment on."""

    older: UUID
    newer: UUID
    until: datetime


@dataclass(frozen=True, slots=True)
class Doubt:
    """That two statements contradict each other and a person has to decide, with a code that says why."""

    older: UUID
    newer: UUID
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from some contradictions; `found` counts all pairs of statements that cannot both hold."""

    found: int = 0
    retirements: tuple[Retirement, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def judge(claimants: Iterable[Claimant], *, asserted: Iterable[UUID]) -> Verdict:
    """Decide what contradictions between live statements of one scope do.

    Of two the one that was stated last stands. The other ends when the first of those that contradict it begins, so
    what comes in late but was said before becomes history at once. A weighty statement, or one of a person, is not
    retired by an unsure extraction, and none is while only a part of what it claims is contradicted: a person decides.

    Args:
        claimants: all live statements that claim something of the slots in question.
        asserted: those stated now; contradictions between others were judged when these came.
    """
    everyone = {one.memory_id: one for one in claimants}
    pairs = _pairs(everyone, set(asserted))
    retirements: list[Retirement] = []
    doubts: list[Doubt] = []
    for older in sorted({pair[0] for pair in pairs}):
        newer = sorted(
            (everyone[second] for first, second in pairs if first == older),
            key=lambda one: (one.stated_at, one.memory_id),
        )
        outcome = _outcome(everyone[older], newer)
        if isinstance(outcome, Retirement):
            retirements.append(outcome)
        else:
            doubts.append(outcome)
    return Verdict(len(pairs), tuple(retirements), tuple(doubts))


def _pairs(everyone: Mapping[UUID, Claimant], asserted: set[UUID]) -> set[tuple[UUID, UUID]]:
    """List contradicting pairs, the one that was stated first before the other."""
    by_slot: dict[int, dict[UUID, Claimant]] = {}
    for one in everyone.values():
        for claim in one.claims:
            by_slot.setdefault(claim.slot, {})[one.memory_id] = one
    found: set[tuple[UUID, UUID]] = set()
    for memory_id in sorted(asserted & everyone.keys()):
        mine = everyone[memory_id]
        for claim in mine.claims:
            for other in by_slot[claim.slot].values():
                if other.memory_id != memory_id and any(claim.contradicts(theirs) for theirs in other.claims):
                    first, second = sorted((mine, other), key=lambda one: (one.stated_at, one.memory_id))
                    found.add((first.memory_id, second.memory_id))
    return found


def _outcome(older: Claimant, newer: Sequence[Claimant]) -> Retirement | Doubt:
    strong = [one for one in newer if not _contested(older, one)]
    if not strong:
        return Doubt(older.memory_id, newer[0].memory_id, CONTESTED)
    standing = [
        claim for claim in older.claims if not any(claim.contradicts(theirs) for one in strong for theirs in one.claims)
    ]
    if standing:
        return Doubt(older.memory_id, strong[0].memory_id, PARTLY)
    first = strong[0]
    return Retirement(older.memory_id, first.memory_id, max(first.begins, older.begins))


def _contested(older: Claimant, newer: Claimant) -> bool:
    protected = older.stated_by_person or older.importance >= WEIGHTY
    return protected and newer.extracted and newer.confidence < SURE
