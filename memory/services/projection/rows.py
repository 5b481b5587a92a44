"""Rows of the graph as they stand in Neo4j, with as much text as the operator lets leave."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import KeysUnavailable
from memory.graph.names import canonical
from memory.graph.projection.shape import NEUTRAL_IMPORTANCE
from memory.models import (
    CausalLink,
    Entity,
    EntityName,
    EventParticipant,
    GraphEvidence,
    GraphPart,
    NameKind,
    Relation,
    TemporalEvent,
    current_owner,
)
from memory.models.graph import GraphRow

logger = logging.getLogger(__name__)

PURPOSE: Final = "projection"
HASH_BYTES: Final = 16
WHOLE_NAMES: Final = (NameKind.CANONICAL, NameKind.ALIAS)
EVIDENCE_SEPARATOR: Final = "; "

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wording:
    """What texts become on their way to Neo4j.

    Attributes:
        text: `names`, `all` or `hashed`, see NEO4J_TEXT.
        ring: the owner's keys.
    """

    text: str
    ring: OwnerRing = field(repr=False)

    @property
    def whole(self) -> bool:
        """Tell whether every text leaves in clear."""
        return self.text == "all"

    def name(self, name: str) -> str:
        """Give the name of an entity or the label of a relation, or what stands for it."""
        return self._hashed(name) if self.text == "hashed" else name

    def told(self, text: str) -> str:
        """Give what a text tells, or what stands for it."""
        return text if self.whole else self._hashed(text)

    def _hashed(self, text: str) -> str:
        return self.ring.mac(text.encode(), purpose=PURPOSE)[:HASH_BYTES].hex()


@dataclass(slots=True)
class Loaded:
    """Rows of one part of the graph that stand now, and ids of those that do not."""

    rows: list[Row]
    gone: list[str]


def wording(text: str) -> Wording:
    """Give the wording for the present owner; raises KeysUnavailable where its keys cannot be used."""
    return Wording(text, keyring().of(current_owner()))


def load_rows(part: GraphPart, ids: Sequence[UUID], words: Wording) -> Loaded:
    """Load rows of the present owner as they are to stand in Neo4j; two statements at most.

    Args:
        part: of which sort.
        ids: which.
        words: what their texts become. Texts that do not open are left out, and logged by their number.
    """
    found, damaged = LOADERS[part](ids, words)
    if damaged:
        logger.error("%s texts of the graph do not open and are projected without", damaged)
    present = {row["id"] for row in found}
    return Loaded(found, [str(one) for one in ids if str(one) not in present])


def _rows(rows: Iterable[Any], make: Callable[[Any, bool], Row]) -> tuple[list[Row], int]:
    """Make the rows; one whose text does not open is made without texts, so that it keeps nobody waiting."""
    made, damaged = [], 0
    for row in rows:
        try:
            made.append(make(row, True))
        except KeysUnavailable:
            damaged += 1
            made.append(make(row, False))
    return made, damaged


def _common(row: GraphRow, properties: Mapping[str, Any]) -> Row:
    """Add what every node and relationship has, and leave out what is not known."""
    known = {name: value for name, value in properties.items() if value is not None}
    whose = {"user_id": str(row.owner_id), "id": str(row.pk), "scope": str(row.scope), "visibility": row.visibility}
    return {"id": str(row.pk), "properties": {**known, **whose}}


def _entities(ids: Sequence[UUID], words: Wording) -> tuple[list[Row], int]:
    names: dict[UUID, list[int]] = defaultdict(list)
    own: dict[UUID, int] = {}
    hashes = EntityName.objects.filter(entity_id__in=ids, kind__in=WHOLE_NAMES).order_by("name")
    for entity_id, name, kind in hashes.values_list("entity_id", "name", "kind"):
        names[entity_id].append(name)
        if kind == NameKind.CANONICAL:
            own[entity_id] = name

    def made(row: Entity, opens: bool) -> Row:
        texts: Row = {}
        if opens:
            texts = {"name": words.name(canonical(row.name)), "display_name": words.name(row.name)}
            if words.whole and row.properties:
                texts["properties"] = json.dumps(row.properties, ensure_ascii=False, sort_keys=True)
        numbers = {
            "type": row.type,
            "name_hash": own.get(row.pk),
            "importance": row.importance,
            "mention_count": row.mention_count,
            "stated": row.stated,
            "first_seen": row.first_seen,
            "last_seen": row.last_seen,
        }
        return {**_common(row, {**texts, **numbers}), "names": names[row.pk]}

    return _rows(Entity.objects.filter(pk__in=ids), made)


def _relations(ids: Sequence[UUID], words: Wording) -> tuple[list[Row], int]:
    reasons: dict[UUID, list[GraphEvidence]] = defaultdict(list)
    if words.whole:
        for one in GraphEvidence.objects.filter(relation_id__in=ids, text__isnull=False).order_by("created_at", "id"):
            reasons[one.relation_id].append(one)

    def made(row: Relation, opens: bool) -> Row:
        texts: Row = {}
        if opens:
            told = [one.text for one in reasons[row.pk]]
            texts = {"type": words.name(row.label), "evidence": EVIDENCE_SEPARATOR.join(told) or None}
        numbers = {
            "label_hash": row.label_hash,
            "weight": row.weight,
            "confidence": row.confidence,
            "first_seen": row.recorded_at,
            "last_seen": row.last_seen,
            "valid_from": row.valid_from,
            "valid_until": row.valid_until,
        }
        ends = {"source": str(row.source_id), "target": str(row.target_id)}
        return {**_common(row, {**texts, **numbers}), **ends}

    return _rows(Relation.objects.filter(pk__in=ids, retracted_at=None), made)


def _events(ids: Sequence[UUID], words: Wording) -> tuple[list[Row], int]:
    participants: dict[UUID, list[str]] = defaultdict(list)
    pairs = EventParticipant.objects.filter(event_id__in=ids).order_by("entity_id")
    for event_id, entity_id in pairs.values_list("event_id", "entity_id"):
        participants[event_id].append(str(entity_id))

    def made(row: TemporalEvent, opens: bool) -> Row:
        numbers = {
            "occurred_at": row.occurred_at,
            "importance": NEUTRAL_IMPORTANCE,
            "created_at": row.recorded_at,
        }
        texts = {"description": words.told(row.text)} if opens else {}
        return {**_common(row, {**texts, **numbers}), "participants": participants[row.pk]}

    return _rows(TemporalEvent.objects.filter(pk__in=ids), made)


def _causes(ids: Sequence[UUID], words: Wording) -> tuple[list[Row], int]:
    def made(row: CausalLink, opens: bool) -> Row:
        numbers = {"importance": row.confidence, "created_at": row.recorded_at}
        texts = {"cause": words.told(row.cause), "effect": words.told(row.effect)} if opens else {}
        ends = {"cause": _text_or_none(row.cause_entity_id), "effect": _text_or_none(row.effect_entity_id)}
        return {**_common(row, {**texts, **numbers}), **ends}

    return _rows(CausalLink.objects.filter(pk__in=ids), made)


def _text_or_none(one: UUID | None) -> str | None:
    return None if one is None else str(one)


LOADERS: Final[Mapping[GraphPart, Callable[[Sequence[UUID], Wording], tuple[list[Row], int]]]] = {
    GraphPart.ENTITY: _entities,
    GraphPart.RELATION: _relations,
    GraphPart.EVENT: _events,
    GraphPart.CAUSE: _causes,
}
