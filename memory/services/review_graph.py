"""What a person's approval writes to the graph, with all that it changes there, so that it can be taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import InvalidInput, LociError
from memory.graph.labels import SINGLE_VALUED, checked_label, label_hash
from memory.graph.names import name_hash
from memory.graph.traversal import by_whole_name
from memory.models import (
    CausalLink,
    EntityType,
    Memory,
    Relation,
    ReviewEvidence,
    ReviewItem,
    ReviewKind,
    Status,
    TemporalEvent,
    Visibility,
)
from memory.services.actors import Actor, written_scope
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from memory.services.graph.relations import RelationDraft, add_relation
from memory.services.graph.writing import Reference, checked_name, cut_text
from memory.services.review_changes import Changes, Watched
from memory.text import limits

Payload = Mapping[str, Any]

KINDS: Final = frozenset({ReviewKind.ENTITY, ReviewKind.RELATION, ReviewKind.EVENT, ReviewKind.CAUSE})


@dataclass(slots=True)
class _Writing:
    """One approval: for whom, in which scope, from which memories, and what it touches."""

    actor: Actor
    item: ReviewItem
    payload: Payload
    moment: datetime
    memories: list[UUID]
    ring: OwnerRing
    watched: Watched = field(default_factory=Watched)

    @property
    def scope(self) -> str:
        """Give the scope as it is written."""
        return written_scope(self.item.visibility, self.item.group_id)

    @property
    def memory_id(self) -> UUID | None:
        """Give the memory that says so; None where it is stated."""
        return self.memories[0] if self.memories else None


def write_to_graph(*, actor: Actor, item: ReviewItem, payload: Payload, moment: datetime) -> dict[str, Any]:
    """Write what an item proposes to the graph and give every row that changed.

    Call it while the graph is the caller's.

    Raises:
        InvalidInput, TooLarge: the payload cannot be used; nothing was stored.
    """
    work = _Writing(
        actor=acting(actor, item),
        item=item,
        payload=payload,
        moment=moment,
        memories=evidence_in_scope(item),
        ring=keyring().of(actor.owner_id),
    )
    writers = {
        ReviewKind.ENTITY: (_watch_entity, _entity),
        ReviewKind.RELATION: (_watch_relation, _relation),
        ReviewKind.EVENT: (_watch_event, _event),
        ReviewKind.CAUSE: (_watch_cause, _cause),
    }
    watch, write = writers[ReviewKind(item.kind)]
    work.watched.memories = set(work.memories)
    watch(work)
    before = work.watched.rows()
    made = write(work)
    watch(work)
    return {**made, "rows": Changes.between(before, work.watched.rows()).written()}


def acting(actor: Actor, item: ReviewItem) -> Actor:
    """Give the actor who writes for an item: for one of an agent's own the agent itself, whose key seals it."""
    return replace(actor, agent_id=item.scope) if item.visibility == Visibility.AGENT else actor


def evidence_in_scope(item: ReviewItem) -> list[UUID]:
    """List the memories behind an item that stand for its scope still, in order."""
    ids = ReviewEvidence.objects.filter(item_id=item.pk).values("memory_id")
    rows = Memory.objects.filter(pk__in=ids, scope=item.scope).exclude(status=Status.ERASING)
    return sorted(rows.values_list("pk", flat=True))


def _find(work: _Writing, name: str, type_: str | None) -> UUID | None:
    """Give the entity of the item's scope that bears a name."""
    hashed = name_hash(work.ring, name)
    found = by_whole_name([hashed], scopes=[work.item.scope], type_=type_).get(hashed)
    return found[0].entity_id if found else None


def _watch_names(work: _Writing, named: Iterable[tuple[str, str | None]]) -> None:
    for name, type_ in named:
        # One that cannot be used is refused with its code by the write that follows.
        with suppress(LociError):
            found = _find(work, checked_name(name), type_ or EntityType.CONCEPT)
            if found is not None:
                work.watched.entities.add(found)


def _merge(work: _Writing, end: tuple[str, str | None], field: str) -> UUID:
    """Merge an entity that a payload names, once for each memory; give its id."""
    name, type_ = end
    checked = checked_name(name, field=field)
    draft = EntityDraft(name=checked, type=type_ or EntityType.CONCEPT)
    return _merge_draft(work, draft)


def _merge_draft(work: _Writing, draft: EntityDraft) -> UUID:
    said: list[UUID | None] = [*work.memories] or [None]
    merged = [merge_entity(actor=work.actor, draft=draft, scope=work.scope, memory_id=memory_id) for memory_id in said]
    work.watched.entities.add(merged[0].entity_id)
    return merged[0].entity_id


def _end(work: _Writing, field: str) -> tuple[str, str | None]:
    """Read an entity that a payload names, by a name or by a name and a type."""
    return _named(work.payload.get(field), field)


def _named(value: Any, field: str) -> tuple[str, str | None]:
    if isinstance(value, Mapping):
        type_ = value.get("type")
        if type_ is not None and type_ not in EntityType.values:
            raise InvalidInput(f"type is one of {', '.join(EntityType.values)}.", code="type.invalid", field=field)
        value = value.get("name")
        return checked_name(value, field=field), type_
    return checked_name(value, field=field), None


