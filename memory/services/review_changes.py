"""Rows of the graph before and after an approval, and putting back what was before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db.models import Q

from memory.errors import Conflict
from memory.models import (
    CausalLink,
    Entity,
    EntityMention,
    EntityMerge,
    EntityName,
    EventParticipant,
    GraphEvidence,
    Relation,
    TemporalEvent,
)
from memory.services.graph.row_records import Record, rebuilt, recorded

# In an order in which rows can be put in: what others refer to comes first.
TABLES: Final[Mapping[str, Any]] = {
    model.__name__: model
    for model in (
        Entity, EntityName, EntityMention, Relation, TemporalEvent, EventParticipant, CausalLink, GraphEvidence,
    )
}  # fmt: skip
BY_ID: Final = frozenset({"Entity", "Relation", "TemporalEvent", "CausalLink", "GraphEvidence"})
_DIVIDED: Final = "community"

Rows = dict[str, dict[str, Record]]


@dataclass(slots=True)
class Watched:
    """Which rows an approval may touch: by entity, by memory, and the statements about them."""

    entities: set[UUID] = field(default_factory=set)
    memories: set[UUID] = field(default_factory=set)
    relations: set[UUID] = field(default_factory=set)
    events: set[UUID] = field(default_factory=set)
    causes: set[UUID] = field(default_factory=set)

    def rows(self) -> Rows:
        """Give all watched rows as they are now, within the owner's scope."""
        found = {
            "Entity": Entity.objects.filter(pk__in=self.entities),
            "EntityName": EntityName.objects.filter(entity_id__in=self.entities),
            "EntityMention": EntityMention.objects.filter(entity_id__in=self.entities, memory_id__in=self.memories),
            "Relation": Relation.objects.filter(pk__in=self.relations),
            "TemporalEvent": TemporalEvent.objects.filter(pk__in=self.events),
            "EventParticipant": EventParticipant.objects.filter(event_id__in=self.events),
            "CausalLink": CausalLink.objects.filter(pk__in=self.causes),
            "GraphEvidence": GraphEvidence.objects.filter(
                Q(relation_id__in=self.relations) | Q(event_id__in=self.events) | Q(cause_id__in=self.causes)
            ),
        }
        return {table: {_key(table, record): record for record in map(_seen, rows)} for table, rows in found.items()}


@dataclass(frozen=True, slots=True)
class Changes:
    """Rows that were put in, changed or taken out, by table: pairs of before and after."""

    pairs: tuple[tuple[str, Record | None, Record | None], ...]

    @classmethod
    def between(cls, before: Rows, after: Rows) -> Changes:
        """Compare two states of watched rows; those watched only later were not there before."""
        pairs = []
        for table in TABLES:
            for key in sorted({*before[table], *after[table]}):
                former, present = before[table].get(key), after[table].get(key)
                if former != present:
                    pairs.append((table, former, present))
        return cls(tuple(pairs))

    def written(self) -> list[list[Any]]:
        """Give them as plain JSON."""
        return [list(pair) for pair in self.pairs]

    @classmethod
    def read(cls, written: list[list[Any]]) -> Changes:
        """Read what `written` gave."""
        return cls(tuple((table, before, after) for table, before, after in written))

    def undo(self) -> None:
        """Put everything back as it was; call it while the graph is the caller's.

        Raises:
            Conflict: `review.changed`, something was changed since, or something else hangs on what was made.
        """
        for table, _, after in self.pairs:
            if after is not None and _present(table, after) != after:
                raise _changed()
        self._refuse_leaning()
        for table, before, after in reversed(self.pairs):
            if before is None and after is not None:
                _rows(table, after).delete()
        for table, before, after in self.pairs:
            if before is not None:
                row = rebuilt(TABLES[table], {_DIVIDED: None, **before})
                if after is not None and table == "Entity":
                    row.community = Entity.objects.values_list("community", flat=True).get(pk=row.pk)
                row.save(**{"force_insert" if after is None else "force_update": True})

    def _refuse_leaning(self) -> None:
        """Refuse to take out what other rows lean on by now."""
        made: dict[str, set[UUID]] = {table: set() for table in TABLES}
        for table, before, after in self.pairs:
            if before is None and after is not None and table in BY_ID:
                made[table].add(UUID(after["id"]))
        own = {table: {_key(table, one) for name, _, one in self.pairs if one and name == table} for table in TABLES}
        entities = made["Entity"]
        leaning = {
            "Relation": Relation.objects.filter(Q(source_id__in=entities) | Q(target_id__in=entities)),
            "EventParticipant": EventParticipant.objects.filter(
                Q(entity_id__in=entities) | Q(event_id__in=made["TemporalEvent"])
            ),
            "CausalLink": CausalLink.objects.filter(Q(cause_entity_id__in=entities) | Q(effect_entity_id__in=entities)),
            "EntityMention": EntityMention.objects.filter(entity_id__in=entities),
            "GraphEvidence": GraphEvidence.objects.filter(
                Q(relation_id__in=made["Relation"])
                | Q(event_id__in=made["TemporalEvent"])
                | Q(cause_id__in=made["CausalLink"])
            ),
        }
        for table, rows in leaning.items():
            if {_key(table, record) for record in map(_seen, rows)} - own[table]:
                raise _changed()
        if EntityMerge.objects.filter(kept_id__in=entities, undone_at=None).exists():
            raise _changed()


def _seen(row: Any) -> Record:
    record = recorded(row)
    # The division into communities is made anew all the time and is no change of an entity.
    record.pop(_DIVIDED, None)
    return record


def _key(table: str, record: Record) -> str:
    return str(record["id"]) if table in BY_ID else str(sorted(record.items()))


def _rows(table: str, record: Record) -> Any:
    model = TABLES[table]
    if table in BY_ID:
        return model.objects.filter(pk=UUID(record["id"]))
    row = rebuilt(model, record)
    return model.objects.filter(**{name: getattr(row, name) for name in record if name != "owner_id"})


def _present(table: str, record: Record) -> Record | None:
    row = _rows(table, record).first()
    return None if row is None else _seen(row)


def _changed() -> Conflict:
    return Conflict(
        "What this decision made was changed since, so it cannot be taken back. Nothing was changed.",
        code="review.changed",
    )
