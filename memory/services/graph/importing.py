"""The graph of an import: entities merged in, and what is said of them with the times that the export had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, LociError
from memory.graph.labels import SINGLE_VALUED, checked_label, label_hash
from memory.graph.names import name_hash
from memory.graph.traversal import by_whole_name
from memory.models import CausalLink, Entity, EntityType, Memory, MemoryEdge, Relation, TemporalEvent
from memory.services.actors import Actor, Target, write_target, written_scope
from memory.services.clock import now
from memory.services.graph.edges import link_memories
from memory.services.graph.entities import MOST_ALIASES, EntityDraft, add_alias, mention, merge_entity
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from memory.services.graph.merging import MOST_NAMES
from memory.services.graph.relations import RelationDraft, add_relation
from memory.services.graph.writing import (
    Reason,
    Reasons,
    Reference,
    change_graph,
    checked_name,
    checked_unit,
    scoped,
)
from memory.text import limits

PARTS: Final = ("entities", "relations", "events", "causes", "edges")
MOST_ITEMS: Final = 100_000
BATCH: Final = 100
MOST_COUNT: Final = 2_000_000_000

CREATED: Final = "created"
EXISTING: Final = "existing"
SKIPPED: Final = "skipped"


@dataclass(slots=True)
class ImportedGraph:
    """What became of the graph's items: counts by part, and the refused ones by part and place."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class _Import:
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

    def known_since(self, value: Any, name: str) -> datetime:
        """Read a moment of belief, which cannot lie ahead."""
        return self.moment if value is None else min(limits.checked_moment(value, field=name), self.moment)


def import_graph(
    *, actor: Actor, document: Mapping[str, Any], memories: Mapping[str, UUID], scope: Any
) -> ImportedGraph:
    """Take the graph of an export over, in the scope that the import goes to.

    Entities that are here already by type and name are taken as the same, and relations, events, causes and links that
    are here already are left as they are, so that importing twice adds nothing. What refers to a memory or an entity
    that was not taken over is skipped. A bad item is reported and the others are stored.

    Args:
        actor: who imports.
        document: the export.
        memories: what the ids of the document's memories stand for here.
        scope: as in `import_document`.

    Raises:
        InvalidInput: a part is no list or has more than 100,000 items; nothing of the graph was stored.
    """
    refuse_unusable(document)
    under_way = _Import(actor, scope, write_target(actor, scope), memories, now())
    result = ImportedGraph()
    for part, take in _TAKERS.items():
        result.counts[part] = dict.fromkeys((CREATED, EXISTING, SKIPPED), 0)
        for batch in _batches(document.get(part, [])):
            _take_batch(under_way, part, batch, take, result)
    return result


def refuse_unusable(document: Mapping[str, Any]) -> None:
    """Raise InvalidInput unless every part of the graph that a document has is a list of at most 100,000 items."""
    for part in PARTS:
        found = document.get(part, [])
        if not isinstance(found, list):
            raise InvalidInput(f"The document's member {part} is no list.", code="import.format")
        if len(found) > MOST_ITEMS:
            raise InvalidInput(f"An import holds at most {MOST_ITEMS} items of a part.", code="import.size")


def _batches(items: Sequence[Any]) -> Iterator[list[tuple[int, Any]]]:
    numbered = list(enumerate(items))
    for start in range(0, len(numbered), BATCH):
        yield numbered[start : start + BATCH]


def _take_batch(
    under_way: _Import, part: str, batch: list[tuple[int, Any]], take: Callable[..., str], result: ImportedGraph
) -> None:
    with change_graph(under_way.actor, now=under_way.moment):
        for index, item in batch:
            try:
                if not isinstance(item, Mapping):
                    raise InvalidInput("An item is not an object.", code="import.item")
                with transaction.atomic():
                    result.counts[part][take(under_way, item)] += 1
            except LociError as error:
                result.errors.append(
                    {"part": part, "index": index, "code": error.machine_code, "message": error.message}
                )


