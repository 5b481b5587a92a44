"""How long it takes to build a projection in Neo4j from nothing, whether it is right, and how far behind it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.conf import settings

from bench.database import new_owner
from bench.graph_data import Pairs, planted
from memory.crypto.keyring import keyring
from memory.errors import InvalidInput
from memory.graph.names import name_hash
from memory.ids import new_id
from memory.models import Entity, EntityName, EntityType, NameKind, Relation, owner_scope
from memory.services.actors import Actor
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.projection.comparing import compare
from memory.services.projection.erasing import forget, held
from memory.services.projection.projecting import project
from memory.services.projection.turn import Turn

CHUNK: Final = 5_000
LABELS: Final = 40
BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)


def check(*, entities: int, relations: int, changes: int) -> None:
    """Refuse what `measure` cannot do, before a database is made for it; raises InvalidInput."""
    if not settings.NEO4J_URI:
        raise InvalidInput("This needs a Neo4j: set NEO4J_URI, NEO4J_PASSWORD and NEO4J_TEXT.", code="bench.neo4j")
    if entities < 10 or min(relations, changes) < 1:
        raise InvalidInput("Entities start at 10, all others at 1.", code="bench.range")


def measure(*, entities: int, relations: int, changes: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Store a graph, project it, compare it, change it step by step, and take it out of Neo4j again.

    Args:
        entities: how many, 10 or more.
        relations: how many between them.
        changes: how many single changes are followed.
        tell: told of progress.

    Returns:
        `rebuild_s` from nothing until nothing waits; `nodes` that Neo4j holds then, with those of names; `relations`;
        `mismatches` of a comparison; `lag_p95_ms` from a committed change until it stands in Neo4j when a worker takes
        it up at once, to which up to a second is added until one does.

    Raises:
        ProjectionUnavailable: Neo4j did not answer usably.
    """
    actor = new_owner()
    pairs = planted(nodes=entities, edges=relations, communities=max(2, entities // 100), hub_degree=entities // 20)
    _store(actor, entities, pairs)
    tell(f"{entities} entities and {len(pairs.weights)} relations stored")
    try:
        begun = time.perf_counter()
        project(owner_id=actor.owner_id, turn=Turn(tell=lambda what, done: tell(f"{what}: {done}")))
        rebuild = time.perf_counter() - begun
        mismatches = compare(owner_id=actor.owner_id).mismatches
        nodes = held(actor.owner_id)
        lags = list(_followed(actor, changes))
        mismatches += compare(owner_id=actor.owner_id).mismatches
    finally:
        forget(owner_id=actor.owner_id, turn=Turn())
    return {
        "rebuild_s": round(rebuild, 1),
        "nodes": nodes,
        "relations": len(pairs.weights),
        "mismatches": mismatches,
        "lag_p95_ms": round(float(np.percentile(lags, 95)), 1),
    }


def _followed(actor: Actor, changes: int) -> Iterator[float]:
    for number in range(changes):
        merge_entity(actor=actor, draft=EntityDraft(name=f"Latecomer {number}", type="person"))
        begun = time.perf_counter()
        project(owner_id=actor.owner_id, turn=Turn())
        yield (time.perf_counter() - begun) * 1000


def _store(actor: Actor, entities: int, pairs: Pairs) -> None:
    """Store the graph with names and labels that are sealed like any other, so that opening them is measured, too."""
    ids = [new_id() for _ in range(entities)]
    types = list(EntityType)
    ring = keyring().of(actor.owner_id)
    seen = {"scope": actor.owner_id, "last_seen": BEGAN}
    for start in range(0, entities, CHUNK):
        part = range(start, min(start + CHUNK, entities))
        with owner_scope(actor.owner_id):
            Entity.objects.bulk_create(
                Entity(id=ids[n], name=f"Person {n}", type=types[n % len(types)], first_seen=BEGAN, **seen)
                for n in part
            )
            EntityName.objects.bulk_create(
                EntityName(
                    kind=NameKind.CANONICAL,
                    name=name_hash(ring, f"Person {n}"),
                    entity_id=ids[n],
                    type=types[n % len(types)],
                    scope=actor.owner_id,
                )
                for n in part
            )
    ends = list(zip(pairs.sources.tolist(), pairs.targets.tolist(), pairs.weights.tolist(), strict=True))
    for start in range(0, len(ends), CHUNK):
        with owner_scope(actor.owner_id):
            Relation.objects.bulk_create(
                _relation(ids, number, *ends[number], seen) for number in range(start, min(start + CHUNK, len(ends)))
            )


def _relation(ids: list[UUID], number: int, source: int, target: int, weight: float, seen: dict[str, Any]) -> Relation:
    return Relation(
        source_id=ids[source],
        target_id=ids[target],
        label=f"label {number % LABELS}",
        label_hash=number % LABELS,
        weight=weight,
        valid_from=BEGAN,
        recorded_at=BEGAN,
        **seen,
    )
