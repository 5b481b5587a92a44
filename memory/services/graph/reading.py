"""Reading the graph at large: neighbours over several steps, answers to questions, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Count, Q, QuerySet

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput
from memory.graph.key_terms import key_terms, possible_names
from memory.graph.labels import checked_label, label_hash, spoken
from memory.graph.names import name_hash, word_hash, words
from memory.graph.traversal import MOST_HOPS, View, by_whole_name, named, neighbours, one_hop
from memory.models import (
    CausalLink,
    Entity,
    EntityMention,
    GraphState,
    Memory,
    MemoryEdge,
    NameKind,
    Relation,
    TemporalEvent,
    owner_scope,
)
from memory.privacy import injection
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import visible_entity
from memory.services.graph.relations import relations_by_id
from memory.services.graph.writing import entities_by_id
from memory.text import limits

MOST_NEIGHBOURS: Final = 200
EACH_TERM: Final = 3
"""Entities of one key term (Prax)."""

MOST_NAMED: Final = 15
MOST_LINES: Final = 50
DEFAULT_LINES: Final = 20


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Entities by distance from the one that was asked for, itself included, and the relations between them."""

    entities: list[tuple[Entity, int]]
    relations: list[Relation]


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """What the graph says to a question: its key terms, the entities that it names, and their relations as lines."""

    terms: list[str]
    entities: list[Entity]
    relations: list[Relation]
    lines: list[str]


@reads("neighbours", of="entity_id")
def get_neighbours(
    *,
    actor: Actor,
    entity_id: UUID,
    hops: int = 1,
    limit: int = 50,
    labels: Sequence[str] = (),
    valid_at: Any = None,
    known_at: Any = None,
) -> Neighbourhood:
    """Walk one to three steps from an entity over relations that hold, nearest and heaviest first.

    One statement for each step; hubs are bounded, see `memory.graph.traversal.neighbours`.

    Args:
        actor: who asks.
        entity_id: where to begin.
        hops: steps, 1 to 3.
        limit: most entities besides the first, 1 to 200.
        labels: follow these labels only.
        valid_at: relations that held at this moment; now, or `known_at`, when left out.
        known_at: what was believed at this moment.

    Raises:
        NotFound: no such entity here.
        InvalidInput: steps, limit, a label or a moment cannot be used.
    """
    require_memory()
    actor.require(Permission.READ)
    _refuse_outside(hops, MOST_HOPS, "hops")
    _refuse_outside(limit, MOST_NEIGHBOURS, "limit")
    view = _view(actor, labels, valid_at, known_at)
    with owner_scope(actor.owner_id):
        visible_entity(actor, entity_id)
        reached = neighbours([entity_id], hops=hops, view=view, limit=limit)
        entities = entities_by_id(reached.distances)
        relations = relations_by_id(reached.relations, known_at=view.known_at)
        return Neighbourhood(
            [(entities[one], distance) for one, distance in reached.distances.items()],
            [relations[one] for one in reached.relations],
        )


@reads("graph_query")
def graph_query(*, actor: Actor, question: str, limit: int = DEFAULT_LINES) -> GraphAnswer:
    """Answer a question from the graph: its key terms, the entities they name, and the relations of those as text.

    Whole names and aliases that stand in the question come first, then up to three entities for each of five key terms.
    Lines are cleaned of phrases that address a model, since names are data.

    Args:
        actor: who asks.
        question: at most 500 words.
        limit: most lines, 1 to 50.

    Raises:
        InvalidInput: the question or the limit cannot be used.
    """
    require_memory()
    actor.require(Permission.READ)
    asked = limits.checked_query(question, field="question")
    _refuse_outside(limit, MOST_LINES, "limit")
    view = _view(actor, (), None, None)
    terms = key_terms(asked)
    with owner_scope(actor.owner_id):
        ids = entities_named(actor, asked, terms)
        order = list(dict.fromkeys(row[0] for row in one_hop(ids, view=view, each=limit, most=2 * limit)))[:limit]
        relations = relations_by_id(order, known_at=None)
        entities = entities_by_id(ids)
        found = [relations[one] for one in order]
        return GraphAnswer(terms, [entities[one] for one in ids], found, [line_of(row) for row in found])