def _entity(under_way: _Import, item: Mapping[str, Any]) -> str:
    name = checked_name(item.get("name"))
    hashed = name_hash(keyring().of(under_way.actor.owner_id), name)
    type_ = item.get("type")
    found = []
    if isinstance(type_, str) and type_ in EntityType.values:
        found = by_whole_name([hashed], scopes=[under_way.target.scope], type_=type_).get(hashed, [])
    aliases = item.get("aliases") or []
    if not isinstance(aliases, list):
        raise InvalidInput("aliases is a list.", code="field.type", field="aliases")
    if found:
        entity_id, outcome, further = found[0].entity_id, EXISTING, aliases
    else:
        entity_id, outcome = _new_entity(under_way, item, name, aliases[:MOST_ALIASES]), CREATED
        further = aliases[MOST_ALIASES:]
    for alias in further:
        # An alias that another entity bears here stays with that one.
        with suppress(Conflict):
            add_alias(actor=under_way.actor, entity_id=entity_id, alias=alias, most=MOST_NAMES)
    if isinstance(item.get("id"), str):
        under_way.entities[item["id"]] = entity_id
    spoken = item.get("mentions")
    ids = {one for one in map(under_way.memory, spoken if isinstance(spoken, list) else ()) if one is not None}
    if ids:
        mention([(entity_id, memory_id) for memory_id in sorted(ids)])
    if outcome == CREATED:
        _keep_counts(under_way, entity_id, item)
    return outcome


def _new_entity(under_way: _Import, item: Mapping[str, Any], name: str, aliases: list[Any]) -> UUID:
    draft = EntityDraft(
        name=name,
        type=item.get("type"),
        aliases=aliases,
        properties=item.get("properties"),
        importance=item.get("importance", 0.5),
        seen_at=under_way.known_since(item.get("first_seen"), "first_seen"),
    )
    return merge_entity(actor=under_way.actor, draft=draft, scope=under_way.scope).entity_id


def _keep_counts(under_way: _Import, entity_id: UUID, item: Mapping[str, Any]) -> None:
    """Give a new entity the counts and times that it had."""
    count = item.get("mention_count")
    usable = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_COUNT
    first = under_way.known_since(item.get("first_seen"), "first_seen")
    last = under_way.known_since(item.get("last_seen") or item.get("first_seen"), "last_seen")
    Entity.objects.filter(pk=entity_id).update(
        **({"mention_count": count} if usable else {}),
        stated=item.get("stated") is not False,
        first_seen=first,
        last_seen=max(first, last),
    )


def _relation(under_way: _Import, item: Mapping[str, Any]) -> str:
    source, target = under_way.entity(item.get("source")), under_way.entity(item.get("target"))
    if source is None or target is None:
        return SKIPPED
    if source == target:
        raise InvalidInput("A relation joins two entities, and these are one and the same.", code="relation.self")
    label = checked_label(item.get("label"))
    begins = limits.checked_moment(item.get("valid_from"), field="valid_from")
    until, retracted = item.get("valid_until"), item.get("retracted_at")
    ends = None if until is None else limits.checked_moment(until, field="valid_until")
    if ends is not None and ends < begins:
        raise InvalidInput("The relation would end before it began.", code="date.order", field="valid_until")
    row = Relation(
        source_id=source,
        target_id=target,
        label=label,
        label_hash=label_hash(keyring().of(under_way.actor.owner_id), label),
        weight=checked_unit(item.get("weight", 0.5), field="weight"),
        confidence=checked_unit(item.get("confidence", 1.0), field="confidence"),
        valid_from=begins,
        valid_until=ends,
        closed_at=None if ends is None else under_way.known_since(item.get("closed_at"), "closed_at"),
        recorded_at=under_way.known_since(item.get("recorded_at"), "recorded_at"),
        retracted_at=None if retracted is None else under_way.known_since(retracted, "retracted_at"),
        last_seen=under_way.known_since(item.get("last_seen"), "last_seen"),
        **scoped(under_way.target),
    )
    return _store_relation(under_way, row, item)


def _store_relation(under_way: _Import, row: Relation, item: Mapping[str, Any]) -> str:
    same = Relation.objects.filter(
        scope=row.scope, source_id=row.source_id, label_hash=row.label_hash, valid_until=row.valid_until,
        retracted_at__isnull=row.retracted_at is None,
    )  # fmt: skip
    is_open = row.valid_until is None and row.retracted_at is None
    alike = same.filter(target_id=row.target_id)
    standing = (alike if is_open else alike.filter(valid_from=row.valid_from)).first()
    outcome = EXISTING
    if (
        standing is None
        and is_open
        and row.label in SINGLE_VALUED
        and same.exclude(pk__in=under_way.relations).exists()
    ):
        # Something else was believed here before, so it has to be settled which of the two is the newer one.
        draft = RelationDraft(
            source=Reference(entity_id=row.source_id),
            label=row.label,
            target=Reference(entity_id=row.target_id),
            weight=row.weight,
            confidence=row.confidence,
            valid_from=row.valid_from,
        )
        standing, outcome = add_relation(actor=under_way.actor, draft=draft, scope=under_way.scope).relation, CREATED
    elif standing is None:
        row.save(force_insert=True)
        standing, outcome = row, CREATED
    if outcome == CREATED:
        under_way.relations.add(standing.pk)
    _give_reasons(under_way, standing, item)
    return outcome


