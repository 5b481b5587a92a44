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
from memory.graph.store import POSTGRES, GraphStore
from memory.graph.traversal import MOST_HOPS, Reached, Step, View, named
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
from memory.services.graph.stores import Ahead, ask_ahead, asks_ahead, bearing, stepped, walked
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
    """Entities by distance from the one that was asked for, itself included, and the relations between them.

    `degraded` has the codes of why not the store that was chosen has answered.
    """

    entities: list[tuple[Entity, int]]
    relations: list[Relation]
    degraded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """What the graph says to a question: its key terms, the entities that it names, and their relations as lines.

    `degraded` has the codes of why not the store that was chosen has answered.
    """

    terms: list[str]
    entities: list[Entity]
    relations: list[Relation]
    lines: list[str]
    degraded: Sequence[str] = ()


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
    ahead = ask_ahead(
        actor.owner_id, lambda store: store.neighbours([entity_id], hops=hops, view=view, limit=limit), view=view
    )
    return _neighbourhood(actor=actor, entity_id=entity_id, ahead=ahead, hops=hops, view=view, limit=limit)


@reads("neighbours", of="entity_id")
def _neighbourhood(
    *, actor: Actor, entity_id: UUID, ahead: Ahead[Reached], hops: int, view: View, limit: int
) -> Neighbourhood:
    with owner_scope(actor.owner_id):
        visible_entity(actor, entity_id)
        reached = walked(ahead, entity_id, hops=hops, view=view, limit=limit)
        entities = entities_by_id(reached.distances)
        relations = relations_by_id(reached.relations, known_at=view.known_at)
        return Neighbourhood(
            [(entities[one], distance) for one, distance in reached.distances.items()],
            [relations[one] for one in reached.relations],
            tuple(ahead.degraded),
        )


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
    named_in = _NamedIn.of(actor, asked)
    by_word = _by_word_ahead(actor, named_in) if asks_ahead() else []
    ahead = ask_ahead(actor.owner_id, lambda store: _around(store, actor, named_in, by_word, view, limit))
    return _graph_answer(actor=actor, named_in=named_in, by_word=by_word, ahead=ahead, view=view, limit=limit)


@reads("graph_query")
def _graph_answer(
    *, actor: Actor, named_in: _NamedIn, by_word: list[UUID], ahead: Ahead[_Around], view: View, limit: int
) -> GraphAnswer:
    with owner_scope(actor.owner_id):
        around = ahead.believed()
        if around is None:
            around = _around(POSTGRES, actor, named_in, _by_word(actor, named_in), view, limit)
            seen = [row[0] for row in around.steps]
        else:
            around = _confirmed(around, named_in, by_word)
            seen = stepped(around.steps, view=view)
        order = list(dict.fromkeys(seen))[:limit]
        relations = relations_by_id(order, known_at=None)
        entities = entities_by_id(around.entities)
        here = [entities[one] for one in around.entities if one in entities]
        found = [relations[one] for one in order]
        lines = [line_of(row) for row in found]
        readable = [row for row in here if actor.may_read(row.scope)]
        return GraphAnswer(named_in.terms, readable, found, lines, tuple(ahead.degraded))


@dataclass(frozen=True, slots=True)
class _NamedIn:
    """What a question may name: its key terms, hashes of whole names, and for each term those of its words."""

    terms: list[str]
    whole: list[int]
    words: list[list[int]]

    @classmethod
    def of(cls, actor: Actor, question: str) -> _NamedIn:
        """Read a question."""
        ring, terms = keyring().of(actor.owner_id), key_terms(question)
        whole = [name_hash(ring, name) for name in dict.fromkeys([*terms, *possible_names(question)])]
        return cls(terms, whole, [[word_hash(ring, word) for word in words(term)] for term in terms])


@dataclass(frozen=True, slots=True)
class _Around:
    """Entities that a question names, at most fifteen, and the heaviest steps from them."""

    entities: list[UUID]
    steps: list[Step]


def _around(
    store: GraphStore, actor: Actor, named_in: _NamedIn, by_word: list[UUID], view: View, limit: int
) -> _Around:
    by_name = store.by_whole_name(named_in.whole, scopes=actor.readable)
    whole = [found.entity_id for hashed in named_in.whole for found in by_name.get(hashed, [])[:EACH_TERM]]
    ids = list(dict.fromkeys([*whole, *by_word]))[:MOST_NAMED]
    return _Around(ids, store.one_hop(ids, view=view, each=limit, most=2 * limit))


def _confirmed(around: _Around, named_in: _NamedIn, by_word: list[UUID]) -> _Around:
    """Keep what PostgreSQL knows to be named in the question, and the steps from there."""
    known = bearing(around.entities, named_in.whole) | set(by_word)
    return _Around(
        [one for one in around.entities if one in known], [step for step in around.steps if step[1] in known]
    )


def _by_word_ahead(actor: Actor, named_in: _NamedIn) -> list[UUID]:
    """List them in a transaction of their own, since words of names are not projected and Neo4j steps from all."""
    with owner_scope(actor.owner_id):
        return _by_word(actor, named_in)


def _by_word(actor: Actor, named_in: _NamedIn) -> list[UUID]:
    """List the entities in whose names all words of a term stand, at most three for each term."""
    hashes = {hashed for of_term in named_in.words for hashed in of_term}
    if not hashes:
        return []
    found = named(hashes, kinds=(NameKind.WORD,), scopes=actor.readable)
    ids: list[UUID] = []
    for of_term in named_in.words:
        each = [{one.entity_id: one for one in found.get(hashed, [])} for hashed in of_term]
        if each:
            ids += [one for one in each[0] if all(one in other for other in each[1:])][:EACH_TERM]
    return ids


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
