"""What the quality bench asks: stores of turns and statements, with questions whose evidence is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.models import Kind


@dataclass(frozen=True, slots=True)
class Item:
    """One memory of a store: its id in the data, what it says, and when.

    `session` is the conversation of a turn, in which items stand in order; a statement has none.
    """

    id: str
    text: str
    at: datetime
    session: str | None = None
    speaker: str | None = None
    role: str = "user"
    kind: str = Kind.TURN


@dataclass(frozen=True, slots=True)
class Question:
    """One question with the ids of its evidence and its category."""

    text: str
    evidence: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Store:
    """What one owner remembers, and the questions about it that have evidence."""

    name: str
    items: Sequence[Item]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Source:
    """Stores that were made alike and are reported together."""

    name: str
    stores: Sequence[Store]
