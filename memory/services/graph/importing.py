"""The graph of an import: entities merged in, and what is said of them with the times that the export had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, LociError, TooLarge
from memory.models import CausalLink, MemoryEdge, TemporalEvent
from memory.services.actors import Actor, write_target, written_scope
from memory.services.clock import now
from memory.services.graph.edges import link_memories
from memory.services.graph.happenings import add_causal_link, merge_temporal_event
from memory.services.graph.import_entities import take_entities, take_entity
from memory.services.graph.import_relations import take_relation, take_relations
from memory.services.graph.import_state import CREATED, EXISTING, SKIPPED, Import, ImportedGraph
from memory.services.graph.recording import cause_hash, event_hash
from memory.services.graph.writing import Reference, change_graph, cut_text
from memory.text import limits

PARTS: Final = ("entities", "relations", "events", "causes", "edges")
MOST_ITEMS: Final = 20_000
BATCH: Final = 500


def import_graph(
    *,
    actor: Actor,
    document: Mapping[str, Any],
    memories: Mapping[str, UUID],
    scope: Any,
    entities: dict[str, UUID] | None = None,
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
        entities: what ids of entities stand for here already; takes those of this document. For one graph that comes
            in several documents.

    Raises:
        InvalidInput: a part is no list; nothing of the graph was stored.
        TooLarge: a part has more than 20,000 items; nothing of the graph was stored.
    """
    refuse_unusable(document)
    known = {} if entities is None else entities
    under_way = Import(actor, scope, write_target(actor, scope), memories, now(), known)
    result = ImportedGraph()
    for part, take in _TAKERS.items():
        result.counts[part] = dict.fromkeys((CREATED, EXISTING, SKIPPED), 0)
        for batch in _batches(document.get(part, [])):
            _take_batch(under_way, part, batch, take, result)
    return result


def refuse_unusable(document: Mapping[str, Any]) -> None:
    """Raise InvalidInput or TooLarge unless every part of the graph in a document is a list of at most 20,000 items."""
    for part in PARTS:
        found = document.get(part, [])
        if not isinstance(found, list):
            raise InvalidInput(f"The document's member {part} is no list.", code="import.format")
        if len(found) > MOST_ITEMS:
            raise TooLarge(
                f"An import holds at most {MOST_ITEMS} {part}. Nothing was stored.",
                code="import.graph_size",
                field=part,
            )


def _batches(items: Sequence[Any]) -> Iterator[list[tuple[int, Any]]]:
    numbered = list(enumerate(items))
    for start in range(0, len(numbered), BATCH):
        yield numbered[start : start + BATCH]


def _take_batch(
    under_way: Import, part: str, batch: list[tuple[int, Any]], take: Callable[..., str], result: ImportedGraph
) -> None:
    together = _TOGETHER.get(part)
    with change_graph(under_way.actor, now=under_way.moment):
        usable = {index: item for index, item in batch if isinstance(item, Mapping)}
        taken = together(under_way, usable) if together is not None and usable else {}
        for outcome in taken.values():
            result.counts[part][outcome] += 1
        for index, item in batch:
            if index in taken:
                continue
            try:
                if index not in usable:
                    raise InvalidInput("An item is not an object.", code="import.item")
                with transaction.atomic():
                    result.counts[part][take(under_way, item)] += 1
            except LociError as error:
                result.errors.append(
                    {"part": part, "index": index, "code": error.machine_code, "message": error.message}
                )


def _speaking(under_way: Import, item: Mapping[str, Any]) -> list[UUID | None]:
    """Give the memories that speak for an event or a cause; None, a statement, where nothing else is left."""
    return list(dict.fromkeys(memory_id for memory_id, _ in under_way.evidence(item))) or [None]


def _stands_elsewhere(under_way: Import, item: Mapping[str, Any], rows: QuerySet[Any]) -> bool:
    """Tell whether one of some rows alike stands in another scope, recorded at the moment of an item."""
    if item.get("recorded_at") is None:
        return False
    recorded = under_way.known_since(item["recorded_at"], "recorded_at")
    return under_way.elsewhere(rows.filter(recorded_at=recorded)).exists()


def _event(under_way: Import, item: Mapping[str, Any]) -> str:
    text = cut_text(item.get("text"), field="text")
    happened = limits.checked_moment(item.get("occurred_at"), field="occurred_at")
    alike = TemporalEvent.objects.filter(
        text_hash=event_hash(keyring().of(under_way.actor.owner_id), text), occurred_at=happened
    )
    if _stands_elsewhere(under_way, item, alike):
        return EXISTING
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


def _cause(under_way: Import, item: Mapping[str, Any]) -> str:
    texts = [cut_text(item.get(name), field=name) for name in ("cause", "effect")]
    alike = CausalLink.objects.filter(text_hash=cause_hash(keyring().of(under_way.actor.owner_id), *texts))
    if _stands_elsewhere(under_way, item, alike):
        return EXISTING
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


def _edge(under_way: Import, item: Mapping[str, Any]) -> str:
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


_TAKERS: Final[Mapping[str, Callable[[Import, Mapping[str, Any]], str]]] = {
    "entities": take_entity,
    "relations": take_relation,
    "events": _event,
    "causes": _cause,
    "edges": _edge,
}
_TOGETHER: Final[Mapping[str, Callable[[Import, Mapping[int, Mapping[str, Any]]], dict[int, str]]]] = {
    "entities": take_entities,
    "relations": take_relations,
}