def _give_reasons(under_way: _Import, row: Relation, item: Mapping[str, Any]) -> None:
    reasons = []
    for memory_id, text in _evidence(under_way, item):
        memory = None if memory_id is None else Memory.objects.filter(pk=memory_id).first()
        reasons.append(Reason(row.pk, memory, text))
    Reasons(reasons, part="relation", now=under_way.moment).write({row.pk: row})


def _evidence(under_way: _Import, item: Mapping[str, Any]) -> list[tuple[UUID | None, str | None]]:
    """Give the reasons of an item that can be given here: memories that were taken over, and None for a statement."""
    found: list[tuple[UUID | None, str | None]] = []
    evidence = item.get("evidence")
    for one in evidence if isinstance(evidence, list) else ():
        if not isinstance(one, Mapping):
            raise InvalidInput("A reason is not an object.", code="import.item")
        memory_id, text = under_way.memory(one.get("memory")), one.get("text")
        if memory_id is not None or one.get("memory") is None:
            found.append((memory_id, text if isinstance(text, str) else None))
    return found


def _speaking(under_way: _Import, item: Mapping[str, Any]) -> list[UUID | None]:
    """Give the memories that speak for an event or a cause; None, a statement, where nothing else is left."""
    return list(dict.fromkeys(memory_id for memory_id, _ in _evidence(under_way, item))) or [None]


def _event(under_way: _Import, item: Mapping[str, Any]) -> str:
    listed = item.get("participants")
    took_part = [one for one in map(under_way.entity, listed if isinstance(listed, list) else ()) if one is not None]
    outcome = EXISTING
    for memory_id in _speaking(under_way, item):
        (event, _), created = merge_temporal_event(
            actor=under_way.actor,
            text=item.get("text"),
            occurred_at=item.get("occurred_at"),
            participants=[Reference(entity_id=one) for one in took_part],
            scope=written_scope(under_way.target.visibility, under_way.target.group_id),
            memory_id=memory_id,
        )
        if created:
            outcome = CREATED
            recorded = under_way.known_since(item.get("recorded_at"), "recorded_at")
            TemporalEvent.objects.filter(pk=event.pk).update(recorded_at=recorded)
    return outcome


def _cause(under_way: _Import, item: Mapping[str, Any]) -> str:
    about = {
        name: Reference(entity_id=entity_id)
        for name in ("cause_entity", "effect_entity")
        if (entity_id := under_way.entity(item.get(name))) is not None
    }
    outcome = EXISTING
    for memory_id in _speaking(under_way, item):
        row, created = add_causal_link(
            actor=under_way.actor,
            cause=item.get("cause"),
            effect=item.get("effect"),
            confidence=item.get("confidence", 1.0),
            scope=written_scope(under_way.target.visibility, under_way.target.group_id),
            memory_id=memory_id,
            cause_entity=about.get("cause_entity"),
            effect_entity=about.get("effect_entity"),
        )
        if created:
            outcome = CREATED
            recorded = under_way.known_since(item.get("recorded_at"), "recorded_at")
            CausalLink.objects.filter(pk=row.pk).update(recorded_at=recorded)
    return outcome


def _edge(under_way: _Import, item: Mapping[str, Any]) -> str:
    source, target = under_way.memory(item.get("source")), under_way.memory(item.get("target"))
    if source is None or target is None:
        return SKIPPED
    linked, created = link_memories(
        actor=under_way.actor,
        source_id=source,
        target_id=target,
        kind=item.get("kind"),
        weight=item.get("weight", 0.7),
        relationship=item.get("relationship"),
        insight_id=under_way.memory(item.get("insight")),
    )
    if created:
        known = under_way.known_since(item.get("created_at"), "created_at")
        MemoryEdge.objects.filter(pk=linked.edge.pk).update(created_at=known)
    return CREATED if created else EXISTING


_TAKERS: Final[Mapping[str, Callable[[_Import, Mapping[str, Any]], str]]] = {
    "entities": _entity,
    "relations": _relation,
    "events": _event,
    "causes": _cause,
    "edges": _edge,
}
