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
from memory.privacy import pii
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.embedding import embedded_by
from memory.services.features import require_memory
from memory.services.spaces.filling import queue_missing
from memory.services.spaces.in_use import BESIDE, Kept, model_of
from memory.services.spaces.indexes import Indexes, indexes_of
from memory.services.spaces.progress import Progress, progress_of
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


@dataclass(frozen=True, slots=True)
class SpaceStanding:
    """How a space stands, with the rows of one owner in it.

    `missing` are live memories of the owner without a vector in it, `waiting` those that are queued for one; `indexes`
    are over all partitions. `askable` tells whether its embedder is configured. `progress` is that of all owners,
    where it stands beside the one in use.
    """

    space: EmbeddingSpace
    rows: int
    missing: int
    waiting: int
    indexes: Indexes
    askable: bool
    progress: Progress | None


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
    beside = space.state in BESIDE
    askable = (beside or space.state == SpaceState.ACTIVE) and model_of(space) is not None
    progress = progress_of(space) if beside else None
    return SpaceStanding(space, rows, max(0, live - rows), waiting, indexes_of(space_id), askable, progress)


@reads("recall")
def nearest(*, actor: Actor, space_id: int, question: str) -> list[Near]:
    """Find the memories of the actor's owner that are nearest to a question in a space, by an exact scan.

    Personal data in the question is replaced before it is embedded, as everywhere.

    Raises:
        NotFound: `space.unknown`.
        InvalidInput: `query.empty`, `query.too_long`.
        EmbedderUnavailable: the space's embedder is not configured, or cannot be used now.
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
    if not EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).exists():
        raise NotFound("There is no embedding space yet; the first memory opens it.", code="space.unknown")
    moment = now()
    queue_missing(actor.owner_id, at=moment)
    with owner_scope(actor.owner_id):
        PendingVector.objects.update(next_at=moment)
        call_for_work(DueWork.VECTORS, due_at=moment)
        return int(PendingVector.objects.count())


def _embedded(actor: Actor, space: EmbeddingSpace, text: str) -> Any:
    model = model_of(space)
    if model is None:
        raise EmbedderUnavailable("The embedder of this space is not configured now.")
    return embedded_by(Kept(space, model), [text], owner_id=actor.owner_id, purpose=ASKING).vectors[0]


def _space(space_id: int) -> EmbeddingSpace:
    space = EmbeddingSpace.objects.filter(pk=space_id).first()
    if space is None:
        raise NotFound("There is no such embedding space.", code="space.unknown")
    return space
