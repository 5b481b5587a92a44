"""Embedding spaces as their operators see them: how each stands, questions tried in one, and a call for vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from memory.errors import EmbedderUnavailable, InvalidInput, NotFound
from memory.models import (
    DueWork,
    EmbeddingSpace,
    Memory,
    MemoryVector,
    PendingVector,
    SpaceState,
    Status,
    owner_scope,
)
from memory.ports.outbound import on_behalf_of
from memory.privacy import pii
from memory.providers.composition import embedder
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.embedding import active_space
from memory.services.features import require_memory
from memory.services.writing import call_for_work
from memory.text.vectors import vector_text

MOST_FOUND: Final = 10
LONGEST_QUESTION: Final = 2_000
ASKING: Final = "test_query"
NEAREST: Final = """
    SELECT v.memory_id, (v.vec <=> %(vector)s::halfvec)::float8 FROM memory_memoryvector v
    WHERE v.owner_id = %(owner)s AND v.space_id = %(space)s AND v.live
    ORDER BY (v.vec <=> %(vector)s::halfvec) + 0::float8 LIMIT %(most)s
"""
INDEXES: Final = """
    SELECT count(*), coalesce(sum(pg_relation_size(c.oid)), 0)::bigint, coalesce(bool_and(x.indisvalid), false)
    FROM pg_index x
    JOIN pg_class c ON c.oid = x.indexrelid
    JOIN pg_am a ON a.oid = c.relam AND a.amname = 'hnsw'
    JOIN pg_class t ON t.oid = x.indrelid AND t.relkind = 'r'
    LEFT JOIN pg_inherits i ON i.inhrelid = x.indrelid
    WHERE coalesce(i.inhparent, t.oid) = 'memory_memoryvector'::regclass
      AND pg_get_expr(x.indpred, x.indrelid) LIKE %(condition)s
"""


@dataclass(frozen=True, slots=True)
class SpaceStanding:
    """How a space stands, with the rows of one owner in it.

    `missing` are live memories of the owner without a vector in it, `waiting` those that are queued for one; `indexes`,
    `index_bytes` and `index_valid` are over all partitions. `askable` tells whether its model is the configured one.
    """

    space: EmbeddingSpace
    rows: int
    missing: int
    waiting: int
    indexes: int
    index_bytes: int
    index_valid: bool
    askable: bool


@dataclass(frozen=True, slots=True)
class Near:
    """A memory near to a question: its cosine distance, 0 to 2."""

    memory: Memory
    distance: float


def space_standing(*, actor: Actor, space_id: int) -> SpaceStanding:
    """Tell how a space stands for the actor's owner, by counting its rows.

    Raises:
        NotFound: `space.unknown`.
    """
    require_memory()
    actor.require(Permission.READ)
    space = _space(space_id)
    with owner_scope(actor.owner_id):
        rows = MemoryVector.objects.filter(space_id=space_id, live=True).count()
        live = Memory.objects.filter(status=Status.LIVE).count()
        waiting = PendingVector.objects.count() if space.state == SpaceState.ACTIVE else 0
    with connection.cursor() as cursor:
        cursor.execute(INDEXES, {"condition": f"%space_id = {int(space_id)})%"})
        indexes, size, valid = cursor.fetchone()
    model = embedder()
    askable = space.state == SpaceState.ACTIVE and (model.provider, model.model) == (space.provider, space.model)
    return SpaceStanding(space, rows, max(0, live - rows), waiting, indexes, size, bool(valid), askable)


@reads("recall")
def nearest(*, actor: Actor, space_id: int, question: str) -> list[Near]:
    """Find the memories of the actor's owner that are nearest to a question in a space, by an exact scan.

    Personal data in the question is replaced before it is embedded, as everywhere.

    Raises:
        NotFound: `space.unknown`.
        InvalidInput: `query.empty`, `query.too_long`.
        EmbedderUnavailable: the space's model is not the configured one, or cannot be used now.
    """
    require_memory()
    actor.require(Permission.READ)
    space = _space(space_id)
    words = question.replace("\0", "").strip()
    if not words:
        raise InvalidInput("Type what to look for.", code="query.empty", field="question")
    if len(words) > LONGEST_QUESTION:
        raise InvalidInput(
            f"A question has at most {LONGEST_QUESTION:,} characters here.", code="query.too_long", field="question"
        )
    vector = _embedded(actor, space, pii.redact(words))
    with owner_scope(actor.owner_id):
        with connection.cursor() as cursor:
            cursor.execute(
                NEAREST,
                {
                    "owner": actor.owner_id,
                    "space": space.pk,
                    "vector": vector_text(vector),
                    "most": MOST_FOUND,
                },
            )
            found: dict[Any, float] = dict(cursor.fetchall())
        rows = {row.pk: row for row in Memory.objects.filter(pk__in=list(found))}
    return [Near(rows[one], distance) for one, distance in found.items() if one in rows]


def call_for_vectors(*, actor: Actor) -> int:
    """Queue every live memory of the actor's owner that has no vector in the active space, and call the workers.

    Returns:
        How many wait now.

    Raises:
        NotFound: `space.unknown`, there is no active space yet.
    """
    require_memory()
    actor.require(Permission.WRITE)
    space = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
    if space is None:
        raise NotFound("There is no embedding space yet; the first memory opens it.", code="space.unknown")
    moment = now()
    with owner_scope(actor.owner_id):
        held = MemoryVector.objects.filter(space_id=space.pk).values("memory_id")
        waiting = PendingVector.objects.values("memory_id")
        ids = Memory.objects.filter(status=Status.LIVE).exclude(pk__in=held).exclude(pk__in=waiting)
        missing = [PendingVector(memory_id=one, next_at=moment) for one in ids.values_list("pk", flat=True)]
        PendingVector.objects.bulk_create(missing, batch_size=1_000, ignore_conflicts=True)
        PendingVector.objects.update(next_at=moment)
        call_for_work(DueWork.VECTORS, due_at=moment)
        return int(PendingVector.objects.count())


def _embedded(actor: Actor, space: EmbeddingSpace, text: str) -> Any:
    model = embedder()
    if active_space(model).pk != space.pk:
        raise EmbedderUnavailable("The model of this space is not the one that is configured now.")
    with on_behalf_of(actor.owner_id, ASKING):
        return model.embed([text])[0]


def _space(space_id: int) -> EmbeddingSpace:
    space = EmbeddingSpace.objects.filter(pk=space_id).first()
    if space is None:
        raise NotFound("There is no such embedding space.", code="space.unknown")
    return space
