"""An entity with everything that is known of it, as plain values for its page: masked, since names can be personal."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _

from memory.graph.labels import spoken
from memory.models import Entity, EntityMerge, Relation
from memory.palace.dates import Moment, moment, optional_moment
from memory.palace.graph_words import kind_word
from memory.palace.numbers import local
from memory.privacy.masking import masked_value


@dataclass(frozen=True, slots=True)
class EntityView:
    """The entity itself; `editable_name` is empty where the name is masked."""

    id: UUID
    name: str
    editable_name: str
    type: str
    type_word: str
    aliases: list[str]
    properties: list[tuple[str, str]]
    mentions: int
    importance: int
    first_seen: Moment
    last_seen: Moment
    graph: str


@dataclass(frozen=True, slots=True)
class RelationView:
    """One relation as read from the entity: words, the other end, and both times."""

    id: UUID
    before: str
    words: str
    other: str
    other_id: UUID
    other_first: bool
    held_from: Moment
    held_until: Moment | None
    known_from: Moment
    ended_known: Moment | None
    retracted: Moment | None
    sure: str
    is_open: bool


@dataclass(frozen=True, slots=True)
class MergeView:
    """One merge into the entity: the name that went, why, and whether it was taken back."""

    id: UUID
    name: str
    why: str
    when: Moment
    undone: Moment | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """Another entity that could be the same."""

    id: UUID
    name: str
    mentions: int
    is_likely: bool


def entity_view(row: Entity, *, now: datetime) -> EntityView:
    """Describe an entity."""
    name = str(masked_value(row.name))
    return EntityView(
        id=row.pk,
        name=name,
        editable_name=name if name == row.name else "",
        type=row.type,
        type_word=kind_word(row.type),
        aliases=[str(masked_value(alias)) for alias in row.aliases or ()],
        properties=[
            (str(masked_value(key)), _plain(masked_value(value))) for key, value in (row.properties or {}).items()
        ],
        mentions=row.mention_count,
        importance=min(10, max(1, round(row.importance * 10))),
        first_seen=moment(row.first_seen, now),
        last_seen=moment(row.last_seen, now),
        graph=f"{reverse('palace:graph')}?entity={row.pk}",
    )


def relation_views(rows: Sequence[Relation], entity_id: UUID, *, now: datetime) -> list[RelationView]:
    """Describe relations as read from one of their ends."""
    return [_relation(row, entity_id, now) for row in rows]


def merge_views(rows: Sequence[EntityMerge], *, now: datetime) -> list[MergeView]:
    """Describe merges by the name that went."""
    return [
        MergeView(
            id=row.pk,
            name=str(masked_value(_name_of(row.record))),
            why=_("by hand") if row.rule == "by_hand" else row.rule.replace("_", " ").replace(".", " "),
            when=moment(row.merged_at, now),
            undone=optional_moment(row.undone_at, now),
        )
        for row in rows
    ]


def candidates(rows: Sequence[Entity], likely: Container[UUID]) -> list[Candidate]:
    """Describe entities that could be the same, and say which of them probably are."""
    return [Candidate(row.pk, str(masked_value(row.name)), row.mention_count, row.pk in likely) for row in rows]


def _relation(row: Relation, entity_id: UUID, now: datetime) -> RelationView:
    is_source = row.source_id == entity_id
    other = row.target if is_source else row.source
    return RelationView(
        id=row.pk,
        before=str(masked_value(row.source.name)),
        words=str(masked_value(spoken(row.label))),
        other=str(masked_value(other.name)),
        other_id=other.pk,
        other_first=not is_source,
        held_from=moment(row.valid_from, now),
        held_until=optional_moment(row.valid_until, now),
        known_from=moment(row.recorded_at, now),
        ended_known=optional_moment(row.closed_at, now),
        retracted=optional_moment(row.retracted_at, now),
        sure=local(f"{row.confidence:.0%}"),
        is_open=row.valid_until is None and row.retracted_at is None,
    )


def _name_of(record: Any) -> str:
    return str(record.get("merged", {}).get("name", ""))


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_plain(one) for one in value)
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_plain(inner)}" for key, inner in value.items())
    return str(value)
