"""Short ways to work with spaces and to look at what stands in them."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import connection

from memory.models import DueWork, EmbeddingSpace, Memory, MemoryVector, SpaceState, Status, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.due_work import run_due_work
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember

OLD, NEW = "characters-384", "characters-768"


def quiet(step: str, done: int, total: int) -> None:
    """Hear of progress and say nothing."""


def stored(actor: Actor, *texts: str) -> list[UUID]:
    return [remember(actor=actor, draft=Draft(text=text)).memory_id for text in texts]


def space_of(model: str) -> EmbeddingSpace:
    return EmbeddingSpace.objects.get(model=model)


def states() -> dict[str, str]:
    return dict(EmbeddingSpace.objects.values_list("model", "state"))


def active() -> EmbeddingSpace:
    return EmbeddingSpace.objects.get(state=SpaceState.ACTIVE)


def with_vector(actor: Actor, model: str) -> set[UUID]:
    """Give the memories of an owner that have a vector in the space of a model, all of the width of the space."""
    space = EmbeddingSpace.objects.filter(model=model).first()
    if space is None:
        return set()
    with owner_scope(actor.owner_id):
        rows = list(MemoryVector.objects.filter(space_id=space.pk))
    assert {len(row.vec) for row in rows} <= {space.dimension}
    return {row.memory_id for row in rows}


def live(actor: Actor) -> set[UUID]:
    with owner_scope(actor.owner_id):
        return set(Memory.objects.filter(status=Status.LIVE).values_list("pk", flat=True))


def work() -> None:
    """Do what is due until nothing is."""
    for _ in range(20):
        run_due_work(at=now() + timedelta(seconds=1))
        if not DueWork.objects.filter(
            job__in=[DueWork.SPACES, DueWork.VECTORS], due_at__lte=now() + timedelta(seconds=5)
        ).exists():
            return
    raise AssertionError("work does not end")


def found(actor: Actor, query: str) -> list[str]:
    """Recall, and insist that nothing was left out."""
    answer = recall(actor=actor, request=RecallRequest(query=query, record=False))
    assert not answer.degraded, answer.degraded
    return [hit.memory.text for hit in answer.hits]


def found_by_vectors(actor: Actor, query: str) -> list[str]:
    """Recall by the vectors of the space in use and nothing else, and insist that nothing was left out."""
    request = RecallRequest(query=query, record=False, overrides={"arms": ["dense"]})
    answer = recall(actor=actor, request=request)
    assert not answer.degraded, answer.degraded
    return [hit.memory.text for hit in answer.hits if "dense" in hit.reasons.get("arms", {})]


def indexes(space_id: int) -> list[tuple[str, bool]]:
    """List the vector indexes of a space with whether they can be used."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname, x.indisvalid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
            JOIN pg_am a ON a.oid = c.relam AND a.amname = 'hnsw'
            WHERE c.relkind = 'i' AND pg_get_expr(x.indpred, x.indrelid) LIKE %s ORDER BY 1""",
            [f"%space_id = {space_id})%"],
        )
        return list(cursor.fetchall())
