"""What a person needs beside a review item: the memories behind it, and what stands already that it would touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from memory.crypto.keyring import keyring
from memory.errors import LociError
from memory.graph.labels import SINGLE_VALUED, checked_label, label_hash
from memory.graph.names import name_hash
from memory.graph.traversal import by_whole_name
from memory.models import Entity, Memory, Relation, ReviewItem, ReviewKind, Status, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.reading import line_of
from memory.services.graph.writing import checked_name
from memory.services.opening import opened
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.revealing import ASKED, require_revealer, reveal
from memory.services.reviews import Reviewed, get_review

MOST_NAMES: Final = 20
MOST_RELATIONS: Final = 5
MOST_SIMILAR: Final = 3
ASKED_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Standing:
    """An entity that stands in the graph, and what it stands in."""

    entity: Entity
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Touched:
    """What an item would touch.

    Attributes:
        entities: those that stand already, by the field of the payload that names them; for a merge `first` and
            `second`.
        new: names that the payload gives and nobody bears yet.
        similar: live memories that say something like a fact.
        relations: lines of relations between the same two, or of those that the new one would end.
        ends: whether the relations are ended by the new one.
    """

    entities: Mapping[str, tuple[Standing, ...]] = field(default_factory=dict)
    new: tuple[str, ...] = ()
    similar: tuple[Memory, ...] = ()
    relations: tuple[str, ...] = ()
    ends: bool = False


def memories_behind(*, actor: Actor, items: Sequence[Reviewed]) -> dict[UUID, Memory]:
    """Give the memories behind some items, and the two statements of a contradiction, that the actor may read now."""
    require_memory()
    actor.require(Permission.READ)
    ids = {one.memory_id for reviewed in items for one in reviewed.evidence}
    for reviewed in items:
        if reviewed.item.kind == ReviewKind.CONTRADICTION:
            ids |= set(_ids(reviewed.item.payload, ("older", "newer")))
    with owner_scope(actor.owner_id):
        rows: QuerySet[Memory] = Memory.objects.filter(pk__in=ids)
        if actor.readable is not None:
            rows = rows.filter(scope__in=actor.readable).exclude(status=Status.ERASING)
        return {row.pk: row for row in opened(list(rows))}


def reveal_review(*, actor: Actor, item_id: UUID, reason: str = ASKED) -> tuple[Reviewed, dict[UUID, Memory]]:
    """Give an item and the memories behind it to be shown unmasked; the audit says that they were.

    Args:
        actor: a person, or staff.
        item_id: which.
        reason: as `reveal` takes it.

    Raises:
        NotFound: not there or hidden; nothing is recorded.
        PermissionRefused: `auth.person_only`, not a person; nothing is recorded.
        InvalidInput: `reveal.reason`, staff gives none of the reasons; nothing is recorded.
    """
    require_revealer(actor, reason)
    reviewed = get_review(actor=actor, item_id=item_id)
    with owner_scope(actor.owner_id):
        record(actor=actor.label, verb="reveal", object_kind="review", object_id=item_id, reason=reason, at=now())
    behind = memories_behind(actor=actor, items=[reviewed])
    for memory_id in sorted(behind):
        reveal(actor=actor, memory_id=memory_id, reason=reason)
    return reviewed, behind


def touched_by(*, actor: Actor, reviewed: Reviewed) -> Touched:
    """Find what stands already that an item would touch; raises NotFound and PermissionRefused as reading it does.

    For a fact it recalls what is like it, without counting that as a use.
    """
    require_memory()
    actor.require(Permission.READ)
    item = reviewed.item
    payload: Mapping[str, Any] = item.payload
    if item.kind == ReviewKind.FACT:
        named = {"entities": _texts(payload.get("entities"))}
        return _with_entities(actor, item, named, similar=_similar(actor, reviewed))
    if item.kind == ReviewKind.ENTITY:
        names = [*_texts([payload.get("name")]), *_texts(payload.get("aliases"))]
        return _with_entities(actor, item, {"name": names}, telling=True)
    if item.kind == ReviewKind.RELATION:
        return _relation(actor, item, payload)
    if item.kind == ReviewKind.EVENT:
        return _with_entities(actor, item, {"participants": _names(payload.get("participants"))})
    if item.kind == ReviewKind.CAUSE:
        ends = ("cause_entity", "effect_entity")
        return _with_entities(actor, item, {end: _names([payload.get(end)]) for end in ends})
    if item.kind == ReviewKind.MERGE:
        return _pair(actor, payload)
    return Touched()


def _with_entities(
    actor: Actor,
    item: ReviewItem,
    named: Mapping[str, list[str]],
    *,
    telling: bool = False,
    similar: tuple[Memory, ...] = (),
) -> Touched:
    with owner_scope(actor.owner_id):
        found, new = _standing(actor, item.scope, named, telling=telling)
        return Touched(entities=found, new=new, similar=similar)


def _relation(actor: Actor, item: ReviewItem, payload: Mapping[str, Any]) -> Touched:
    named = {end: _names([payload.get(end)]) for end in ("source", "target")}
    with owner_scope(actor.owner_id):
        found, new = _standing(actor, item.scope, named, telling=False)
        sources, targets = ([one.entity.pk for one in found.get(end, ())] for end in ("source", "target"))
        rows: list[Relation] = []
        ends = False
        try:
            label = checked_label(payload.get("label"))
        except LociError:
            # A label that cannot be used is refused when the item is approved.
            return Touched(entities=found, new=new)
        if sources:
            ends = label in SINGLE_VALUED and not payload.get("ended")
            open_ones = _open_relations(item.scope).filter(
                source_id__in=sources, label_hash=label_hash(keyring().of(actor.owner_id), label)
            )
            if not ends:
                open_ones = open_ones.filter(target_id__in=targets)
            rows = list(open_ones.order_by("-valid_from", "-pk")[:MOST_RELATIONS])
            ends = ends and any(row.target_id not in targets for row in rows)
        return Touched(entities=found, new=new, relations=tuple(line_of(row) for row in rows), ends=ends)


def _pair(actor: Actor, payload: Mapping[str, Any]) -> Touched:
    ids = _ids(payload, ("first", "second"))
    with owner_scope(actor.owner_id):
        rows = {row.pk: row for row in Entity.objects.filter(pk__in=ids) if actor.may_read(row.scope)}
        relations = _relations_of(rows)
        found = {}
        for end, entity_id in zip(("first", "second"), ids, strict=False):
            if entity_id in rows:
                found[end] = (Standing(rows[entity_id], relations[entity_id]),)
        return Touched(entities=found)


def _standing(
    actor: Actor, scope: UUID, named: Mapping[str, list[str]], *, telling: bool
) -> tuple[dict[str, tuple[Standing, ...]], tuple[str, ...]]:
    ring = keyring().of(actor.owner_id)
    hashes: dict[str, int] = {}
    for name in [name for names in named.values() for name in names][:MOST_NAMES]:
        try:
            hashes[name] = name_hash(ring, checked_name(name))
        except LociError:
            # A name that cannot be used is refused when the item is approved.
            continue
    bearing = by_whole_name(list(hashes.values()), scopes=[scope]) if hashes else {}
    ids = {one.entity_id for found in bearing.values() for one in found}
    rows = {row.pk: row for row in Entity.objects.filter(pk__in=ids)}
    relations = _relations_of(rows) if telling else dict.fromkeys(rows, ())
    found: dict[str, tuple[Standing, ...]] = {}
    for end, names in named.items():
        bearers = dict.fromkeys(
            one.entity_id for name in names if name in hashes for one in bearing.get(hashes[name], ())
        )
        if bearers:
            found[end] = tuple(Standing(rows[pk], tuple(relations[pk])) for pk in bearers if pk in rows)
    new = tuple(dict.fromkeys(name for name, hashed in hashes.items() if not bearing.get(hashed)))
    return found, new


def _open_relations(scope: UUID) -> QuerySet[Relation]:
    rows: QuerySet[Relation] = Relation.objects.filter(scope=scope, valid_until=None, retracted_at=None)
    return rows.select_related("source", "target")


def _relations_of(rows: Mapping[UUID, Entity]) -> dict[UUID, tuple[str, ...]]:
    """Give the newest open relations of some entities as lines."""
    lines: dict[UUID, tuple[str, ...]] = {}
    for entity_id, row in rows.items():
        standing = _open_relations(row.scope).filter(Q(source_id=entity_id) | Q(target_id=entity_id))
        newest = standing.order_by("-last_seen", "-pk")[:MOST_RELATIONS]
        lines[entity_id] = tuple(line_of(one) for one in newest)
    return lines


def _similar(actor: Actor, reviewed: Reviewed) -> tuple[Memory, ...]:
    text = str(reviewed.item.payload.get("text") or "").strip()[:ASKED_CHARACTERS]
    if not text:
        return ()
    behind = {one.memory_id for one in reviewed.evidence}
    asked = RecallRequest(query=text, limit=MOST_SIMILAR + len(behind), reinforce=False, record=False)
    hits = [hit.memory for hit in recall(actor=actor, request=asked).hits if hit.memory.pk not in behind]
    return tuple(hits[:MOST_SIMILAR])


def _ids(payload: Mapping[str, Any], fields: Iterable[str]) -> list[UUID]:
    return [UUID(str(payload[name])) for name in fields if payload.get(name)]


def _texts(values: Any) -> list[str]:
    return [one for one in values or () if isinstance(one, str) and one.strip()]


def _names(values: Any) -> list[str]:
    """Give names of a payload, written alone or with a type."""
    return _texts([one.get("name") if isinstance(one, Mapping) else one for one in values or ()])
