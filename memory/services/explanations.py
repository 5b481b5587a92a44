"""Why a recall answered as it did: kept sealed for some days, for the caller alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from memory.errors import NotFound
from memory.models import RecallRecord, owner_scope
from memory.recall.query import Query
from memory.services.actors import Actor, Permission
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.retention import EXPLANATIONS_KEPT

if TYPE_CHECKING:
    from memory.services.recall import Recalled


def _explained(answer: dict[str, Any], values: object) -> list[UUID]:
    return [UUID(hit["memory_id"]) for hit in answer["hits"]]


@reads("explanation", of="recall_id", memories=_explained)
def explanation(*, actor: Actor, recall_id: UUID) -> dict[str, Any]:
    """Give the stored explanation of a recall to the one who made it; raises NotFound for anyone else."""
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        record = RecallRecord.objects.filter(
            pk=recall_id, caller=actor.caller_id, created_at__gt=now() - EXPLANATIONS_KEPT
        ).first()
        if record is None:
            raise NotFound("There is no such recall of yours, or its explanation has expired.")
        found: dict[str, Any] = record.explanation
        return found


def keep_explanation(actor: Actor, answer: Recalled, query: Query) -> None:
    """Keep what placed each hit, within the owner's scope."""
    RecallRecord.objects.create(
        id=answer.recall_id,
        caller=actor.caller_id,
        created_at=query.now,
        explanation={
            "recall_id": str(answer.recall_id),
            "query": query.text,
            "profile": answer.profile,
            "intent": list(answer.intent),
            "degraded": answer.degraded,
            "fallback": answer.fallback,
            "considered": answer.considered,
            "hits": [
                {
                    "memory_id": str(hit.memory.pk),
                    "score": round(hit.score, 6),
                    "relevance": round(hit.relevance, 4),
                    "matched": list(hit.matched),
                    "reasons": dict(hit.reasons),
                }
                for hit in answer.hits
            ],
        },
    )
