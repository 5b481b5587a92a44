"""A statement before it is written out: what it claims, how it ranks, and the relation that it makes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from memory.consolidation.extraction.values import normal


class Rank(NamedTuple):
    """How a kind of statement is kept: its kind, category and importance."""

    kind: str
    category: str
    importance: float


LIKING: Final = Rank("preference", "preference", 0.6)
IDENTITY: Final = Rank("fact", "person", 0.9)
PLACE: Final = Rank("fact", "person", 0.8)
TRADE: Final = Rank("fact", "person", 0.8)
HEALTH: Final = Rank("fact", "person", 0.95)
RELATED: Final = Rank("fact", "relationship", 0.7)
TRAIT: Final = Rank("fact", "person", 0.6)
POSSESSION: Final = Rank("fact", "person", 0.5)
TOOLING: Final = Rank("fact", "technical", 0.5)
LEARNING: Final = Rank("fact", "skill", 0.6)
AIM: Final = Rank("fact", "goal", 0.6)
WORK: Final = Rank("fact", "project", 0.6)
DECISION: Final = Rank("decision", "project", 0.8)
INSTRUCTION: Final = Rank("instruction", "instruction", 0.8)
REMEMBERED: Final = Rank("fact", "fact", 0.7)
FINDING: Final = Rank("fact", "insight", 0.4)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a clause says, in parts.

    Attributes:
        attribute, value, polarity, single: the claim, its value as written; no claim without an attribute.
        rank: how it is kept.
        label: the relation to what the value names; none when empty.
        target: what the relation leads to where that is not the value.
        target_type: its type where the text does not tell.
        ended: the relation holds no longer.
        supposed: with `ended`, only a relation that is known to hold ends; that it ever held is not told.
        text: the whole statement, where it is not the clause's own words.
        tail: what follows the verb, where only part of the clause is meant.
        silent: only the relation is wanted, not a statement of its own.
        confidence: 0-1.
    """

    rank: Rank
    attribute: str = ""
    value: str = ""
    polarity: int = 1
    single: bool = False
    label: str = ""
    target: str = ""
    target_type: str = "concept"
    ended: bool = False
    supposed: bool = False
    text: str = ""
    tail: str = ""
    silent: bool = False
    confidence: float = 0.9

    def but(self, **changes: Any) -> Draft:
        """Give it with some parts changed."""
        return replace(self, **changes)

    @property
    def claims(self) -> bool:
        """Tell whether it says something that another statement can deny."""
        return bool(self.attribute and normal(self.value))