def _watch_entity(work: _Writing) -> None:
    _watch_names(work, [(str(work.payload.get("name")), str(work.payload.get("type", EntityType.CONCEPT)))])


def _entity(work: _Writing) -> dict[str, Any]:
    payload = work.payload
    draft = EntityDraft(
        name=payload.get("name"),
        type=payload.get("type", EntityType.CONCEPT),
        aliases=_list(payload, "aliases"),
        properties=payload.get("properties"),
        importance=payload.get("importance", 0.5),
    )
    return {"entity": str(_merge_draft(work, draft))}


def _watch_relation(work: _Writing) -> None:
    ends = [_end(work, "source"), _end(work, "target")]
    _watch_names(work, ends)
    source, target = (_find(work, name, type_ or EntityType.CONCEPT) for name, type_ in ends)
    if source is None:
        return
    label = checked_label(work.payload.get("label"))
    rows = Relation.objects.filter(
        scope=work.item.scope, source_id=source, label_hash=label_hash(work.ring, label), retracted_at=None
    )
    if target is not None:
        work.watched.relations |= set(rows.filter(target_id=target).values_list("pk", flat=True))
    if label in SINGLE_VALUED:
        work.watched.relations |= set(rows.filter(valid_until=None).values_list("pk", flat=True))


def _relation(work: _Writing) -> dict[str, Any]:
    payload = work.payload
    source, target = _merge(work, _end(work, "source"), "source"), _merge(work, _end(work, "target"), "target")
    until = payload.get("valid_until")
    if payload.get("ended") and until is None:
        until = _said_at(work)
    added = add_relation(
        actor=work.actor,
        draft=RelationDraft(
            source=Reference(entity_id=source),
            label=payload.get("label"),
            target=Reference(entity_id=target),
            weight=payload.get("weight", 0.5),
            valid_from=payload.get("valid_from"),
            valid_until=until,
            evidence=payload.get("evidence") or None,
        ),
        scope=work.scope,
        memory_id=work.memory_id,
    )
    work.watched.relations.add(added.relation.pk)
    return {"relation": str(added.relation.pk)}


def _said_at(work: _Writing) -> datetime:
    row = Memory.objects.filter(pk=work.memory_id).only("owner_id", "occurred_at").first() if work.memory_id else None
    return row.occurred_at if row is not None else work.moment


def _participants(work: _Writing) -> list[tuple[str, str | None]]:
    return [_named(one, "participants") for one in _list(work.payload, "participants")]


def _watch_event(work: _Writing) -> None:
    _watch_names(work, _participants(work))
    text = cut_text(work.payload.get("text"), field="text")
    at = limits.checked_moment(work.payload.get("occurred_at"), field="occurred_at")
    rows = TemporalEvent.objects.filter(
        scope=work.item.scope, text_hash=work.ring.digest(f"event {text}"), occurred_at=at
    )
    work.watched.events |= set(rows.values_list("pk", flat=True))


def _event(work: _Writing) -> dict[str, Any]:
    took_part = [_merge(work, one, "participants") for one in _participants(work)]
    (event, _), _ = merge_temporal_event(
        actor=work.actor,
        text=work.payload.get("text"),
        occurred_at=work.payload.get("occurred_at"),
        participants=[Reference(entity_id=entity_id) for entity_id in took_part],
        scope=work.scope,
        memory_id=work.memory_id,
    )
    return {"event": str(event.pk)}


def _watch_cause(work: _Writing) -> None:
    _watch_names(work, [_end(work, end) for end in ("cause_entity", "effect_entity") if work.payload.get(end)])
    cause, effect = (cut_text(work.payload.get(end), field=end) for end in ("cause", "effect"))
    rows = CausalLink.objects.filter(scope=work.item.scope, text_hash=work.ring.digest(f"cause {cause}\0{effect}"))
    work.watched.causes |= set(rows.values_list("pk", flat=True))


def _cause(work: _Writing) -> dict[str, Any]:
    about: dict[str, Reference] = {}
    for end in ("cause_entity", "effect_entity"):
        if not work.payload.get(end):
            continue
        name, type_ = _end(work, end)
        # Without a type it is the entity that bears the name already, whatever sort of thing it is.
        known = _find(work, name, type_) if type_ is None else None
        about[end] = Reference(entity_id=known or _merge(work, (name, type_), end))
    row, _ = add_causal_link(
        actor=work.actor,
        cause=work.payload.get("cause"),
        effect=work.payload.get("effect"),
        cause_entity=about.get("cause_entity"),
        effect_entity=about.get("effect_entity"),
        scope=work.scope,
        memory_id=work.memory_id,
    )
    return {"cause": str(row.pk)}


def _list(payload: Payload, field: str) -> list[Any]:
    value = payload.get(field) or []
    if not isinstance(value, list):
        raise InvalidInput(f"{field} is a list.", code="field.type", field=field)
    return value
