"""A generated graph of one owner: entities in planted communities with uneven degrees, one hub, memories with mentions.

The same for the same seed. Rows are copies of one real row under other ids, so that nothing has to be sealed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection, connections
from numpy.typing import NDArray

from bench.database import new_owner
from memory.models import Memory, Relation, User, owner_scope
from memory.recall.id_arrays import id_array
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.graph.relations import RelationDraft, add_relation
from memory.services.graph.writing import Reference
from memory.services.remember import remember

# Of four relations three stay within a community.
WITHIN: Final = 0.75
MENTIONS_EACH: Final = 3
CHUNK: Final = 20_000

Ids = list[UUID]

ENTITIES: Final = """
    INSERT INTO memory_entity (owner_id, id, visibility, scope, type, name, importance, mention_count, stated,
                               first_seen, last_seen)
    SELECT e.owner_id, n.id, e.visibility, e.scope, e.type, e.name, 0.5, 1, true, e.first_seen, e.last_seen
    FROM memory_entity e, unnest(%(ids)s::uuid[]) AS n (id) WHERE e.owner_id = %(owner)s AND e.id = %(model)s
"""
RELATIONS: Final = """
    INSERT INTO memory_relation (owner_id, id, visibility, scope, source_id, target_id, label, label_hash, weight,
                                 confidence, valid_from, recorded_at, last_seen)
    SELECT r.owner_id, n.id, r.visibility, r.scope, n.source, n.target, r.label, r.label_hash, n.weight,
           1, r.valid_from, r.recorded_at, r.last_seen
    FROM memory_relation r,
         unnest(%(ids)s::uuid[], %(sources)s::uuid[], %(targets)s::uuid[], %(weights)s::float8[])
             AS n (id, source, target, weight)
    WHERE r.owner_id = %(owner)s AND r.id = %(model)s
"""
MENTIONS: Final = """
    INSERT INTO memory_entitymention (owner_id, entity_id, memory_id)
    SELECT %(owner)s, n.entity, n.memory
    FROM unnest(%(entities)s::uuid[], %(memories)s::uuid[]) AS n (entity, memory) ON CONFLICT DO NOTHING
"""
TABLES: Final = ("memory_entity", "memory_relation", "memory_entitymention", "memory_memory")


@dataclass(frozen=True, slots=True)
class Pairs:
    """The edges of a generated graph, each once: the numbers of both ends, and its weight."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GraphStore:
    """A stored graph: whose it is, and the ids of entities and memories in the order of their numbers."""

    actor: Actor
    entities: Ids
    memories: Ids
    pairs: Pairs

    @property
    def hub(self) -> UUID:
        """Give the entity with the most relations."""
        return self.entities[0]


def planted(*, nodes: int, edges: int, communities: int, hub_degree: int = 0, seed: int = 11) -> Pairs:
    """Draw a graph whose nodes belong to communities of uneven sizes, and have uneven degrees.

    Args:
        nodes: how many, numbered from 0.
        edges: how many, fewer by those drawn twice.
        communities: how many are planted.
        hub_degree: neighbours of node 0, from everywhere.
        seed: the same seed draws the same graph.
    """
    dice = np.random.default_rng(seed)
    sizes = dice.pareto(1.5, communities) + 1
    member = np.sort(dice.choice(communities, size=nodes, p=sizes / sizes.sum()))
    activity = dice.pareto(2.0, nodes) + 1
    order = dice.choice(nodes, size=edges, p=activity / activity.sum())
    starts = np.searchsorted(member, np.arange(communities))
    ends = np.searchsorted(member, np.arange(communities), side="right")
    of = member[order]
    near = starts[of] + (dice.random(edges) * (ends - starts)[of]).astype(np.int64)
    far = dice.integers(0, nodes, edges)
    targets = np.where(dice.random(edges) < WITHIN, near, far)
    spokes = dice.choice(np.arange(1, nodes), size=min(hub_degree, nodes - 1), replace=False)
    first = np.concatenate([order, np.zeros(len(spokes), dtype=np.int64)])
    second = np.concatenate([targets, spokes])
    low, high = np.minimum(first, second), np.maximum(first, second)
    once = np.unique(low * nodes + high)
    low, high = once // nodes, once % nodes
    apart = low != high
    return Pairs(low[apart], high[apart], dice.uniform(0.2, 1.0, int(apart.sum())))


def store(pairs: Pairs, *, nodes: int, memories: int, seed: int = 12, user: User | None = None) -> GraphStore:
    """Store a drawn graph for a new owner, joined to a login or to none, with memories that mention three entities."""
    actor = new_owner(user)
    dice = np.random.default_rng(seed)
    ends = [merge_entity(actor=actor, draft=EntityDraft(name=name)).entity_id for name in ("One", "Two")]
    draft = RelationDraft(source=Reference(entity_id=ends[0]), label="knows", target=Reference(entity_id=ends[1]))
    relation = add_relation(actor=actor, draft=draft).relation.pk
    said = remember(actor=actor, draft=Draft(text="One knows Two.")).memory_id
    entities, relations, texts = (_ids(dice, count) for count in (nodes, len(pairs.weights), memories))
    with owner_scope(actor.owner_id):
        _insert(ENTITIES, actor, ends[0], {"ids": entities})
        named = {"ids": relations, "sources": _pick(entities, pairs.sources), "targets": _pick(entities, pairs.targets)}
        _insert(RELATIONS, actor, relation, named, pairs.weights)
        _insert(_copy_of_memories(), actor, said, {"ids": texts})
        count = MENTIONS_EACH * memories
        mentioned = (dice.pareto(1.2, count) * nodes / 20).astype(np.int64) % nodes
        which = np.repeat(np.arange(memories), MENTIONS_EACH)
        _insert(MENTIONS, actor, said, {"entities": _pick(entities, mentioned), "memories": _pick(texts, which)})
        Relation.objects.filter(pk=relation).delete()
    with connections["schema"].cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"VACUUM (ANALYZE) {table}")
    connections["schema"].close()
    return GraphStore(actor, entities, texts, pairs)


def _ids(dice: np.random.Generator, count: int) -> Ids:
    raw = dice.bytes(16 * count)
    return [UUID(bytes=raw[16 * at : 16 * at + 16], version=4) for at in range(count)]


def _pick(ids: Ids, places: NDArray[np.int64]) -> Ids:
    return [ids[place] for place in places.tolist()]


def _insert(
    statement: str, actor: Actor, model: UUID, ids: dict[str, Ids], weights: NDArray[np.float64] | None = None
) -> None:
    count = len(next(iter(ids.values())))
    with connection.cursor() as cursor:
        for start in range(0, count, CHUNK):
            part: dict[str, Any] = {name: id_array(values[start : start + CHUNK]) for name, values in ids.items()}
            if weights is not None:
                part["weights"] = weights[start : start + CHUNK].tolist()
            cursor.execute(statement, {**part, "owner": actor.owner_id, "model": model})


def _copy_of_memories() -> str:
    """Write the statement that copies one memory under other ids; what makes it that one is replaced."""
    changed = {"id": "n.id", "content_hash": "sha256(uuid_send(n.id))"}
    columns = [str(field.column) for field in Memory._meta.local_concrete_fields]
    chosen = [changed.get(column, f"m.{column}") for column in columns]
    return (
        f"INSERT INTO memory_memory ({', '.join(columns)}) SELECT {', '.join(chosen)} "
        "FROM memory_memory m, unnest(%(ids)s::uuid[]) AS n (id) WHERE m.owner_id = %(owner)s AND m.id = %(model)s"
    )
