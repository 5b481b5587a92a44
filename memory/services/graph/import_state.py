"""One import of a graph under way: what the ids of its document stand for here, and what became of its items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from memory.errors import InvalidInput
from memory.services.actors import Actor, Target
from memory.text import limits

CREATED: Final = "created"
EXISTING: Final = "existing"
SKIPPED: Final = "skipped"


@dataclass(slots=True)
class ImportedGraph:
    """What became of the graph's items: counts by part, and the refused ones by part and place."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Import:
    """One import under way: what the ids of the document stand for here."""

    actor: Actor
    scope: Any
    target: Target
    memories: Mapping[str, UUID]
    moment: datetime
    entities: dict[str, UUID] = field(default_factory=dict)
    relations: set[UUID] = field(default_factory=set)

    def memory(self, value: Any) -> UUID | None:
        """Give the memory that an id of the document stands for, None where it was not taken over."""
        return self.memories.get(value) if isinstance(value, str) else None

    def entity(self, value: Any) -> UUID | None:
        """Give the entity that an id of the document stands for."""
        return self.entities.get(value) if isinstance(value, str) else None

    def elsewhere(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow rows to those of other scopes that the importer may read: of an export of the same owner, all stand in
        the scopes that they had.
        """
        found = rows.exclude(scope=self.target.scope)
        return found if self.actor.readable is None else found.filter(scope__in=self.actor.readable)

    def known_since(self, value: Any, name: str) -> datetime:
        """Read a moment of belief, which cannot lie ahead."""
        return self.moment if value is None else min(limits.checked_moment(value, field=name), self.moment)

    def evidence(self, item: Mapping[str, Any]) -> list[tuple[UUID | None, str | None]]:
        """Give the reasons of an item that can be given here: memories that were taken over, None for a statement."""
        found: list[tuple[UUID | None, str | None]] = []
        evidence = item.get("evidence")
        for one in evidence if isinstance(evidence, list) else ():
            if not isinstance(one, Mapping):
                raise InvalidInput("A reason is not an object.", code="import.item")
            memory_id, text = self.memory(one.get("memory")), one.get("text")
            if memory_id is not None or one.get("memory") is None:
                found.append((memory_id, text if isinstance(text, str) else None))
        return found