def entities_named(actor: Actor, question: str, terms: Sequence[str]) -> list[UUID]:
    """List the entities that a question names, within the owner's scope: whole names first, at most fifteen."""
    ring = keyring().of(actor.owner_id)
    whole = [name_hash(ring, name) for name in dict.fromkeys([*terms, *possible_names(question)])]
    by_name = by_whole_name(whole, scopes=actor.readable)
    ids = [found.entity_id for hashed in whole for found in by_name.get(hashed, [])[:EACH_TERM]]
    spoken_words = {term: [word_hash(ring, word) for word in words(term)] for term in terms}
    hashes = {hashed for of_term in spoken_words.values() for hashed in of_term}
    by_word = named(hashes, kinds=(NameKind.WORD,), scopes=actor.readable) if hashes else {}
    for of_term in spoken_words.values():
        each = [{found.entity_id: found for found in by_word.get(hashed, [])} for hashed in of_term]
        if each:
            # All words of a term have to stand in the entity's names.
            fitting = [found for key, found in each[0].items() if all(key in other for other in each[1:])]
            ids += [found.entity_id for found in fitting[:EACH_TERM]]
    return list(dict.fromkeys(ids))[:MOST_NAMED]


def line_of(relation: Relation) -> str:
    """Write a relation as a line of text: `Al lives in Lisbon (since 2024-05-01)`."""
    since = f"{relation.valid_from:%Y-%m-%d}"
    span = f"since {since}" if relation.valid_until is None else f"{since} to {relation.valid_until:%Y-%m-%d}"
    text = f"{relation.source.name} {spoken(relation.label)} {relation.target.name} ({span})"
    return injection.clean(" ".join(text.split()))


def graph_stats(*, actor: Actor) -> dict[str, Any]:
    """Count entities by type, relations by state, events, causes, links and mentions that the actor may read."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        entities, relations = _readable(actor, Entity.objects.all()), _readable(actor, Relation.objects.all())
        believed = relations.filter(retracted_at=None)
        by_type = dict(entities.order_by().values_list("type").annotate(n=Count("pk")))
        state = GraphState.objects.first()
        return {
            "entities": sum(by_type.values()),
            "by_type": dict(sorted(by_type.items(), key=lambda item: (-item[1], item[0]))),
            "relations": believed.filter(valid_until=None).count(),
            "relations_ended": believed.filter(valid_until__isnull=False).count(),
            "relations_retracted": relations.filter(retracted_at__isnull=False).count(),
            "temporal_events": _readable(actor, TemporalEvent.objects.all()).count(),
            "causal_links": _readable(actor, CausalLink.objects.all()).count(),
            "memory_edges": _edges(actor).count(),
            "mentions": _mentions(actor).count(),
            # It moves with what any agent does, so one agent is not told.
            "version": (state.version if state else 0) if actor.readable is None else None,
        }


def graph_version(owner_id: UUID) -> int:
    """Give the version of an owner's graph, which rises with every change; 0 before the first."""
    with owner_scope(owner_id), connection.cursor() as cursor:
        cursor.execute("SELECT version FROM memory_graphstate WHERE owner_id = %s", [owner_id])
        row = cursor.fetchone()
        return int(row[0]) if row else 0


def _view(actor: Actor, labels: Sequence[str], valid_at: Any, known_at: Any) -> View:
    known: datetime | None = None if known_at is None else limits.checked_moment(known_at, field="known_at")
    valid = known or now() if valid_at is None else limits.checked_moment(valid_at, field="valid_at")
    ring = keyring().of(actor.owner_id)
    hashes = tuple(label_hash(ring, checked_label(label)) for label in labels)
    return View(actor.readable, valid, known, hashes or None)


def _readable(actor: Actor, rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows if actor.readable is None else rows.filter(scope__in=actor.readable)


def _edges(actor: Actor) -> QuerySet[MemoryEdge]:
    rows: QuerySet[MemoryEdge] = MemoryEdge.objects.all()
    if actor.readable is None:
        return rows
    seen = Memory.objects.filter(scope__in=actor.readable).values("pk")
    return rows.filter(Q(source_id__in=seen) & Q(target_id__in=seen))


def _mentions(actor: Actor) -> QuerySet[EntityMention]:
    rows: QuerySet[EntityMention] = EntityMention.objects.all()
    if actor.readable is None:
        return rows
    return rows.filter(
        memory_id__in=Memory.objects.filter(scope__in=actor.readable).values("pk"),
        entity_id__in=Entity.objects.filter(scope__in=actor.readable).values("pk"),
    )


def _refuse_outside(value: int, most: int, name: str) -> None:
    if not 1 <= value <= most:
        raise InvalidInput(f"{name} lies between 1 and {most}.", code=f"{name}.out_of_range", field=name)
